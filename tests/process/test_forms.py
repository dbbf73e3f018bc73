"""Forms: what they say of an answer, and what is an answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Literal, cast

import pytest
from pydantic import BaseModel, ConfigDict, Field

from tactician import Platform, ProcessStatus, UserInput, achieves_goal, action, ask_human, planned_agent
from tactician.loop.output import InvalidOutput
from tactician.process.people.forms import build_form, parse_answer
from tactician.testing import ScriptedModel


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


class Guest(BaseModel):
    name: str = Field(default="Bob", title="What are you called?", description="as people say")
    age: int | None = None
    mood: Mood = Mood.GOOD
    table_number: int


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    day: date


@dataclass
class Place:
    street: str
    number: int = 1


class Value(BaseModel):
    value: int


class Tree(BaseModel):
    """A type that contains itself."""

    name: str
    below: Tree | None = None


def union(kind: object) -> type:
    """A union is no class, but may be asked for."""
    return cast("type", kind)


def field_of(form: object, name: str = "value") -> dict[str, object]:
    assert isinstance(form, dict)
    field = form["properties"][name]
    assert isinstance(field, dict)
    return field


SINGLE = [
    (int, 3),
    (bool, True),
    (str, "text"),
    (Mood, "good"),
    (list[int], [1, 2]),
    (union(Literal["a", "b"]), "a"),
    (union(int | None), None),
    (union(int | list[str]), ["x"]),
    (union(str | int), 3),
    (union(Annotated[int, Field(ge=1)]), 3),
]


@pytest.mark.parametrize(("wanted", "answer"), SINGLE)
def test_what_is_no_object_is_answered_by_itself_or_in_the_shape_of_the_form(wanted: type, answer: object) -> None:
    form = build_form(wanted)

    assert (form["type"], form["required"], form["additionalProperties"]) == ("object", ["value"], False)
    assert list(cast("dict[str, object]", form["properties"])) == ["value"]
    assert parse_answer(wanted, {"value": answer}) == parse_answer(wanted, answer)


@pytest.mark.parametrize("answer", [{"value": "many"}, "many", {"value": 3, "more": 1}, {}, {"values": 3}])
def test_what_is_neither_is_refused(answer: object) -> None:
    with pytest.raises(InvalidOutput):
        parse_answer(int, answer)


def test_a_union_with_an_object_that_looks_like_the_form() -> None:
    wanted = union(Value | str)

    assert parse_answer(wanted, {"value": "x"}) == "x"
    assert parse_answer(wanted, {"value": 3}) == Value(value=3)
    assert parse_answer(wanted, {"value": {"value": 3}}) == Value(value=3)
    assert parse_answer(Value, {"value": 3}) == Value(value=3)


def test_an_object_keeps_its_titles_descriptions_defaults_and_what_may_be_left_out() -> None:
    form = build_form(Guest)

    assert form["required"] == ["table_number"]
    assert "additionalProperties" not in form
    name, age, mood, table = (field_of(form, field) for field in ("name", "age", "mood", "table_number"))
    assert (name["title"], name["description"], name["default"]) == ("What are you called?", "as people say", "Bob")
    assert name["x-form"] == {
        "widget": "text", "label": "What are you called?", "order": 0, "help": "as people say", "optional": True,
    }  # fmt: skip
    assert age["default"] is None
    assert age["x-form"] == {"widget": "number", "label": "Age", "order": 1, "optional": True}
    assert (mood["default"], mood["x-form"]) == (
        "good", {"widget": "select", "label": "Mood", "order": 2, "optional": True},
    )  # fmt: skip
    assert table["x-form"] == {"widget": "number", "label": "Table number", "order": 3}


def test_what_a_form_says_is_what_is_accepted() -> None:
    assert parse_answer(Guest, {"table_number": 1, "more": "of it"}) == Guest(table_number=1)
    assert build_form(Place)["required"] == ["street"]
    assert parse_answer(Place, {"street": "x"}) == Place("x")
    assert build_form(Closed)["additionalProperties"] is False
    with pytest.raises(InvalidOutput, match="more"):
        parse_answer(Closed, {"day": "2024-02-29", "more": 1})


def test_json_answers_a_type_that_is_strict_in_python() -> None:
    assert parse_answer(Closed, {"day": "2024-02-29"}) == Closed(day=date(2024, 2, 29))
    with pytest.raises(InvalidOutput, match="day"):
        parse_answer(Closed, {"day": object()})


def test_a_type_that_contains_itself() -> None:
    form = build_form(Tree)

    assert form["required"] == ["name"]
    assert field_of(form, "below")["x-form"] == {"widget": "group", "label": "Below", "order": 1, "optional": True}
    assert parse_answer(Tree, {"name": "a", "below": {"name": "b"}}) == Tree(name="a", below=Tree(name="b"))


@pytest.mark.parametrize("response", [3, {"value": 3}, "3", '{"value": 3}'])
async def test_a_process_takes_both(response: object) -> None:
    @planned_agent(description="counts")
    class Counter:
        @achieves_goal("counted")
        @action
        async def count(self, topic: UserInput) -> int:
            return await ask_human(int, "n")

    process = await Platform(models=ScriptedModel()).start(Counter(), "x")
    await process.respond(process.pending[0].id, response)

    assert (process.status, process.result) == (ProcessStatus.COMPLETED, 3)
