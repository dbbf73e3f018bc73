"""Structured content and output schemas of tools, agents, ensembles and goals, in both protocol eras."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal

import mcp_types as types
import pytest
from pydantic import BaseModel, Field, JsonValue
from typing_extensions import TypedDict

from tactician import Agent, Ensemble, Image, Platform, Review, Task, runnable, tool
from tactician.serve import McpPublisher
from tactician.serve.mcp.sources import McpSource
from tactician.testing import ScriptedModel
from tactician.tools import Artifact
from tests.serve.mcp.kitchen import ERAS, Era, connect, read


class Item(BaseModel):
    name: str
    price: float = Field(serialization_alias="unitPrice")


@dataclass
class Point:
    x: int


class Entry(TypedDict):
    word: str


class Size(Enum):
    SMALL = 1


class Color(StrEnum):
    RED = "red"


TEA = Item(name="tea", price=3.5)
TEA_JSON: dict[str, JsonValue] = {"name": "tea", "unitPrice": 3.5}
STRUCTURED: tuple[tuple[object, object, object], ...] = (
    (Item, TEA, TEA_JSON),
    (list[Item], [TEA], {"result": [TEA_JSON]}),
    (list[Item], [], {"result": []}),
    (list[str], ["a", "b"], {"result": ["a", "b"]}),
    (dict, {"a": 1}, {"a": 1}),
    (dict[str, Item], {"a": TEA}, {"a": TEA_JSON}),
    (Point, Point(1), {"x": 1}),
    (Entry, {"word": "a"}, {"word": "a"}),
    (int, 5, {"result": 5}),
    (bool, False, {"result": False}),
    (Item | Point, Point(2), {"result": {"x": 2}}),
    (Annotated[list[int], "counts"], [1], {"result": [1]}),
    (date, date(2026, 11, 23), {"result": "2026-11-23"}),
    (Size, Size.SMALL, {"result": 1}),
)
PLAIN: tuple[tuple[object, object], ...] = (
    (str, "tea"),
    (Item | str, "tea"),
    (Item | None, None),
    (Literal["a", "b"], "a"),
    (Color, Color.RED),
    (Any, {"a": 1}),
    (object, {"a": 1}),
    (None, None),
    (Artifact[Item], Artifact("tea", TEA)),
    (list[Image], []),
    (list[object], ["a"]),
    (Iterator[int], iter(())),
)


def make(kind: object, value: object) -> Callable[[], object]:
    """A function that declares a type."""

    def give() -> object:
        """Give something."""
        return value

    give.__annotations__["return"] = kind
    return give


async def call(source: McpSource, era: Era, model: ScriptedModel) -> tuple[types.Tool, types.CallToolResult]:
    async with connect(McpPublisher(Platform(model), source), era) as client:
        listed = (await client.list_tools()).tools[0]  # the client checks results against these schemas
        arguments = {"request": "go"} if "request" in listed.input_schema["properties"] else {}
        return listed, await client.call_tool(listed.name, arguments)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("kind", "value", "expected"), STRUCTURED)
async def test_tools(era: Era, kind: object, value: object, expected: object) -> None:
    listed, result = await call(tool(make(kind, value)), era, ScriptedModel())
    assert listed.output_schema is not None
    assert listed.output_schema["type"] == "object"
    assert result.structured_content == expected
    assert read(result)  # older clients read the text


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("kind", "value"), PLAIN)
async def test_tools_whose_results_have_no_structure(era: Era, kind: object, value: object) -> None:
    listed, result = await call(tool(make(kind, value)), era, ScriptedModel())
    assert (listed.output_schema, result.structured_content, result.is_error) == (None, None, False)


REPLIES: dict[object, str] = {Item: '{"name": "tea", "price": 3.5}', list[Item]: '[{"name": "tea", "price": 3.5}]'}


def create_runnable(way: str, kind: type[object], value: object) -> McpSource:
    task = Task("Look", handler=lambda _: value, output_type=kind)
    if way == "agent":
        return Agent("Clerk", output_type=kind)
    if way == "ensemble":
        return Ensemble("Clerk", [task])
    if way == "wrapped ensemble":
        return Ensemble("Clerk", [task, Task("Say", handler=lambda _: value)]).with_output_type(kind)

    async def work(input: object) -> object:
        return value

    work.__annotations__["return"] = kind
    return runnable(work, name="Clerk", description="Works.")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["agent", "ensemble", "wrapped ensemble", "function"])
@pytest.mark.parametrize(("kind", "expected"), [(Item, TEA_JSON), (list[Item], {"result": [TEA_JSON]})])
async def test_runnables(era: Era, way: str, kind: type[object], expected: object) -> None:
    value = TEA if kind is Item else [TEA]
    listed, result = await call(create_runnable(way, kind, value), era, ScriptedModel(REPLIES[kind]))
    assert listed.output_schema is not None
    assert result.structured_content == expected


@pytest.mark.parametrize("era", ERAS)
async def test_an_ensemble_whose_output_may_be_another_has_no_schema(era: Era) -> None:
    tasks = [Task("Look", handler=lambda _: TEA, output_type=Item, review=Review.after())]
    listed, _ = await call(Ensemble("Clerk", tasks), era, ScriptedModel())
    assert listed.output_schema is None
