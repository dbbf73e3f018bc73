"""Output schemas of servers: what does not fit is an error, and a hostile schema holds nothing up."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from time import process_time

import pytest

from tactician.code_mode import CodeTool
from tactician.llm.model import JsonSchema
from tactician.mcp import McpServer
from tests.mcp_client.test_tools import call
from tests.support.hostile_schemas import HOSTILE, OBJECT

SERVER = str(Path(__file__).with_name("schema_server.py"))


def create_server(schema: JsonSchema, content: object, **tool: object) -> McpServer:
    """Return a server whose tool `f` has an output schema, and gives content."""
    description = {"name": "f", "inputSchema": {"type": "object"}, "outputSchema": schema, **tool}
    texts = [{"type": "text", "text": "x"}]
    result = {"content": texts, **({} if content is None else {"structuredContent": content})}
    return McpServer.stdio(sys.executable, SERVER, json.dumps(description), json.dumps(result), protocol="legacy")


NUMBER = {**OBJECT, "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "content", "told"),
    [
        (NUMBER, {"n": 1}, "x"),
        (NUMBER, {"n": "x"}, "does not fit its schema: n: 'x' is not of type 'integer'"),
        (NUMBER, None, "gave no structured content"),
        ({**OBJECT, "properties": {"n": {"type": "nonsense"}}}, {"n": 1}, "an output schema that is not valid"),
    ],
)
async def test_content_is_checked(schema: JsonSchema, content: object, told: str) -> None:
    async with create_server(schema, content) as server:
        assert told in (await call(server, "f")).content


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_schema_holds_nothing_up(name: str) -> None:
    schema, content = HOSTILE[name]
    async with create_server(schema, content) as server:
        began = process_time()
        await call(server, "f")
        assert process_time() - began < 5


async def test_types_for_scripts_are_bounded() -> None:
    kinds: dict[str, Mapping[str, object]] = {
        f"d{level}": {**OBJECT, "properties": {f"p{n}": {"$ref": f"#/$defs/d{level + 1}"} for n in range(50)}}
        for level in range(9)
    }
    async with create_server({**kinds["d0"], "$defs": kinds}, {}) as server:
        began = process_time()
        (run_code,) = await CodeTool([server]).load_tools()
        assert "f() -> FResult" in run_code.spec.description
        assert process_time() - began < 5
