"""Typed objects while they arrive."""

from __future__ import annotations

import gc
import weakref
from dataclasses import make_dataclass

import pytest
from pydantic import BaseModel, Field
from pydantic_core import to_json

from tactician import Agent, RunContext
from tactician.events import Event
from tactician.loop import PartialReceived, TextReceived, output_type
from tactician.testing import ScriptedModel


class Place(BaseModel):
    city: str
    zip: int = 0


class Person(BaseModel):
    name: str
    age: int
    home: Place | None = None
    places: list[Place] = Field(default_factory=list)


class Renamed(BaseModel):
    full_name: str = Field(alias="fullName")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", None),
        ("{", None),
        ('{"na', None),
        ('{"name": "Ad', {"name": "Ad"}),
        ('{"name": "Ada", "age": 3', {"name": "Ada", "age": 3}),
        ('{"name": "Ada", "age": 36,', {"name": "Ada", "age": 36}),
    ],
)
def test_a_model_has_the_fields_that_have_come(text: str, fields: dict[str, object] | None) -> None:
    partial = output_type(Person).partial(text)

    if fields is None:
        assert partial is None
    else:
        assert isinstance(partial, Person)
        assert {name: getattr(partial, name) for name in partial.model_fields_set} == fields


def test_models_inside_are_partial_too() -> None:
    partial = output_type(Person).partial('{"name": "Ada", "age": 36, "places": [{"city": "London"}, {"city": "Par')

    assert isinstance(partial, Person)
    assert [place.city for place in partial.places] == ["London", "Par"]
    assert all(isinstance(place, Place) for place in partial.places)


def test_aliases() -> None:
    partial = output_type(Renamed).partial('{"fullName": "Ada')

    assert isinstance(partial, Renamed)
    assert partial.full_name == "Ada"


def test_lists_have_their_items() -> None:
    assert output_type(list[int]).partial('{"value": [1, 2,') == [1, 2]
    assert output_type(list[Place]).partial('{"value": [{"city": "Rome"}') == [Place(city="Rome")]


def test_types_that_a_program_makes_on_the_way_are_forgotten() -> None:
    first = None
    for number in range(1_100):
        kind = make_dataclass(f"Made{number}", [("value", int)])
        first = weakref.ref(kind) if first is None else first
        assert output_type(kind).partial('{"value": 1}') == kind(1)
    gc.collect()
    assert first is not None
    assert first() is None


def test_text_has_no_partial_objects() -> None:
    assert output_type(str).partial("hello") is None


async def test_listeners_hear_of_each_step() -> None:
    events: list[Event] = []
    model = ScriptedModel('{"name": "Ada Lovelace", "age": 36}')
    context = RunContext.over(model).with_listeners(events.append, streaming=True)

    await Agent("A", output_type=Person).run("who?", context=context)

    partials = [event.value for event in events if isinstance(event, PartialReceived)]
    names = [partial.name for partial in partials if isinstance(partial, Person)]
    assert names[0] == "Ada "
    assert names[-1] == "Ada Lovelace"
    assert len(partials) == len({repr(partial) for partial in partials}), "each says something new"


async def test_a_long_answer_is_not_parsed_anew_for_each_piece() -> None:
    events: list[Event] = []
    wanted = [Place(city=f"city {number}") for number in range(2_000)]
    text = to_json({"value": wanted}).decode()
    context = RunContext.over(ScriptedModel(text)).with_listeners(events.append, streaming=True)

    result = await Agent("A", output_type=list[Place]).run("where?", context=context)

    assert result.output == wanted
    partials = [event.value for event in events if isinstance(event, PartialReceived)]
    assert partials[-1] == wanted
    assert len(partials) < 1_000 < sum(isinstance(event, TextReceived) for event in events)
