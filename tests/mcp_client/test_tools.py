"""Tools of MCP servers in agents: names, results, errors, progress, cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tactician import Agent, Ensemble, Platform, RunContext, Task, approve
from tactician.context_format import ContextFormat
from tactician.errors import ConfigurationError
from tactician.events import Event
from tactician.llm import Image, ToolResult
from tactician.mcp import McpError, McpProgress, McpServer
from tactician.mcp.connection import McpHealth
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools.provider import ToolProvider
from tests.mcp_client.demo import PNG, Demo, Weather

ERAS = ["auto", "legacy"]


@pytest.fixture(params=ERAS)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[McpServer]:
    async with McpServer.in_process(Demo().server, protocol=request.param) as opened:
        yield opened


async def call(tools: ToolProvider, name: str, **arguments: object) -> ToolResult:
    """The result of a tool as a model sees it."""
    model = ScriptedModel(ToolCall(name, **arguments), "done")
    result = await Agent("Caller", tools=[tools], model=model).run("call it")
    message = result.messages[-2]
    assert isinstance(message, ToolResult)
    return message


async def names(tools: ToolProvider) -> list[str]:
    return [one.name for one in await tools.load_tools()]


async def test_an_agent_calls_a_tool(server: McpServer) -> None:
    assert (await call(server, "add", a=1, b=2)).content == "3"


async def test_structured_output_is_json(server: McpServer) -> None:
    result = await call(server, "weather", city="Rome")
    assert "".join(result.content.split()) == '{"celsius":4.0}'


@pytest.mark.parametrize(
    ("name", "arguments", "content"),
    [
        ("find", {"n": 0}, "[]"),
        ("find", {"n": 1}, '[{"celsius":0.0}]'),
        ("find", {"n": 2}, '[{"celsius":0.0},{"celsius":1.0}]'),
        ("names", {"n": 0}, "[]"),
        ("names", {"n": 1}, '["N0"]'),
        ("names", {"n": 2}, '["N0","N1"]'),
        ("rows", {"n": 2}, '[{"celsius":0.0},{"celsius":1.0}]'),
        ("add", {"a": 1, "b": 2}, "3"),
        ("report", {}, "It is 3 degrees."),
    ],
)
async def test_a_list_is_a_list_whatever_its_length(
    server: McpServer, name: str, arguments: dict[str, object], content: str
) -> None:
    assert (await call(server, name, **arguments)).content == content


async def test_toon_takes_lists_of_servers(server: McpServer) -> None:
    pytest.importorskip("toon_format")
    model = ScriptedModel(ToolCall("find", n=2), "done")
    ensemble = Ensemble("Weather", [Task("Find it", tools=[server])], model=model, context_format=ContextFormat.TOON)
    await ensemble.run()
    shown = next(message for message in model.calls[-1].messages if isinstance(message, ToolResult))
    assert shown.content == "[2]{celsius}:\n  0.0\n  1.0".replace(".0", "")


async def artifacts(tools: ToolProvider, name: str, **arguments: object) -> tuple[object, ...]:
    """The objects that a tool gives the program."""
    model = ScriptedModel(ToolCall(name, **arguments), "done")
    return (await Agent("Caller", tools=[tools], model=model).run("call it")).artifacts


async def test_structured_output_is_an_object_for_the_program(server: McpServer) -> None:
    assert await artifacts(server, "weather", city="Rome") == ({"celsius": 4.0},)
    typed = server.with_output_type(Weather, "weather").with_output_type(int, "add")
    assert await artifacts(typed, "weather", city="Rome") == (Weather(celsius=4.0),)
    assert await artifacts(typed, "add", a=1, b=2) == (3,)
    assert await artifacts(typed, "show") == ()


async def test_structured_output_of_another_type_is_an_error(server: McpServer) -> None:
    failed = await call(server.with_output_type(list[int], "weather"), "weather", city="Rome")
    assert failed.is_error
    assert "not of the declared type: it: Input should be a valid list" in failed.content
    with pytest.raises(ConfigurationError, match="has no tool 'wether'"):
        await server.with_output_type(Weather, "wether").load_tools()


async def test_errors_are_for_the_model(server: McpServer) -> None:
    failed = await call(server, "fail")
    assert failed.is_error
    assert "there is no way" in failed.content
    wrong = await call(server, "add", a="x")
    assert wrong.is_error
    assert "valid integer" in wrong.content


async def test_pictures_are_pictures_and_the_rest_is_described(server: McpServer) -> None:
    shown = await call(server, "show")
    assert shown.images == (Image(data=PNG, media_type="image/png"),)
    assert shown.content.splitlines() == [
        "a picture:",
        "[picture of the type image/tiff, 9 bytes, left out]",
        "[audio of the type audio/wav, 9 bytes]",
        "[resource one, demo://1: the first]",
        "[resource demo://2]",
        "the second",
    ]


async def test_a_long_answer_is_cut_off(server: McpServer) -> None:
    said = await call(server, "say", length=1_000_010)
    assert said.content.endswith("[cut off: the server sent 1,000,010 characters]")
    assert len(said.content) < 1_000_100


async def test_a_selection_is_by_the_names_on_the_server(server: McpServer) -> None:
    assert await names(server.only("add", "w*").without("wait")) == ["add", "weather", "walk"]
    assert await names(server.named("demo_").only("add")) == ["demo_add"]
    assert await names(server.only("add").named(str.upper)) == ["ADD"]
    assert (await call(server.only("add").named("demo_"), "demo_add", a=2, b=2)).content == "4"


async def test_a_name_that_no_model_accepts_is_changed(server: McpServer) -> None:
    assert "odd_name_tool" in await names(server)
    assert (await call(server, "odd_name_tool")).content == "odd"


async def test_a_missing_tool_is_a_mistake(server: McpServer) -> None:
    with pytest.raises(ConfigurationError, match=r"'demo' has no tool 'ad'\. Did you mean 'add'\?"):
        await server.only("ad").load_tools()


async def test_a_call_waits_for_an_approval(server: McpServer) -> None:
    agent = Agent("Caller", tools=[server.with_approval("add")], model=ScriptedModel(ToolCall("add", a=1, b=2), "3"))
    context = RunContext.over(ScriptedModel())
    waiting = await agent.run("1 + 2?", context=context)
    (request,) = waiting.pending
    assert request.kind == "approval"
    assert (await agent.resume(waiting.run_id, {request.id: approve()}, context=context)).output == "3"


async def test_progress_is_an_event(server: McpServer) -> None:
    heard: list[Event] = []
    model = ScriptedModel(ToolCall("walk", steps=2), "done")
    await Agent("Caller", tools=[server], model=model).run("go", context=RunContext.over(ScriptedModel(), heard.append))
    progress = [event.describe() for event in heard if isinstance(event, McpProgress)]
    assert progress == ["demo: walk: 1 of 2, step 1", "demo: walk: 2 of 2, step 2"]


@pytest.mark.parametrize("era", ERAS)
async def test_cancellation_reaches_the_server(era: str) -> None:
    demo = Demo()
    async with McpServer.in_process(demo.server, protocol=era) as server:
        task = asyncio.create_task(call(server, "wait"))
        await asyncio.wait_for(demo.began.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(demo.cancelled.wait(), 30)
        assert (await call(server, "add", a=1, b=2)).content == "3"


async def test_a_tool_that_takes_too_long_is_an_error() -> None:
    async with McpServer.in_process(Demo().server, timeout=0.05) as server:
        result = await call(server, "wait")
    assert result.is_error
    assert "demo" in result.content


async def test_it_opens_itself_and_the_platform_closes_it() -> None:
    server = McpServer.in_process(Demo().server)
    model = ScriptedModel(ToolCall("add", a=1, b=2), "3")
    async with Platform(model, tool_groups={"math": server.only("add")}) as platform:
        assert (await Agent("A", tool_groups=["math"]).run("?", context=platform.context())).output == "3"
        assert server.health == McpHealth("ready", server="demo ", protocol="2026-07-28")
    assert server.health == McpHealth("closed")


async def test_resources_prompts_and_instructions(server: McpServer) -> None:
    assert [one.uri for one in await server.list_resources()] == ["demo://manual"]
    assert [one.uri_template for one in await server.list_resource_templates()] == ["demo://page/{number}"]
    assert "Press the button." in (await server.read_resource("demo://manual")).text
    assert [one.name for one in await server.list_prompts()] == ["review"]
    (message,) = await server.load_prompt("review", language="Latin")
    assert message.text == "Review this in Latin."
    assert await server.load_instructions() == "Be kind."
    with pytest.raises(McpError, match="demo"):
        await server.read_resource("demo://nothing")
