"""Typed output: what a model is asked for, and what becomes of its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model
from pydantic_core import to_json

from tactician.llm.schema import is_strict
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput
from tests.support.schemas import instances


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


class Person(BaseModel):
    name: str
    age: int = 0
    mood: Mood | None = None


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    value: int


class Dog(BaseModel):
    kind: Literal["dog"]


CASES: tuple[tuple[object, str, object], ...] = (
    (Person, '{"name": "A", "age": 3, "mood": "bad"}', Person(name="A", age=3, mood=Mood.BAD)),
    (Person, '{"name": "A"}', Person(name="A")),
    (Point, '{"x": 1, "tags": ["a"]}', Point(1, ["a"])),
    (Tree, '{"value": 1, "children": [{"value": 2}]}', Tree(value=1, children=[Tree(value=2)])),
    (Mood, '{"value": "good"}', Mood.GOOD),
    (Mood, '"good"', Mood.GOOD),
    (int, '{"value": 7}', 7),
    (int, "7", 7),
    (bool, '{"value": false}', False),
    (float, '{"value": 1.5}', 1.5),
    (list[int], '{"value": [1, 2]}', [1, 2]),
    (list[int], "[1, 2]", [1, 2]),
    (list[Person], '{"value": [{"name": "A"}]}', [Person(name="A")]),
    (dict[str, int], '{"a": 1}', {"a": 1}),
    (Literal["a", 1], '{"value": 1}', 1),
    (Person | int, '{"value": {"name": "A"}}', Person(name="A")),
    (Person | int, '{"value": 3}', 3),
    (str | None, '{"value": null}', None),
    (Cat | Dog, '{"value": {"kind": "cat", "value": 3}}', Cat(kind="cat", value=3)),
    (Annotated[int, Field(ge=0)], '{"value": 0}', 0),
)


def parse(wanted: object, text: str) -> object:
    return output_type(wanted).parse(text)  # type: ignore[arg-type]  # a union is no class


@pytest.mark.parametrize(("wanted", "text", "value"), CASES, ids=str)
def test_answers_become_objects(wanted: object, text: str, value: object) -> None:
    assert parse(wanted, text) == value
    assert type(parse(wanted, text)) is type(value)


@pytest.mark.parametrize("wanted", [case[0] for case in CASES], ids=str)
@given(data=st.data())
@settings(max_examples=15)
def test_what_the_schema_allows_is_a_valid_answer(wanted: object, data: st.DataObject) -> None:
    spec = output_type(wanted).spec  # type: ignore[arg-type]  # a union is no class
    assert spec is not None
    assert spec.schema["type"] == "object"
    assert spec.strict is is_strict(spec.schema)

    answer = data.draw(instances(spec.schema))

    TypeAdapter(wanted).validate_python(parse(wanted, to_json(answer).decode()))  # type: ignore[arg-type]


def test_text_is_what_it_is() -> None:
    text = output_type(str)

    assert text.spec is None
    assert text.parse(' {"a": 1} ') == ' {"a": 1} '


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (Person, "Person"),
        (list[int], "list"),
        (Person | None, "Person_None"),
        (Mood, "Mood"),
        (create_model("Größe", value=(int, ...)), "Gr_e"),
    ],
)
def test_a_provider_accepts_the_name_of_every_schema(wanted: object, name: str) -> None:
    spec = output_type(wanted).spec  # type: ignore[arg-type]  # a union is no class

    assert spec is not None
    assert spec.name == name
    assert len(spec.name) <= 64


def test_it_is_built_once() -> None:
    assert output_type(Person) is output_type(Person)
    assert output_type(list[int]) is output_type(list[int])


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "A"}\n```',
        '```\n{"name": "A"}\n```',
        '  ```JSON\n\n{"name": "A"}\n  ```  \n',
        '\n {"name": "A"}\n',
        'Here it is: {"name": "A"}. Anything else?',
        'Sure!\n```json\n{"name": "A"}\n```\nBye.',
    ],
)
def test_what_stands_around_the_json_is_passed_over(text: str) -> None:
    assert parse(Person, text) == Person(name="A")


def test_a_fence_inside_the_json_stays_there() -> None:
    assert parse(Person, '```json\n{"name": "```x```"}\n```') == Person(name="```x```")


@pytest.mark.parametrize(
    ("wanted", "text", "reason"),
    [
        (Person, "", "Invalid JSON"),
        (Person, "I do not know.", "Invalid JSON"),
        (Person, '{"name": ', "Invalid JSON: EOF"),
        (Person, "[]", "Input should be an object"),
        (Person, '{"age": "old"}', "name: Field required; age: Input should be a valid integer"),
        (Person, '{"name": "A", "mood": "odd"}', "mood: Input should be 'good' or 'bad'"),
        (int, '{"value": "x"}', "Input should be a valid integer"),
        (int, "seven", "it is not JSON"),
        (list[Person], '{"value": [{"name": "A"}, {}]}', "1.name: Field required"),
    ],
)
def test_a_model_is_told_what_is_wrong(wanted: object, text: str, reason: str) -> None:
    with pytest.raises(InvalidOutput) as raised:
        parse(wanted, text)

    assert reason in str(raised.value)


@dataclass
class Verdict:
    """Answer that has a form as text."""

    text: str
    is_good: bool = False

    @classmethod
    def __from_text__(cls, text: str) -> Verdict | None:
        return cls(text.removeprefix("GOOD: "), True) if text.startswith("GOOD: ") else None


class TestTextForms:
    def test_a_type_with_a_form_as_text_is_read_from_it_before_it_is_read_as_json(self) -> None:
        kind = output_type(Verdict)
        assert kind.parse('GOOD: {"text": "bad"}') == Verdict('{"text": "bad"}', True)
        assert kind.accept("GOOD: yes") == Verdict("yes", True)

    def test_any_other_text_is_read_as_json(self) -> None:
        kind = output_type(Verdict)
        assert kind.parse('{"text": "bad"}') == Verdict("bad")
        with pytest.raises(InvalidOutput):
            kind.parse("BAD: no")
