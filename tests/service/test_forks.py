"""Requests that are answered once more, from a past step of their run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tactician import Agent, AgentService, Platform, RunStatus, approve, reject, tool
from tactician.errors import ConfigurationError, RunConflictError, RunNotFoundError
from tactician.llm import LlmOptions
from tactician.platform import Request
from tactician.runs import Input, RunResult
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.service.test_conversations import said


@tool(needs_approval=True)
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"{path} is gone"


@pytest.fixture(params=["memory", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> DocumentStore:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "runs.db")


async def conversation_of(store: DocumentStore, run_id: str) -> str:
    """The id of the conversation in which a request is answered."""
    runs = RunStore(store)
    record = await runs.load(run_id)
    assert record is not None
    conversation = Request.restore((await runs.load_state(record)).start).conversation
    assert conversation is not None
    return conversation


async def fork_request(
    service: AgentService,
    run_id: str,
    *,
    at: int | None = None,
    model: str | None = None,
    input: Input = None,
    responses: Mapping[str, Response] | None = None,
) -> RunResult[object]:
    """Fork the run of a request."""
    fork = await service.platform.fork(run_id, at=at, model=model, input=input, responses=responses or {})
    assert isinstance(fork, RunResult)
    return fork


async def test_a_request_gets_another_answer(store: DocumentStore) -> None:
    model = ScriptedModel().when(prompt_contains="toads").reply("Toads crawl.")
    model.when(prompt_contains="frogs").reply("Frogs hop.")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    result = await service.request_agent("a", "frogs")

    assert (await fork_request(service, result.run_id)).output == "Frogs hop."
    assert (await fork_request(service, result.run_id, input="toads")).output == "Toads crawl."


async def test_another_decision_and_the_conversation_stays_as_it_is(store: DocumentStore) -> None:
    steps = "Hello.", ToolCall("delete_file", path="a.txt"), "Done.", "You are welcome.", "As you like.", "Bye."
    service = AgentService(Platform(ScriptedModel(*steps), store=store)).register(Agent("a", tools=[delete_file]))
    conversation = service.create_conversation()
    await service.request_agent("a", "Hi", conversation_id=conversation)
    waiting = await service.request_agent("a", "Delete a.txt", conversation_id=conversation)
    await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})
    await service.request_agent("a", "Thanks", conversation_id=conversation)
    before = said(await service.conversation(conversation))

    fork = await fork_request(service, waiting.run_id, responses={waiting.pending[0].id: reject("it is mine")})

    assert fork.output == "As you like."
    assert said(await service.conversation(conversation)) == before
    copy = await conversation_of(store, fork.run_id)
    rejected = "Not run: the call was rejected: it is mine"
    assert said(await service.conversation(copy)) == ["Hi", "Hello.", "Delete a.txt", "", rejected, "As you like."]
    assert (await service.request_agent("a", "Well", conversation_id=copy)).output == "Bye."


async def test_a_fork_that_waits_is_resumed_by_another_service(store: DocumentStore) -> None:
    agent = Agent("a", tools=[delete_file])
    first = AgentService(Platform(ScriptedModel(ToolCall("delete_file", path="a.txt")), store=store)).register(agent)
    conversation = first.create_conversation()
    waiting = await first.request_agent("a", "Delete a.txt", conversation_id=conversation)
    fork = await fork_request(first, waiting.run_id)
    assert fork.status is RunStatus.WAITING
    assert fork.run_id != waiting.run_id

    second = AgentService(Platform(ScriptedModel("Done."), store=store)).register(agent)
    result = await second.resume(fork.run_id, {fork.pending[0].id: approve()})

    assert result.output == "Done."
    assert said(await second.conversation(conversation)) == ["Delete a.txt", ""], "the other one still waits"


async def test_another_model() -> None:
    class Models:
        def resolve(self, options: LlmOptions) -> ScriptedModel:
            return {"one": one, "two": two}[options.requested_model or "one"]

    one, two = ScriptedModel("one"), ScriptedModel("two")
    service = AgentService(Platform(Models(), store=MemoryStore()))
    result = await service.request_model("one", "x")
    assert (await fork_request(service, result.run_id, at=0, model="two")).output == "two"


async def test_a_request_that_is_no_longer_in_its_conversation() -> None:
    service = AgentService(Platform(ScriptedModel("a", "b", "c"), store=MemoryStore())).register(Agent("a"))
    conversation = service.create_conversation()
    first = await service.request_agent("a", "first", conversation_id=conversation)
    await service.request_agent("a", "second", conversation_id=conversation)
    await service.truncate_conversation(conversation, 2)
    with pytest.raises(RunConflictError, match="no longer has the request"):
        await fork_request(service, first.run_id, at=0)


async def test_mistakes() -> None:
    store = MemoryStore()
    service = AgentService(Platform(ScriptedModel("a", "b"), store=store)).register(Agent("a"))
    with pytest.raises(RunNotFoundError):
        await fork_request(service, "x")
    in_memory = AgentService(ScriptedModel("a")).register(Agent("a"))
    result = await in_memory.request_agent("a", "x")
    with pytest.raises(ConfigurationError, match="Only a store has the steps"):
        await fork_request(in_memory, result.run_id)
