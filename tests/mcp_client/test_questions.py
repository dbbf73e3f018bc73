"""Questions of servers while a tool runs: to people, for whom the run waits, and to the agent's model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import pytest
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context
from mcp_types import SamplingMessage, TextContent

from tactician import Agent, Budget, RunContext, RunStatus, reject
from tactician.errors import TacticianError
from tactician.llm import ToolResult
from tactician.llm.messages import join_text
from tactician.mcp import McpServer
from tactician.runs import RunResult
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.mcp_client.demo import Demo, Person
from tests.support.stored import JsonStore

_THOUGHTS = [SamplingMessage(role="user", content=TextContent(type="text", text="Think"))]
ERAS = ["auto", "legacy"]
STORES = [MemoryStore, JsonStore]


def over(model: ScriptedModel, store: DocumentStore) -> RunContext:
    return RunContext.over(model, store=store)


def read_last_result(result: RunResult[str]) -> ToolResult:
    message = result.messages[-2]
    assert isinstance(message, ToolResult)
    return message


async def ask(demo: Demo, era: str, store: DocumentStore) -> RunResult[str]:
    async with McpServer.in_process(demo.server, protocol=era) as server:
        model = ScriptedModel(ToolCall("greet", greeting="Hello"))
        return await Agent("Host", tools=[server]).run("greet them", context=over(model, store))


async def respond(
    demo: Demo, era: str, store: DocumentStore, waiting: RunResult[str], answer: object
) -> RunResult[str]:
    """Answer in another connection, as after a restart of the program."""
    async with McpServer.in_process(demo.server, protocol=era, repeats_calls=True) as server:
        agent = Agent("Host", tools=[server])
        responses = {waiting.pending[0].id: answer}
        return await agent.resume(waiting.run_id, responses, context=over(ScriptedModel("done"), store))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("store", STORES)
async def test_a_run_waits_for_a_person_and_calls_again(era: str, store: type[MemoryStore]) -> None:
    demo, kept = Demo(), store()
    waiting = await ask(demo, era, kept)
    assert waiting.status is RunStatus.WAITING
    (request,) = waiting.pending
    assert (request.kind, request.prompt) == ("form", "demo asks: Who are you?")
    assert request.schema is not None
    assert isinstance(request.schema["properties"], Mapping)
    assert request.schema["properties"].keys() == {"name", "age"}
    assert demo.greeted == []

    result = await respond(demo, era, kept, waiting, {"name": "Ada", "age": 36})
    assert read_last_result(result).content == "Hello Ada, 36"
    assert demo.greeted == ["Ada"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_may_refuse(era: str) -> None:
    demo, store = Demo(), MemoryStore()
    result = await respond(demo, era, store, await ask(demo, era, store), reject("no"))
    assert read_last_result(result).is_error
    assert demo.greeted == []


async def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    demo, store = Demo(), MemoryStore()
    waiting = await respond(demo, "auto", store, await ask(demo, "auto", store), {"age": "old"})
    assert waiting.status is RunStatus.WAITING
    assert waiting.pending[0].problem is not None
    assert "name" in waiting.pending[0].problem
    result = await respond(demo, "auto", store, waiting, {"name": "Bob"})
    assert read_last_result(result).content == "Hello Bob, 0"


async def test_two_calls_ask_two_persons() -> None:
    demo, store = Demo(), MemoryStore()
    model = ScriptedModel([ToolCall("greet", greeting="Hello"), ToolCall("greet", greeting="Good day")])
    async with McpServer.in_process(demo.server) as server:
        agent = Agent("Host", tools=[server])
        waiting = await agent.run("greet them", context=over(model, store))
        assert len(waiting.pending) == 2
        answers = {request.id: {"name": f"N{place}"} for place, request in enumerate(waiting.pending)}
        await agent.resume(waiting.run_id, answers, context=over(ScriptedModel("done"), store))
    assert sorted(demo.greeted) == ["N0", "N1"]


@pytest.mark.parametrize("era", ERAS)
async def test_the_agents_model_answers_within_its_budget(era: str) -> None:
    model = ScriptedModel(ToolCall("joke"), "Why not?", "done")
    async with McpServer.in_process(Demo().server, protocol=era) as server:
        result = await Agent("Host", tools=[server], model=model).run("joke!")
    assert read_last_result(result).content == f"{model.name} says: Why not?"
    assert join_text(model.calls[1].messages) == "You are funny.\nTell a joke"
    assert model.calls[1].options.max_tokens == 50
    assert result.usage.requests == 3


async def test_the_budget_of_the_run_counts() -> None:
    model = ScriptedModel(ToolCall("joke"), "Why not?", "done")
    async with McpServer.in_process(Demo().server) as server:
        context = RunContext.over(model).child("budget", Budget(turns=1))
        with pytest.raises(TacticianError):
            await Agent("Host", tools=[server]).run("joke!", context=context)
    assert len(model.calls) == 1


async def test_a_server_may_be_denied_the_model() -> None:
    model = ScriptedModel(ToolCall("joke"), "done")
    async with McpServer.in_process(Demo().server, sampling=False) as server:
        result = await Agent("Host", tools=[server], model=model).run("joke!")
    assert read_last_result(result).is_error
    assert len(model.calls) == 2


def create_desk(log: list[str]) -> MCPServer[object]:
    """Create a server with a tool that acts before it asks, and asks twice."""
    server: MCPServer[object] = MCPServer("desk", log_level="CRITICAL")

    @server.tool()
    async def book(ctx: Context[object, object]) -> str:
        """Books a table."""
        meta = dict(ctx.request_context.meta or {})
        log.append(f"reserve {meta['tactician/idempotencyKey']}")
        names = []
        for question in ("Who?", "With whom?"):
            answer = await ctx.elicit(question, Person)
            log.append(answer.action)
            names.append(answer.data.name if isinstance(answer, AcceptedElicitation) else "nobody")
        return " and ".join(names)

    return server


class TestToolsThatActBeforeTheyAsk:
    @pytest.mark.parametrize("store", STORES)
    async def test_the_answer_reaches_the_call_that_asked(self, store: type[MemoryStore]) -> None:
        log: list[str] = []
        async with McpServer.in_process(create_desk(log), protocol="legacy") as server:
            context = over(ScriptedModel(ToolCall("book"), "done"), store())
            agent = Agent("Host", tools=[server])
            result = await agent.run("book", context=context)
            for name in ("Ada", "Bob"):
                assert result.status is RunStatus.WAITING
                result = await agent.resume(result.run_id, {result.pending[0].id: {"name": name}}, context=context)
        assert read_last_result(result).content == "Ada and Bob"
        assert [entry.split()[0] for entry in log] == ["reserve", "accept", "accept"]

    async def test_a_wrong_answer_keeps_the_call_open(self) -> None:
        log: list[str] = []
        async with McpServer.in_process(create_desk(log), protocol="legacy") as server:
            context = over(ScriptedModel(ToolCall("book"), "done"), MemoryStore())
            agent = Agent("Host", tools=[server])
            result = await agent.run("book", context=context)
            for answer in ({"age": "old"}, {"name": "Ada"}, reject("alone")):
                result = await agent.resume(result.run_id, {result.pending[0].id: answer}, context=context)
        assert read_last_result(result).content == "Ada and nobody"
        assert [entry.split()[0] for entry in log] == ["reserve", "accept", "decline"]

    async def test_a_call_that_has_ended_is_not_made_again(self) -> None:
        log: list[str] = []
        store = MemoryStore()
        async with McpServer.in_process(create_desk(log), protocol="legacy") as server:
            asking = over(ScriptedModel(ToolCall("book")), store)
            waiting = await Agent("Host", tools=[server]).run("book", context=asking)
        async with McpServer.in_process(create_desk(log), protocol="legacy") as server:
            responses = {waiting.pending[0].id: {"name": "Ada"}}
            context = over(ScriptedModel("done"), store)
            result = await Agent("Host", tools=[server]).resume(waiting.run_id, responses, context=context)
        assert "book asked a person, and the call ended before the answer came" in read_last_result(result).content
        assert read_last_result(result).is_error
        assert len(log) == 1

    async def test_a_repeated_call_has_the_same_key(self) -> None:
        log: list[str] = []
        store = MemoryStore()
        waiting = None
        for _ in range(2):
            async with McpServer.in_process(create_desk(log), protocol="legacy", repeats_calls=True) as server:
                agent, context = Agent("Host", tools=[server]), over(ScriptedModel(ToolCall("book"), "done"), store)
                if waiting is None:
                    waiting = await agent.run("book", context=context)
                else:
                    responses = {waiting.pending[0].id: {"name": "Ada"}}
                    waiting = await agent.resume(waiting.run_id, responses, context=context)
        keys = [entry for entry in log if entry.startswith("reserve")]
        assert len(keys) == 2
        assert len(set(keys)) == 1

    async def test_closing_the_server_ends_the_call(self) -> None:
        log: list[str] = []
        async with McpServer.in_process(create_desk(log), protocol="legacy", timeout=60) as server:
            await Agent("Host", tools=[server]).run(
                "book", context=over(ScriptedModel(ToolCall("book")), MemoryStore())
            )
        assert not [task for task in asyncio.all_tasks() if "call_tool" in repr(task)]


@pytest.mark.filterwarnings("ignore:The sampling capability")
async def test_the_model_answers_a_bounded_number_of_times() -> None:
    server: MCPServer[object] = MCPServer("greedy", log_level="CRITICAL")

    @server.tool()
    async def think(ctx: Context[object, object]) -> str:
        """Asks for ever."""
        answers = 0
        with suppress(MCPError):
            while True:
                await ctx.session.create_message(_THOUGHTS, max_tokens=10)
                answers += 1
        return str(answers)

    model = ScriptedModel(ToolCall("think"), *["thought"] * 3, "done")
    async with McpServer.in_process(server, protocol="legacy", max_samples=3) as opened:
        result = await Agent("Host", tools=[opened], model=model).run("think")
    assert read_last_result(result).content == "3"
