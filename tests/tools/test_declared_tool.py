"""Tests of tools that are declared by data: their arguments are checked as those of functions are."""

import json
from collections.abc import Mapping
from contextlib import suppress
from time import process_time

import pytest

from tactician import Agent
from tactician.errors import ConfigurationError
from tactician.llm import ToolCall as Call
from tactician.llm import ToolResult
from tactician.runs import RunContext
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import DeclaredTool
from tactician.tools.toolbox import Toolbox
from tests.support.chat_server import ChatServer
from tests.support.hostile_schemas import HOSTILE

CITY: Mapping[str, object] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


class Weather:
    """Executor that remembers its calls."""

    def __init__(self, schema: Mapping[str, object] = CITY) -> None:
        self.calls: list[object] = []
        self.tool = DeclaredTool("get_weather", "The weather", dict(schema), execute=self.execute)

    def execute(self, call: Call) -> str:
        self.calls.append(json.loads(call.arguments))
        return "sunny"


async def call_with(weather: Weather, **arguments: object) -> str:
    """Return what a model is told after a call with these arguments."""
    model = ScriptedModel(ToolCall("get_weather", **arguments), "done")
    result = await Agent("A", model=model, tools=[weather.tool]).run("Weather?")
    (told,) = (message for message in result.messages if isinstance(message, ToolResult))
    return told.content


async def test_arguments_that_fit_reach_the_executor() -> None:
    weather = Weather()
    assert await call_with(weather, city="Ulm", days=2) == "sunny"
    assert weather.calls == [{"city": "Ulm", "days": 2}]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "it: 'city' is a required property"),
        ({"city": 7}, "city: 7 is not of type 'string'"),
        ({"city": "Ulm", "days": 0}, "days: 0 is less than the minimum of 1"),
        ({"city": "Ulm", "unit": "K"}, "it: Additional properties are not allowed ('unit' was unexpected)"),
    ],
)
async def test_the_model_is_told_what_is_wrong_and_nothing_runs(arguments: Mapping[str, object], problem: str) -> None:
    weather = Weather()
    assert problem in await call_with(weather, **arguments)
    assert weather.calls == []


async def test_many_mistakes_are_told_in_part() -> None:
    weather = Weather({"type": "object", "additionalProperties": {"type": "integer"}})
    told = await call_with(weather, **{f"x{number}": "y" for number in range(50)})
    assert told.count("is not of type 'integer'") == 5
    assert "and 45 more" in told


async def test_arguments_are_repaired_first_as_those_of_functions_are() -> None:
    weather = Weather()
    call = Call("1", "get_weather", "```json\n{'city': 'Ulm',}\n```")
    answer = await Toolbox([weather.tool]).answer(call, RunContext.over(ScriptedModel()))
    assert answer.content == "sunny"
    assert weather.calls == [{"city": "Ulm"}]


async def test_a_schema_that_is_none_stops_the_run() -> None:
    with pytest.raises(ConfigurationError, match="'get_weather': its parameters are not a valid JSON Schema"):
        await call_with(Weather({"type": "nonsense"}), city="Ulm")


async def test_no_schema_is_fetched() -> None:
    async with ChatServer() as server:
        with pytest.raises(ConfigurationError, match="not a valid JSON Schema"):
            await call_with(Weather({"$ref": f"{server.url}/schema.json"}), city="Ulm")
    assert server.received == []


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_schema_holds_nothing_up(name: str) -> None:
    schema, values = HOSTILE[name]
    began = process_time()
    with suppress(ConfigurationError):
        await call_with(Weather(schema), **values)
    assert process_time() - began < 5


async def test_a_pattern_is_matched_where_that_takes_linear_time() -> None:
    weather = Weather({"type": "object", "properties": {"city": {"pattern": "^[A-Z]"}, "code": {"pattern": "(a)\\1"}}})
    assert "city: 'ulm' does not match '^[A-Z]'" in await call_with(weather, city="ulm", code="x")
    assert await call_with(weather, city="Ulm", code="x") == "sunny"


@pytest.mark.parametrize(("items", "is_unique"), [([1, True, "1", [1]], True), ([{"a": 1}, {"a": 1.0}], False)])
async def test_items_are_unique_by_value(items: list[object], is_unique: bool) -> None:
    weather = Weather({"type": "object", "properties": {"items": {"uniqueItems": True}}})
    assert (await call_with(weather, items=items) == "sunny") is is_unique
