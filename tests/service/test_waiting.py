"""Requests that wait for an approval, or for their caller, and go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tactician import Agent, AgentService, Platform, RunStatus, approve, handoff, reject, runnable, tool
from tactician.conversation import Conversation, ConversationStore
from tactician.errors import (
    AgentNotFoundError,
    ConversationNotFoundError,
    ModelServerError,
    RunConflictError,
    RunNotFoundError,
)
from tactician.llm.messages import messages_to_json
from tactician.runs import RunContext
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import DeclaredTool
from tactician.tools.traits import ToolTraits
from tests.service.test_conversations import said


@tool(needs_approval=True)
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"{path} is gone"


async def test_a_request_waits_for_an_approval_and_goes_on() -> None:
    model = ScriptedModel(ToolCall("delete_file", path="a.txt"), "Done.", "Yes.")
    service = AgentService(model).register(Agent("a", tools=[delete_file]))
    conversation_id = service.create_conversation()
    waiting = await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
    assert waiting.status is RunStatus.WAITING
    assert said(await service.conversation(conversation_id)) == ["Delete a.txt", ""]

    result = await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})
    assert (result.output, result.run_id) == ("Done.", waiting.run_id)
    await service.request_agent("a", "Is it gone?", conversation_id=conversation_id)
    conversation = await service.conversation(conversation_id)
    assert said(conversation) == ["Delete a.txt", "", "a.txt is gone", "Done.", "Is it gone?", "Yes."]
    with pytest.raises(RunNotFoundError):
        await service.resume(waiting.run_id, {})


async def test_without_a_conversation_it_is_the_same() -> None:
    model = ScriptedModel(ToolCall("delete_file", path="a.txt"), "As you like.")
    service = AgentService(model).register(Agent("a", tools=[delete_file], instructions="Help {{name}}."))
    waiting = await service.request_agent("a", "Delete a.txt", variables={"name": "Ada"})
    result = await service.resume(waiting.run_id, {waiting.pending[0].id: reject("it is mine")})
    assert result.output == "As you like."
    assert "it is mine" in model.calls[1].prompt
    assert model.calls[1].messages[0].role == "system"
    assert model.calls[1].messages[0].text == "Help Ada."


async def test_a_conversation_that_waits_takes_no_other_request() -> None:
    model = ScriptedModel(ToolCall("delete_file", path="a.txt"), "Done.")
    service = AgentService(model).register(Agent("a", tools=[delete_file]))
    conversation_id = service.create_conversation()
    waiting = await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
    with pytest.raises(RunConflictError, match=f"waits for the run {waiting.run_id}"):
        await service.request_agent("a", "Hello?", conversation_id=conversation_id)
    await service.insert_message(conversation_id, "user", "Hurry.")
    await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})
    assert said(await service.conversation(conversation_id)) == [
        "Delete a.txt", "", "a.txt is gone", "Hurry.", "Done.",
    ]  # fmt: skip


async def test_a_request_can_wait_twice() -> None:
    model = ScriptedModel(ToolCall("delete_file", path="a"), ToolCall("delete_file", path="b"), "Done.")
    service = AgentService(model).register(Agent("a", tools=[delete_file]))
    conversation_id = service.create_conversation()
    first = await service.request_agent("a", "Delete both", conversation_id=conversation_id)
    second = await service.resume(first.run_id, {first.pending[0].id: approve()})
    assert (second.status, second.run_id) == (RunStatus.WAITING, first.run_id)
    assert said(await service.conversation(conversation_id)) == ["Delete both", "", "a is gone", ""]
    assert (await service.resume(first.run_id, {second.pending[0].id: approve()})).output == "Done."
    assert said(await service.conversation(conversation_id))[-2:] == ["b is gone", "Done."]


async def test_another_process_can_go_on(tmp_path: Path) -> None:
    agent = Agent("a", tools=[delete_file])
    async with SqliteStore(tmp_path / "talks.db") as store:
        model = ScriptedModel(ToolCall("delete_file", path="a.txt"))
        service = AgentService(Platform(model, store=store)).register(agent)
        conversation_id = service.create_conversation()
        waiting = await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
    async with SqliteStore(tmp_path / "talks.db") as store:
        service = AgentService(Platform(ScriptedModel("Done."), store=store)).register(agent)
        await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})
        assert said(await service.conversation(conversation_id))[-1] == "Done."
        (record,) = await RunStore(store).find()
        assert (record.run_id, record.kind, record.status) == (waiting.run_id, "request", RunStatus.COMPLETED)


async def test_a_conversation_whose_run_was_lost_goes_on() -> None:
    store = MemoryStore()
    model = ScriptedModel(ToolCall("delete_file", path="a.txt"), "Hello.")
    agent = Agent("a", tools=[delete_file])
    service = AgentService(Platform(model, store=store)).register(agent)
    conversation_id = service.create_conversation()
    await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
    restarted = AgentService(Platform(model, store=await copy_of(store, conversation_id))).register(agent)
    await restarted.request_agent("a", "Hello?", conversation_id=conversation_id)
    assert said(await restarted.conversation(conversation_id)) == [
        "Delete a.txt", "", "Not run: the run was lost.", "Hello?", "Hello.",
    ]  # fmt: skip


async def copy_of(store: MemoryStore, conversation_id: str) -> MemoryStore:
    """Return a store that has the conversation and nothing else."""
    conversation = await ConversationStore(store).load(conversation_id)
    assert conversation is not None
    other = MemoryStore()
    await ConversationStore(other).save(Conversation.from_json(conversation.to_json()))
    return other


async def test_a_request_that_fails_after_it_waited_still_waits() -> None:
    model = ScriptedModel(ToolCall("delete_file", path="a.txt"), ModelServerError("down"), "Done.")
    service = AgentService(model).register(Agent("a", tools=[delete_file]))
    conversation_id = service.create_conversation()
    waiting = await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
    with pytest.raises(ModelServerError):
        await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})
    assert (await service.resume(waiting.run_id, {})).output == "Done."
    assert said(await service.conversation(conversation_id)) == ["Delete a.txt", "", "a.txt is gone", "Done."]


async def test_one_to_whom_the_work_was_handed_over_can_wait() -> None:
    model = ScriptedModel(ToolCall("transfer_to_janitor"), ToolCall("delete_file", path="a"), "Clean.", "Bye.")
    service = AgentService(model).register(Agent("desk", handoffs=[handoff(Agent("janitor", tools=[delete_file]))]))
    conversation_id = service.create_conversation()
    waiting = await service.request_agent("desk", "Clean up", conversation_id=conversation_id)
    await service.insert_message(conversation_id, "user", "Hurry.")
    with pytest.raises(RunConflictError):
        await service.request_agent("desk", "Hello?", conversation_id=conversation_id)
    result = await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})
    assert (result.output, result.delegation_path) == ("Clean.", ("desk", "janitor"))
    await service.request_agent("desk", "Thanks", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id)) == [
        "Clean up", "", "Handed over to janitor.", "Hurry.", "Clean.", "Thanks", "Bye.",
    ]  # fmt: skip


async def test_any_runnable_can_wait_in_a_conversation() -> None:
    agent = Agent("inner", tools=[delete_file])

    async def wrapper(text: object, context: RunContext) -> str:
        return (await agent.run("Delete it", context=context)).output

    service = AgentService(ScriptedModel(ToolCall("delete_file", path="a"), "Clean.")).register(runnable(wrapper))
    conversation_id = service.create_conversation()
    waiting = await service.request_agent("wrapper", "Go", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id)) == []
    result = await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})
    assert result.output == "Clean."
    assert said(await service.conversation(conversation_id)) == ["Go", "Clean."]


@pytest.mark.parametrize("store", [None, MemoryStore()])
async def test_a_conversation_that_is_deleted_while_it_waits_gives_the_run_up(store: MemoryStore | None) -> None:
    model = ScriptedModel(ToolCall("delete_file", path="a.txt"))
    service = AgentService(Platform(model, store=store)).register(Agent("a", tools=[delete_file]))
    conversation_id = service.create_conversation()
    waiting = await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
    await service.delete_conversation(conversation_id)
    left = [record.status for record in await RunStore(service.platform.store).find()]
    assert left == ([] if store is None else [RunStatus.KILLED])
    assert await ConversationStore(service.platform.store).ids() == ()
    with pytest.raises(RunNotFoundError):
        await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})


async def test_a_conversation_that_its_store_has_lost_is_an_error() -> None:
    store = MemoryStore()
    model = ScriptedModel(ToolCall("delete_file", path="a.txt"))
    service = AgentService(Platform(model, store=store)).register(Agent("a", tools=[delete_file]))
    conversation_id = service.create_conversation()
    waiting = await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
    await ConversationStore(store).delete(conversation_id)
    with pytest.raises(ConversationNotFoundError):
        await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})


async def test_a_function_that_nobody_executes_is_for_the_caller() -> None:
    get_weather = DeclaredTool("get_weather", "Weather", traits=ToolTraits(client_side=True))
    model = ScriptedModel(ToolCall("get_weather", location="London"), "It rains.")
    service = AgentService(model).register(Agent("weather-bot", tools=[get_weather]))
    waiting = await service.request_agent("weather_bot", "What's the weather in London?")
    call = waiting.pending[0].call
    assert call is not None
    assert (call.name, call.parse_arguments()) == ("get_weather", {"location": "London"})
    assert (await service.resume(waiting.run_id, {waiting.pending[0].id: "rain"})).output == "It rains."
    assert "rain" in messages_to_json(model.calls[1].messages)


async def test_the_caller_can_execute_functions_after_a_wait_too() -> None:
    tools = [DeclaredTool("search", "Searches", traits=ToolTraits(client_side=True)), delete_file]
    model = ScriptedModel(ToolCall("delete_file", path="a"), ToolCall("search"), "Done.")
    service = AgentService(model).register(Agent("a", tools=tools))
    waiting = await service.request_agent("a", "Go", execute=lambda call: "wrong")
    responses = {waiting.pending[0].id: approve()}
    result = await service.resume(waiting.run_id, responses, execute=lambda call: f"executed {call.name}")
    assert result.output == "Done."
    assert "executed search" in model.calls[2].prompt


async def test_a_request_to_a_model_waits_in_its_own_service() -> None:
    store = MemoryStore()
    model = ScriptedModel(ToolCall("delete_file", path="a"), "Done.")
    service = AgentService(Platform(model, store=store))
    waiting = await service.request_model("gpt-5.4", "Delete a", tools=[delete_file])
    responses = {waiting.pending[0].id: approve()}
    with pytest.raises(AgentNotFoundError, match=r"a request to the model gpt-5\.4"):
        await AgentService(Platform(ScriptedModel(), store=store)).resume(waiting.run_id, responses)
    assert (await service.resume(waiting.run_id, responses)).output == "Done."
