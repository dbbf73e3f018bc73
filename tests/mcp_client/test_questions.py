"""Questions of servers while a tool runs: to people, for whom the run waits, and to the agent's model."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tactician import Agent, Budget, RunContext, RunStatus, reject
from tactician.errors import TacticianError
from tactician.llm import ToolResult, join_text
from tactician.mcp import McpServer
from tactician.runs import RunResult
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.mcp_client.demo import Demo
from tests.support.stored import JsonStore

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
    async with McpServer.in_process(demo.server, protocol=era) as server:
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
