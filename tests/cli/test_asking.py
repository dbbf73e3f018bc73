"""Forms in the terminal, field by field, and what a text means as an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from enum import Enum
from io import StringIO
from typing import Annotated, Literal, cast

import pytest
from pydantic import BaseModel, Field
from rich.console import Console

from tactician.cli.answers import parse_answer_text
from tactician.cli.asker import Asker
from tactician.errors import ResponseError
from tactician.process.people.forms import build_form, parse_answer
from tactician.runs import PendingRequest, approve, reject
from tactician.runs.outcomes.suspension import PendingKind


class Mood(Enum):
    good = "good"
    bad = "bad"


class Address(BaseModel):
    street: str
    number: int


class Review(BaseModel):
    mood: Mood
    weight: float
    wanted: bool
    where: Address
    tags: list[str]
    scores: list[int]
    others: list[Address]
    day: date
    text: Annotated[str, Field(max_length=1000, description="what you think")]
    note: str | None
    either: int | Address
    kind: Literal["review"]


class Tree(BaseModel):
    name: str
    below: Tree | None = None


class Plain(BaseModel):
    value: str


class Matrix(BaseModel):
    rows: list[list[int]]
    anything: list[object]


class Optional(BaseModel):
    stars: int = 3
    name: str = "nobody"
    story: Annotated[str | None, Field(max_length=1000)]
    long: Annotated[str, Field(max_length=1000)] = "none"


class Person:
    """Types the lines, one after the other."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.console = Console(file=StringIO(), width=200)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self._lines.pop(0)

    @property
    def heard(self) -> str:
        assert isinstance(self.console.file, StringIO)
        return self.console.file.getvalue()

    def answers(self, request: PendingRequest) -> object:
        response = Asker(self.console, self).answer(request)
        assert not self._lines, "not all that was typed was asked for"
        return response


def test_a_terminal_breaks_no_words() -> None:
    person = Person("y")
    person.console = Console(file=StringIO(), width=20, force_terminal=True, color_system=None)
    person.answers(PendingRequest("r", "confirmation", "Shall the clerk book an expensive hotel?"))
    assert person.heard == "Shall the clerk book\nan expensive hotel?\n"


def form(wanted: type, **more: object) -> PendingRequest:
    return PendingRequest("r", "form", "Well?", schema=build_form(wanted))


def filled_in(wanted: type, *lines: str) -> object:
    return parse_answer(wanted, Person(*lines).answers(form(wanted)))


def test_every_kind_of_field_is_asked_for_in_its_own_way() -> None:
    person = Person(
        *("great", "2"),  # mood, which is chosen by its number once it was misspelled
        *("heavy", "2.5"),
        *("maybe", "y"),
        *("Main Street", "4.5", "4"),
        *("a", "b", ""),
        *("one", "1", ""),
        *("nonsense", '{"street": "x", "number": 1}', ""),
        "2024-02-29",
        *("first line", "second line", ""),
        "",
        '{"street": "y", "number": 2}',
        "review",
    )
    request = form(Review)
    review = parse_answer(Review, person.answers(request))
    assert review == Review(
        mood=Mood.bad,
        weight=2.5,
        wanted=True,
        where=Address(street="Main Street", number=4),
        tags=["a", "b"],
        scores=[1],
        others=[Address(street="x", number=1)],
        day=date(2024, 2, 29),
        text="first line\nsecond line",
        note=None,
        either=Address(street="y", number=2),
        kind="review",
    )
    for complaint in (
        "choose from good, bad, or its number",
        "'heavy' is not a number",
        "'4.5' is not a whole number",
        "answer y or n",
        "must be JSON, such as {...}",
        "what you think",
        "  2. bad",
    ):
        assert complaint in person.heard
    assert "Wanted (y/n): " in person.prompts
    assert "Where / Street: " in person.prompts
    assert "Day (date): " in person.prompts
    assert "Either (JSON): " in person.prompts


def test_what_is_too_deep_for_lines_is_asked_for_as_json() -> None:
    person = Person("1, 2", "[1, 2]", "", "text", "[1]", "")
    matrix = parse_answer(Matrix, person.answers(form(Matrix)))
    assert matrix == Matrix(rows=[[1, 2]], anything=["text", [1]])
    assert "Rows must be JSON, such as [...]" in person.heard


def test_a_field_that_is_left_empty_gets_its_default() -> None:
    assert filled_in(Optional, "", "", "", "") == Optional(story=None)


def test_a_group_that_may_be_left_out_is_asked_for_first() -> None:
    assert filled_in(Tree, "root", "n") == Tree(name="root")
    assert filled_in(Tree, "root", "y", "leaf", "") == Tree(name="root", below=Tree(name="leaf"))


def test_a_type_that_contains_itself_is_asked_for_as_json_from_there_on() -> None:
    assert filled_in(Tree, "a", "y", "b", '{"name": "c"}') == Tree(name="a", below=Tree(name="b", below=Tree(name="c")))


class Guest(BaseModel):
    name: str = Field(default="Bob", title="What are you called?")
    age: int | None = 7
    friends: list[str] = ["Ann"]
    where: Address = Address(street="Main Street", number=4)


def test_what_has_a_default_may_be_left_out() -> None:
    assert filled_in(Guest, "", "", "", "n") == Guest()
    person = Person("Eve", "8", "Joe", "", "y", "Elm Street", "1")
    guest = parse_answer(Guest, person.answers(form(Guest)))
    assert guest == Guest(name="Eve", age=8, friends=["Joe"], where=Address(street="Elm Street", number=1))
    assert "What are you called? (optional): " in person.prompts
    assert "Age (optional): " in person.prompts
    assert "Where / Street: " in person.prompts
    assert "Friends (optional), each on its own line; an empty line ends them" in person.heard


class Booking(BaseModel):
    """A form with limits."""

    guests: Annotated[int, Field(ge=1, le=8)]
    day: date
    code: Annotated[str, Field(pattern="^[A-Z]{2}$")]
    note: Annotated[str, Field(max_length=5)] = ""
    story: Annotated[str, Field(min_length=3, max_length=1000)]
    prices: list[Annotated[float, Field(gt=0)]]


def test_each_field_is_checked_at_once() -> None:
    person = Person(
        *("", "0", "2"), *("2026-02-30", "2026-02-28"), *("abc", "AB"), *("too long", "ok"),
        *("a", "", "abc", ""), *("0", "1.5", ""),
    )  # fmt: skip
    booking = parse_answer(Booking, person.answers(form(Booking)))
    assert booking == Booking(guests=2, day=date(2026, 2, 28), code="AB", note="ok", story="abc", prices=[1.5])
    for complaint in (
        "Guests cannot be left out",
        "input should be greater than or equal to 1",
        "day value is outside expected range",
        "string should match pattern '^[A-Z]{2}$'",
        "string should have at most 5 characters",
        "string should have at least 3 characters",
        "input should be greater than 0",
    ):
        assert complaint in person.heard, complaint


def test_a_limit_that_is_not_known_here_is_left_to_the_whole_form() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}, "required": ["a"]}
    assert Person("y").answers(PendingRequest("r", "form", "Well?", schema=schema)) == {"a": "y"}


def test_a_form_without_fields_takes_json() -> None:
    assert filled_in(dict[str, int], '{"a": 1}') == {"a": 1}


SINGLE: Sequence[tuple[type, list[str], object]] = [
    (str, ["any text"], "any text"),
    (str, ["42"], "42"),
    (int, ["42"], 42),
    (list[str], ["a", "b", ""], ["a", "b"]),
    (Mood, ["1"], Mood.good),
    (cast(type, str | int), ["text"], "text"),
    (Plain, ["x"], Plain(value="x")),
]


@pytest.mark.parametrize(("wanted", "lines", "expected"), SINGLE)
def test_what_is_no_object_is_a_form_with_one_field(wanted: type, lines: list[str], expected: object) -> None:
    assert filled_in(wanted, *lines) == expected


def test_a_deadline_is_told_with_the_answer_that_is_taken_then() -> None:
    person = Person("yes")
    request = PendingRequest("r", "confirmation", "Sure?", deadline=1_700_000_000.0, default=False)
    assert person.answers(request) is True
    assert "until 2023-11-1" in person.heard
    assert "without an answer: False" in person.heard


DECISIONS: Sequence[tuple[PendingKind, list[str], object]] = [
    ("confirmation", ["n"], False),
    ("approval", ["y"], approve()),
    ("approval", ["no", "too dear"], reject("too dear")),
    ("tool", ['{"a": 1}'], {"a": 1}),
    ("tool", ["just text"], "just text"),
]


@pytest.mark.parametrize(("kind", "lines", "expected"), DECISIONS)
def test_decisions_and_results_of_tools(kind: PendingKind, lines: list[str], expected: object) -> None:
    assert Person(*lines).answers(PendingRequest("r", kind, "Well?")) == expected


TEXTS: Sequence[tuple[PendingKind, str, object]] = [
    ("confirmation", "YES", True),
    ("confirmation", "false", False),
    ("approval", "y", approve()),
    ("approval", "n", reject()),
    ("tool", "[1]", [1]),
    ("form", "[1]", "[1]"),
]


@pytest.mark.parametrize(("kind", "text", "expected"), TEXTS)
def test_a_text_is_an_answer_too(kind: PendingKind, text: str, expected: object) -> None:
    assert parse_answer_text(text, PendingRequest("r", kind, "Well?")) == expected


@pytest.mark.parametrize(
    ("wanted", "text", "expected"),
    [
        (str, '{"a": 1}', '{"a": 1}'),
        (int, "4", 4),
        (Mood, "good", Mood.good),
        (list[int], "[1, 2]", [1, 2]),
        (Address, '{"street": "x", "number": 1}', Address(street="x", number=1)),
    ],
)
def test_the_text_of_a_form_is_json_or_its_only_value(wanted: type, text: str, expected: object) -> None:
    assert parse_answer(wanted, parse_answer_text(text, form(wanted))) == expected


@pytest.mark.parametrize(
    ("kind", "hint"), [("approval", "--approve or --reject REASON"), ("confirmation", "yes or no")]
)
def test_a_decision_is_yes_or_no(kind: PendingKind, hint: str) -> None:
    with pytest.raises(ResponseError, match=f"r: 'perhaps' is not an answer to 'Well\\?': answer {hint}"):
        parse_answer_text("perhaps", PendingRequest("r", kind, "Well?"))
