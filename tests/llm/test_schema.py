"""What the transformed schemas allow, the original types accept."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tactician.llm.schema import bound_schema, close_schema, hoist_definitions, is_strict, remove_keywords
from tests.support.schemas import instances


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    zip: str = Field(default="0", min_length=1, max_length=5)


class Person(BaseModel):
    """Nested, optional, lists, enums, limits and defaults."""

    title: str
    default: Annotated[int, Field(ge=0, le=120)] = 3
    address: Address | None = None
    others: list[Address] = Field(default_factory=list, max_length=3)
    colour: Colour = Colour.RED
    size: Literal["S", "L", 7]
    properties: dict[str, int] = Field(default_factory=dict)


class Node(BaseModel):
    value: int
    children: list[Node] = Field(default_factory=list)


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    loud: bool


class Owner(BaseModel):
    model_config = ConfigDict(extra="allow")

    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    pair: tuple[int, str]
    weight: float | None = None


@dataclass
class Point:
    x: float
    tags: list[str] = field(default_factory=list)


TYPES: tuple[object, ...] = (Person, Node, Owner, Point, list[Node], Colour, dict[str, Address], Cat | list[int] | None)
every_type = pytest.mark.parametrize("kind", TYPES, ids=str)
quickly = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def adapter_of(kind: object) -> TypeAdapter[object]:
    return TypeAdapter(kind)  # type: ignore[arg-type]  # any type form will do


@every_type
@given(data=st.data())
@quickly
def test_what_a_closed_schema_allows_is_valid(kind: object, data: st.DataObject) -> None:
    adapter = adapter_of(kind)

    adapter.validate_python(data.draw(instances(close_schema(adapter.json_schema()))))


@every_type
@given(data=st.data())
@quickly
def test_what_a_bounded_schema_allows_is_valid(kind: object, data: st.DataObject) -> None:
    adapter = adapter_of(kind)
    schema = bound_schema(close_schema(adapter.json_schema()), string_length=6, items=2)

    adapter.validate_python(data.draw(instances(schema)))


@every_type
@given(data=st.data())
@quickly
def test_what_a_hoisted_schema_allows_is_valid(kind: object, data: st.DataObject) -> None:
    adapter = adapter_of(kind)
    definitions: dict[str, object] = {"Address": {"type": "null"}, "Node": {"type": "null"}}
    schema = hoist_definitions(close_schema(adapter.json_schema()), "mine.", definitions)

    adapter.validate_python(data.draw(instances({**schema, "$defs": definitions})))


def test_closed_requires_every_property_and_allows_no_other() -> None:
    schema = close_schema(Person.model_json_schema())

    assert schema["required"] == list(Person.model_fields)
    assert schema["additionalProperties"] is False
    assert "title" not in schema


def test_closed_keeps_properties_that_are_called_like_keywords() -> None:
    schema = close_schema(Person.model_json_schema())

    assert isinstance(schema["properties"], dict)
    assert {"title", "default", "properties"} <= schema["properties"].keys()
    assert schema["properties"]["default"] == {"maximum": 120, "minimum": 0, "type": "integer"}


def test_closed_leaves_the_schema_that_it_is_given_alone() -> None:
    schema = Person.model_json_schema()

    close_schema(schema)
    bound_schema(schema, string_length=1, items=1)
    hoist_definitions(schema, "x.", {})
    remove_keywords(schema, frozenset({"type"}))

    assert schema == Person.model_json_schema()


@pytest.mark.parametrize(
    ("kind", "strict"), [(Node, True), (Cat, True), (Owner, True), (Person, False), (dict[str, int], False)], ids=str
)
def test_a_schema_is_strict_when_no_object_is_open(kind: object, strict: bool) -> None:
    assert is_strict(close_schema(adapter_of(kind).json_schema())) is strict


def test_bounded_limits_only_what_has_no_limit() -> None:
    schema = {
        "properties": {
            "free": {"type": "string"},
            "short": {"type": "string", "maxLength": 2},
            "long": {"type": "string", "minLength": 50},
            "choice": {"type": "string", "enum": [""]},
            "when": {"type": "string", "format": "date"},
            "some": {"type": "array", "items": {"type": "string"}},
            "many": {"type": "array", "minItems": 9},
            "type": {"type": "integer"},
        }
    }

    assert bound_schema(schema, string_length=10, items=4) == {
        "properties": {
            "free": {"type": "string", "minLength": 1, "maxLength": 10},
            "short": {"type": "string", "maxLength": 2},
            "long": {"type": "string", "minLength": 50, "maxLength": 50},
            "choice": {"type": "string", "enum": [""]},
            "when": {"type": "string", "format": "date"},
            "some": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 10}, "maxItems": 4},
            "many": {"type": "array", "minItems": 9, "maxItems": 9},
            "type": {"type": "integer"},
        }
    }


def test_hoisted_moves_definitions_and_follows_every_reference_to_them() -> None:
    definitions: dict[str, object] = {}

    schema = hoist_definitions(close_schema(Owner.model_json_schema()), "t.", definitions)

    assert set(definitions) == {"t.Cat", "t.Dog"}
    assert "$defs" not in schema
    assert isinstance(schema["properties"], dict)
    pet = schema["properties"]["pet"]
    assert pet == {"anyOf": [{"$ref": "#/$defs/t.Cat"}, {"$ref": "#/$defs/t.Dog"}]}


def test_hoisted_follows_a_reference_at_the_root() -> None:
    definitions: dict[str, object] = {}

    schema = hoist_definitions(Node.model_json_schema(), "t.", definitions)

    assert schema == {"$ref": "#/$defs/t.Node"}
    assert "'#/$defs/t.Node'" in str(definitions)


def test_closed_says_in_the_words_of_strict_output_what_strict_output_allows() -> None:
    """It knows neither `oneOf` nor `discriminator`, and allows nothing beside a `$ref`."""

    class House(BaseModel):
        pet: Annotated[Cat | Dog, Field(discriminator="kind", description="who lives here")]
        at: Address = Field(description="where it is")

    properties = close_schema(House.model_json_schema())["properties"]

    assert properties == {
        "pet": {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "description": "who lives here"},
        "at": {"anyOf": [{"$ref": "#/$defs/Address"}], "description": "where it is"},
    }
