"""Resources of servers as references, and prompts as instructions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tactician import Agent, Ai
from tactician.llm import ToolResult
from tactician.llm.messages import join_text
from tactician.mcp import McpError, McpServer
from tactician.testing import ScriptedModel, ToolCall
from tests.mcp_client.demo import Demo


@pytest.fixture
async def server() -> AsyncIterator[McpServer]:
    async with McpServer.in_process(Demo().server) as opened:
        yield opened


async def test_a_model_reads_resources(server: McpServer) -> None:
    reference = await server.load_reference(name="Manuals")
    model = ScriptedModel(
        ToolCall("manuals_read_resource", uri="demo://page/7"),
        ToolCall("manuals_read_resource", uri="demo://nothing"),
        "page 7 it is",
    )
    assert await Ai.over(model).with_reference(reference).generate_text("What is on page 7?") == "page 7 it is"
    prompt = join_text(model.calls[0].messages)
    assert "What it is: Be kind." in prompt
    assert "- demo://manual: manual: The manual" in prompt
    assert "- demo://page/{number}: page: A page" in prompt
    first, second = [one for one in model.calls[2].messages if isinstance(one, ToolResult)]
    assert "page 7" in first.content
    assert second.is_error


async def test_a_reference_has_only_what_its_patterns_match(server: McpServer) -> None:
    reference = await server.load_reference("demo://page/*")
    assert "manual" not in reference.contribution()
    model = ScriptedModel(ToolCall("demo_read_resource", uri="demo://manual"), "no")
    await Ai.over(model).with_reference(reference).generate_text("?")
    assert "not among the resources" in model.calls[1].messages[-1].text


async def test_a_prompt_is_the_instructions_of_an_agent(server: McpServer) -> None:
    model = ScriptedModel("ok")
    await Agent("Reviewer", instructions=server.prompt("review", language="Latin"), model=model).run("hello")
    assert join_text(model.calls[0].messages) == "Review this in Latin.\nhello"


async def test_a_missing_prompt_is_an_error(server: McpServer) -> None:
    with pytest.raises(McpError, match="demo"):
        await Agent("Reviewer", instructions=server.prompt("nothing"), model=ScriptedModel("ok")).run("hello")
