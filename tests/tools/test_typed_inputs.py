"""The post on typed tool inputs, sentence by sentence."""

from __future__ import annotations

import json
from decimal import Decimal
from enum import Enum
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from tactician import Agent, RunContext, Tool, tool
from tactician.errors import InvalidArgumentsError
from tactician.llm import ToolResult
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import (
    calculator,
    date_time,
    http_request,
    query_json,
    read_file,
    run_program,
    web_search,
    write_file,
)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


ran: list[str] = []


@tool
def search(query: Annotated[str, Field(min_length=1)], limit: int | None = None) -> str:
    """Search the web.

    Args:
        query: Search query string, e.g. 'Java 21 virtual threads'
        limit: number of hits
    """
    ran.append(query)
    return f"{query} {limit}"


@tool
def request(url: str, method: str, body: str | None = None) -> str:
    """Send an HTTP request.

    Args:
        url: The URL to request
        method: HTTP method: GET, POST, PUT, DELETE
        body: Request body (optional)
    """
    ran.append(url)
    return f"{method} {url} {body}"


@pytest.fixture(autouse=True)
def forget() -> None:
    ran.clear()


def properties_of(one: Tool) -> dict[str, dict[str, object]]:
    found = one.spec.parameters["properties"]
    assert isinstance(found, dict)
    return found


async def call(one: Tool, arguments: str) -> str:
    output = await one.call(arguments, RunContext.over(ScriptedModel()))
    assert isinstance(output, str)
    return output


def test_each_parameter_is_a_separate_named_typed_and_described_entry_of_the_schema() -> None:
    assert request.spec.parameters["required"] == ["url", "method"]
    properties = properties_of(request)
    assert list(properties) == ["url", "method", "body"]
    assert properties["url"] == {"type": "string", "description": "The URL to request"}
    assert properties["method"]["description"] == "HTTP method: GET, POST, PUT, DELETE"


def test_a_parameter_is_required_by_default_and_an_optional_one_is_not_in_the_required_array() -> None:
    assert search.spec.parameters["required"] == ["query"]


@pytest.mark.parametrize(
    ("kind", "schema_type"),
    [
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (bool, "boolean"),
        (list[int], "array"),
        (dict[str, int], "object"),
    ],
)
def test_the_type_of_a_parameter_is_that_of_its_schema(kind: type, schema_type: str) -> None:
    def use(value: object) -> str:
        """Use a value."""
        return str(value)

    use.__annotations__["value"] = kind
    assert properties_of(tool(use))["value"]["type"] == schema_type


def test_a_decimal_is_a_number() -> None:
    @tool
    def pay(amount: Decimal) -> str:
        """Pay."""
        return str(amount)

    assert "number" in json.dumps(properties_of(pay)["amount"])


async def test_an_enum_is_text_with_an_enum_constraint() -> None:
    @tool
    def paint(colour: Colour) -> str:
        """Paint."""
        ran.append(colour.name)
        return colour.name

    assert '"enum": ["red", "blue"]' in json.dumps(paint.spec.parameters)
    assert await call(paint, '{"colour": "red"}') == "RED"
    with pytest.raises(InvalidArgumentsError, match="colour"):
        await call(paint, '{"colour": "green"}')
    assert ran == ["RED"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ('{"method": "GET"}', "url"),
        ('{"url": null, "method": "GET"}', "url"),
        ('{"url": "http://x"}', "method"),
        ('{"url": "http://x", "method": 7}', "method"),
        ('{"url": "http://x", "method": "GET", "boddy": "x"}', "boddy"),
        ("{}", "url"),
        ("", "url"),
        ("nonsense", "JSON"),
        ('["http://x", "GET"]', "should be an object"),
    ],
)
async def test_a_missing_null_or_wrong_field_is_a_failure_before_the_body_runs(arguments: str, field: str) -> None:
    with pytest.raises(InvalidArgumentsError, match=field):
        await call(request, arguments)
    assert ran == []


async def test_all_missing_fields_are_named_at_once() -> None:
    with pytest.raises(InvalidArgumentsError, match=r"url: .*; method: "):
        await call(request, "{}")


async def test_the_model_reads_what_was_wrong_and_may_call_again() -> None:
    model = ScriptedModel(
        ToolCall("request", url="http://x"), ToolCall("request", url="http://x", method="GET"), "done"
    )
    await Agent("Worker", model=model, tools=[request]).run("go")
    results = [message for message in model.calls[-1].messages if isinstance(message, ToolResult)]
    assert [result.is_error for result in results] == [True, False]
    assert "method" in results[0].content
    assert ran == ["http://x"]


async def test_an_optional_field_that_is_left_out_has_its_default() -> None:
    assert await call(request, '{"url": "http://x", "method": "GET"}') == "GET http://x None"
    assert await call(request, '{"url": "http://x", "method": "PUT", "body": "b"}') == "PUT http://x b"


async def test_constraints_of_a_field_are_checked_too() -> None:
    with pytest.raises(InvalidArgumentsError, match="query"):
        await call(search, '{"query": ""}')


async def test_a_record_is_an_input_contract_as_well() -> None:
    class Search(BaseModel):
        query: str = Field(description="Search query string")
        limit: int = 3

    @tool
    def find(search: Search) -> str:
        """Find something."""
        return f"{search.query} {search.limit}"

    assert await call(find, '{"search": {"query": "frogs"}}') == "frogs 3"
    assert "Search query string" in json.dumps(find.spec.parameters)
    with pytest.raises(InvalidArgumentsError, match=r"search\.query"):
        await call(find, '{"search": {}}')


@pytest.mark.parametrize(
    "one",
    [calculator, date_time, read_file, write_file, query_json, web_search, http_request, run_program],
    ids=lambda one: one.name,
)
def test_every_built_in_tool_has_a_typed_schema_with_a_description_of_each_field(one: Tool) -> None:
    assert one.description
    for described in properties_of(one).values():
        assert described["description"]
        assert described.keys() & {"type", "anyOf", "enum", "$ref", "items"}
    assert "context" not in properties_of(one)
    assert one.spec.parameters["additionalProperties"] is False
