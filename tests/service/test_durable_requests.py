"""Requests as durable runs: any worker of the service continues them, and their conversation waits for them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tactician import Agent, AgentService, Platform, RunStatus, approve, tool
from tactician.conversation import Conversation, ConversationStore
from tactician.errors import (
    ConversationNotFoundError,
    LeaseLostError,
    ModelServerError,
    RunConflictError,
    RunNotFoundError,
    StoredStateError,
    StoreError,
)
from tactician.llm import UserMessage
from tactician.llm.messages import SystemMessage
from tactician.platform import Worker
from tactician.runs import RunKilledError
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore, SqliteStore
from tactician.stores.document import Body, StoredDocument
from tactician.testing import ScriptedModel, ToolCall
from tests.service.cashier import MortalStore
from tests.service.test_conversations import Slow, said
from tests.service.test_waiting import delete_file


async def interrupt(service: AgentService, model: Slow, agent: str = "a", **options: str) -> str:
    """Make a request, and end the program in the middle of it. Return the id of the run."""
    asking = asyncio.create_task(service.request_agent(agent, "first", conversation_id=options.get("conversation_id")))
    await model.asked.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    (record,) = await RunStore(service.platform.store).find(statuses=["running"])
    assert record.was_interrupted
    return record.run_id


async def test_a_request_that_waits_is_one_run_that_is_resumed_by_its_id(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "talks.db") as store:
        model = ScriptedModel(ToolCall("delete_file", path="a.txt"), "Done.")
        service = AgentService(Platform(model, store=store)).register(Agent("a", tools=[delete_file]))
        conversation_id = service.create_conversation()
        await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
        (record,) = await Platform(model, store=store).list_waiting_runs()
        assert (record.name, record.kind) == ("a", "request")
        result = await service.resume(record.id, {record.pending[0].id: approve()})
        assert (result.output, result.run_id) == ("Done.", record.id)
        assert await Platform(model, store=store).list_waiting_runs() == []


@pytest.mark.parametrize("is_in_conversation", [True, False])
async def test_a_worker_continues_a_request_that_was_interrupted(is_in_conversation: bool) -> None:
    store, model = MemoryStore(), Slow("never")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    options = {"conversation_id": conversation_id} if is_in_conversation else {}
    run_id = await interrupt(service, model, **options)
    elsewhere = AgentService(Platform(ScriptedModel("one"), store=store)).register(Agent("a"))
    worker = Worker(elsewhere.platform)
    assert await worker.run_once()
    assert not await worker.run_once()
    record = await RunStore(store).load(run_id)
    assert record is not None
    assert (record.status, record.header.output) == (RunStatus.COMPLETED, "one")
    if is_in_conversation:
        assert said(await elsewhere.conversation(conversation_id)) == ["first", "one"]


async def test_a_conversation_in_which_another_program_answers_takes_no_request() -> None:
    store, model = MemoryStore(), Slow("one", "two")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    asking = asyncio.create_task(service.request_agent("a", "1", conversation_id=conversation_id))
    await model.asked.wait()
    other = AgentService(Platform(ScriptedModel("three"), store=store)).register(Agent("a"))
    with pytest.raises(
        RunConflictError, match=r"waits for the run .*, which is running: wait until that run has ended"
    ):
        await other.request_agent("a", "2", conversation_id=conversation_id)
    assert len(await RunStore(store).find()) == 1
    model.may_answer.set()
    await asking
    await other.request_agent("a", "2", conversation_id=conversation_id)
    assert said(await other.conversation(conversation_id)) == ["1", "one", "2", "three"]


async def wait_for_approval(service: AgentService, conversation_id: str) -> str:
    waiting = await service.request_agent("a", "Delete a.txt", conversation_id=conversation_id)
    assert waiting.status is RunStatus.WAITING
    return waiting.run_id


async def test_a_run_that_was_killed_frees_its_conversation() -> None:
    store, model = MemoryStore(), ScriptedModel(ToolCall("delete_file", path="a"), "Hello.")
    service = AgentService(Platform(model, store=store)).register(Agent("a", tools=[delete_file]))
    conversation_id = service.create_conversation()
    run_id = await wait_for_approval(service, conversation_id)
    await Platform(model, store=store).kill(run_id)
    await service.request_agent("a", "Hello?", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id)) == [
        "Delete a.txt", "", "Not run: the run was lost.", "Hello?", "Hello.",
    ]  # fmt: skip
    with pytest.raises(RunNotFoundError):
        await service.resume(run_id, {})


async def test_runs_that_were_pruned_or_failed_free_their_conversations() -> None:
    store = MemoryStore()
    model = ScriptedModel("one", ModelServerError("down"), "three")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    await service.request_agent("a", "1", conversation_id=conversation_id)
    assert await Platform(model, store=store).prune(timedelta(0)) == 1
    with pytest.raises(ModelServerError):
        await service.request_agent("a", "2", conversation_id=conversation_id)
    await service.request_agent("a", "3", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id)) == ["1", "one", "2", "3", "three"]


@pytest.mark.parametrize("change", ["remove", "truncate"])
async def test_what_is_removed_while_a_request_waits_stays_removed(change: str) -> None:
    model = ScriptedModel("zero", ToolCall("delete_file", path="a"), "Done.")
    service = AgentService(model).register(Agent("a", tools=[delete_file]))
    conversation_id = service.create_conversation()
    old = await service.insert_message(conversation_id, "system", "old")
    await service.request_agent("a", "0", conversation_id=conversation_id)
    run_id = await wait_for_approval(service, conversation_id)
    if change == "remove":
        await service.remove_message(conversation_id, old)
    else:
        await service.truncate_conversation(conversation_id, 2)
    await service.insert_message(conversation_id, "user", "Hurry.")
    (record,) = await RunStore(service.platform.store).find()
    await service.resume(run_id, {record.header.pending[0].id: approve()})
    before = ["0", "zero"] if change == "remove" else ["old"]
    assert said(await service.conversation(conversation_id)) == [
        *before, "Delete a.txt", "", "a is gone", "Hurry.", "Done.",
    ]  # fmt: skip


async def test_what_is_removed_while_an_agent_answers_stays_removed() -> None:
    store = MemoryStore()

    @tool(needs_approval=True)
    async def tidy() -> str:
        """Tidies up."""
        return "tidy"

    @tool
    async def forget() -> str:
        """Forgets."""
        await service.remove_message(conversation_id, old)
        return "forgotten"

    model = ScriptedModel(ToolCall("forget"), ToolCall("tidy"), "Done.")
    service = AgentService(Platform(model, store=store)).register(Agent("a", tools=[tidy, forget]))
    conversation_id = service.create_conversation()
    old = await service.insert_message(conversation_id, "system", "old")
    waiting = await service.request_agent("a", "Go", conversation_id=conversation_id)
    await service.resume(waiting.run_id, {waiting.pending[0].id: approve()})
    assert said(await service.conversation(conversation_id)) == ["Go", "", "forgotten", "", "tidy", "Done."]


async def test_a_request_to_a_model_is_continued_anywhere() -> None:
    store, model = MemoryStore(), Slow("never")
    service = AgentService(Platform(model, store=store))
    asking = asyncio.create_task(service.request_model("scripted", "Hi", instructions="Be brief.", max_tokens=7))
    await model.asked.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    answering = ScriptedModel("Yes?")
    assert await Worker(Platform(answering, store=store)).run_once()
    (record,) = await RunStore(store).find()
    assert (record.status, record.header.output) == (RunStatus.COMPLETED, "Yes?")
    assert answering.calls[0].messages[0] == SystemMessage("Be brief.")
    assert answering.calls[0].options.max_tokens == 7


async def test_a_worker_leaves_what_it_cannot_continue_as_it_is() -> None:
    store, model = MemoryStore(), Slow("never")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    await interrupt(service, model, conversation_id=conversation_id)
    lacking = Worker(Platform(ScriptedModel(), store=store))
    assert not await lacking.run_once()
    (record,) = await RunStore(store).find()
    assert (record.status, record.is_leased) == (RunStatus.RUNNING, False)
    assert await Worker(Platform(ScriptedModel("one"), store=store).register(Agent("a"))).run_once()
    assert said(await service.conversation(conversation_id)) == ["first", "one"]


async def test_a_request_whose_conversation_was_deleted_is_not_continued() -> None:
    store, model = MemoryStore(), Slow("never")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    run_id = await interrupt(service, model, conversation_id=conversation_id)
    await ConversationStore(store).delete(conversation_id)
    claimed = await RunStore(store).claim("w", 30.0, run_id=run_id)
    assert claimed is not None
    with pytest.raises(ConversationNotFoundError):
        await service.platform.continue_claimed(*claimed)


async def test_a_request_that_cannot_be_read_is_named() -> None:
    store, model = MemoryStore(), Slow("never")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    run_id = await interrupt(service, model)
    record = await RunStore(store).load(run_id)
    assert record is not None
    assert record.snapshot is not None
    broken = record.snapshot.to_json().replace('"agent":"a"', '"agent":{}')
    await RunStore(store).save(replace(record, body=broken))
    claimed = await RunStore(store).claim("w", 30.0, run_id=run_id)
    assert claimed is not None
    with pytest.raises(StoredStateError, match="input of the run cannot be read: agent: Input should be a valid"):
        await service.platform.continue_claimed(*claimed)
    assert not (await RunStore(store).find())[0].is_leased


class CountingStore(MemoryStore):
    """A store that counts how often a whole conversation is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def load(self, collection: str, id: str, *, with_body: bool = True) -> StoredDocument | None:
        self.reads += collection == "conversations" and with_body
        return await super().load(collection, id, with_body=with_body)


async def test_a_conversation_is_read_again_only_when_another_program_has_changed_it() -> None:
    store = CountingStore()
    services = [AgentService(Platform(ScriptedModel(*"abcdefgh"), store=store)).register(Agent("a")) for _ in range(2)]
    conversation_id = services[0].create_conversation()
    for number, (place, reads) in enumerate([(0, 0), (0, 0), (1, 1), (1, 1), (0, 2), (0, 2)]):
        await services[place].request_agent("a", f"{number}", conversation_id=conversation_id)
        assert store.reads == reads
    for service in services:
        conversation = await service.conversation(conversation_id)
        assert said(conversation) == ["0", "a", "1", "b", "2", "a", "3", "b", "4", "c", "5", "d"]
    await services[1].delete_conversation(conversation_id)
    with pytest.raises(ConversationNotFoundError):
        await services[0].conversation(conversation_id)


async def test_long_conversations_that_nobody_uses_leave_the_memory() -> None:
    store = CountingStore()
    service = AgentService(Platform(ScriptedModel("a", "b", "c"), store=store)).register(Agent("a"))
    long = Conversation([UserMessage("x")] * 20_000, id="long")
    await ConversationStore(store).save(long)
    short = service.create_conversation()
    await service.request_agent("a", "1", conversation_id=short)
    await service.request_agent("a", "2", conversation_id="long")
    await service.request_agent("a", "3", conversation_id="long")
    assert store.reads == 2


async def test_a_change_that_could_not_be_saved_is_no_part_of_the_conversation() -> None:
    store = MortalStore(MemoryStore(), 5)
    service = AgentService(Platform(ScriptedModel("a"), store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    await service.insert_message(conversation_id, "user", "kept")
    store.is_dead = True
    with pytest.raises(StoreError):
        await service.insert_message(conversation_id, "user", "lost")
    store.is_dead = False
    assert said(await service.conversation(conversation_id)) == ["kept"]


class Interfering(MemoryStore):
    """A store in which somebody else changes a conversation right before it is saved."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[str] = []

    async def add_step(self, document: StoredDocument, body: Body) -> StoredDocument:
        if self.changes:
            text, *later = self.changes
            self.changes = []  # nobody interferes with the one who does
            elsewhere = ConversationStore(self)
            same = await elsewhere.load(document.id)
            assert same is not None
            same.insert(UserMessage(text))
            await elsewhere.save(same)
            self.changes = later
        return await super().add_step(document, body)


async def test_what_is_inserted_elsewhere_as_a_request_begins_is_not_lost() -> None:
    store = Interfering()
    service = AgentService(Platform(ScriptedModel("Hello."), store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    await service.insert_message(conversation_id, "system", "Be quick.")
    store.changes = ["one", "two"]
    await service.request_agent("a", "Hi", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id))[1:] == ["one", "two", "Hi", "Hello."]


async def test_a_worker_that_has_lost_its_run_leaves_the_conversation_to_the_next_one() -> None:
    now = 1000.0
    store, model = MemoryStore(time=lambda: now), Slow("late")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    asking = asyncio.create_task(service.request_agent("a", "Hi", conversation_id=conversation_id))
    await model.asked.wait()
    now += 3600
    other = AgentService(Platform(ScriptedModel("Hello."), store=store)).register(Agent("a"))
    assert await Worker(other.platform).run_once()
    model.may_answer.set()
    with pytest.raises(LeaseLostError):
        await asking
    assert said(await other.conversation(conversation_id)) == ["Hi", "Hello."]


async def test_a_run_that_is_killed_while_it_runs_leaves_what_was_said() -> None:
    store, model = MemoryStore(), Slow("late", "Hello.")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    asking = asyncio.create_task(service.request_agent("a", "Hi", conversation_id=conversation_id))
    await model.asked.wait()
    (record,) = await RunStore(store).find()
    await Platform(model, store=store).kill(record.run_id, "too slow")
    model.may_answer.set()
    with pytest.raises(RunKilledError, match="too slow"):
        await asking
    await service.request_agent("a", "Again", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id))[0] == "Hi"
    assert said(await service.conversation(conversation_id))[-2:] == ["Again", "Hello."]
