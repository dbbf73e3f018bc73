"""Examples of the output, given or made up."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, Field

from tactician import Ai
from tactician.llm.messages import SystemMessage
from tactician.runs import OutputError
from tactician.testing import ScriptedModel


class Mood(Enum):
    happy = "happy"
    sad = "sad"


class Person(BaseModel):
    name: str
    age: int


class Node(BaseModel):
    """Contains others like it."""

    label: Annotated[str, Field(description="what it says")]
    children: list[Node]
    next: Node | None


class Endless(BaseModel):
    next: Endless | list[Endless] | None
    last: Last


class Last(BaseModel):
    next: Last | Endless


@dataclass
class Everything:
    word: str
    told: Annotated[str, Field(description="a word in capital letters", max_length=6)]
    long: Annotated[str, Field(min_length=5)]
    shown: Annotated[str, Field(examples=["like this"])]
    mood: Mood
    kind: Literal["only"]
    flag: bool
    nothing: None
    choice: int | str | None
    day: date
    moment: datetime
    span: timedelta
    id: UUID
    many: Annotated[list[Person], Field(min_length=2)]
    pair: tuple[int, str]
    table: dict[str, int]
    free: object
    between: Annotated[int, Field(gt=3, lt=5)]
    whole: int
    positive: Annotated[int, Field(gt=0)]
    large: Annotated[int, Field(ge=100)]
    small: Annotated[float, Field(gt=0, lt=1)]
    negative: Annotated[int, Field(lt=0)]
    even: Annotated[int, Field(multiple_of=2)]


def no_word(value: str) -> str:
    raise ValueError("there is no valid word")


def system_of(model: ScriptedModel) -> str:
    first = model.calls[-1].messages[0]
    return first.text if isinstance(first, SystemMessage) else ""


async def shown(wanted: type[object], ai: Ai, model: ScriptedModel) -> str:
    """The system prompt of a call that asks for a type."""
    model.script("?")
    with suppress(OutputError):
        await ai.with_max_attempts(1).create(wanted, "hi")
    return system_of(model)


async def example_of(wanted: type[object]) -> object:
    model = ScriptedModel()
    text = await shown(wanted, model.ai().with_generated_example(), model)
    assert "Example (of its form only; the values are made up):\n" in text
    example: object = json.loads(text.rpartition("\n")[2])
    return example


async def test_several_examples_in_their_order(scripted_model: ScriptedModel) -> None:
    ai = scripted_model.ai().with_examples({"a boy": Person(name="Tom", age=7), "a woman": Person(name="Ada", age=36)})

    text = await shown(Person, ai.with_example("a king", Person(name="Max", age=50)), scripted_model)

    assert text == (
        'Example (a boy):\n{"name":"Tom","age":7}\n\n'
        'Example (a woman):\n{"name":"Ada","age":36}\n\n'
        'Example (a king):\n{"name":"Max","age":50}'
    )


async def test_an_example_is_made_up_where_it_is_wanted() -> None:
    assert await example_of(Person) == {"name": "...", "age": 1}


async def test_a_made_up_example_keeps_the_rules_of_its_type() -> None:
    assert await example_of(Everything) == {
        "word": "...",
        "told": "a word",
        "long": ".....",
        "shown": "like this",
        "mood": "happy",
        "kind": "only",
        "flag": True,
        "nothing": None,
        "choice": 1,
        "day": "2026-01-31",
        "moment": "2026-01-31T12:00:00Z",
        "span": "P1D",
        "id": "00000000-0000-4000-8000-000000000000",
        "many": [{"name": "...", "age": 1}] * 2,
        "pair": [1, "..."],
        "table": {},
        "free": None,
        "between": 4,
        "whole": 1,
        "positive": 1,
        "large": 100,
        "small": 0.5,
        "negative": -1,
        "even": 2,
    }


async def test_a_made_up_example_ends() -> None:
    leaf: dict[str, object] = {"label": "what it says", "children": [], "next": None}
    assert await example_of(Node) == {"label": "what it says", "children": [leaf], "next": leaf}


@pytest.mark.parametrize(
    "wanted", [str, Endless, Annotated[str, AfterValidator(no_word)], Annotated[int, Field(gt=5, lt=5)]]
)
async def test_no_example_rather_than_a_wrong_one(scripted_model: ScriptedModel, wanted: type[object]) -> None:
    assert await shown(wanted, scripted_model.ai().with_generated_example(), scripted_model) == ""


async def test_given_examples_count_more_than_made_up_ones(scripted_model: ScriptedModel) -> None:
    ai = scripted_model.ai().with_generated_example().with_example("a boy", Person(name="Tom", age=7))

    text = await shown(Person, ai, scripted_model)

    assert "Tom" in text
    assert "made up" not in text


async def test_a_made_up_example_can_be_declined(scripted_model: ScriptedModel) -> None:
    ai = scripted_model.ai().with_generated_example()

    assert "Example" in await shown(Person, ai, scripted_model)
    assert "Example" not in await shown(Person, ai.with_generated_example(False), scripted_model)


async def test_streamed_objects_have_an_example_of_their_list(scripted_model: ScriptedModel) -> None:
    scripted_model.script({"value": []})

    assert [one async for one in scripted_model.ai().with_generated_example().stream_objects(Person, "who?")] == []
    assert '{"value":[{"name":"...","age":1}]}' in system_of(scripted_model)


@pytest.mark.parametrize(
    ("wanted", "example"), [(int, 1), (list[int], [1]), (Mood, "happy"), (Person | None, {"name": "...", "age": 1})]
)
async def test_what_is_no_object_travels_in_one(wanted: type[object], example: object) -> None:
    assert await example_of(wanted) == {"value": example}
