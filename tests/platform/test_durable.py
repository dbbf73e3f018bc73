"""Processes that outlive their platform: kept after each step, gone on with elsewhere."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tactician import (
    Budget,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.errors import LeaseLostError, ResponseError, RunConflictError, RunNotFoundError, StoredStateError
from tactician.platform import Worker
from tactician.process import OperationContext, ask_human
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import StoredStep
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore, change_data, load_record, respond


@dataclass
class Draft:
    text: str


@dataclass
class Approved:
    text: str


@dataclass
class Printed:
    text: str


@planned_agent(description="prints what somebody approves")
class Printer:
    def __init__(self) -> None:
        self.done: list[str] = []

    @action
    def draft(self, topic: UserInput) -> Draft:
        self.done.append("draft")
        return Draft(f"about {topic.content}")

    @action
    async def approve(self, draft: Draft) -> Approved:
        self.done.append("approve")
        return Approved(await ask_human(str, f"Change {draft.text}?"))

    @achieves_goal("printed")
    @action
    def print(self, approved: Approved, draft: Draft) -> Printed:
        self.done.append("print")
        return Printed(f"{draft.text} -> {approved.text}")


def platform_over(store: MemoryStore, agent: object) -> Platform:
    return Platform(models=ScriptedModel(), store=store).register(agent)


async def test_a_process_that_waits_goes_on_on_another_platform() -> None:
    store, first, second = JsonStore(), Printer(), Printer()
    process = await platform_over(store, first).start("Printer", "frogs")
    assert process.status is ProcessStatus.WAITING

    other = platform_over(store, second)
    found = await other.process(process.id)
    assert found.pending == process.pending
    done = await respond(other, process, "better frogs")

    assert done.status is ProcessStatus.COMPLETED
    assert done.last(Printed) == Printed("about frogs -> better frogs")
    assert (first.done, second.done) == (["draft", "approve"], ["approve", "print"])
    assert [entry.action for entry in done.history] == ["draft", "approve", "print"]


async def test_a_wrong_answer_leaves_it_waiting_in_the_store() -> None:
    store = JsonStore()
    process = await platform_over(store, Printer()).start("Printer", "frogs")
    other = platform_over(store, Printer())

    with pytest.raises(ResponseError):
        await other.respond(process.id, "something else", "x")

    again = await respond(platform_over(store, Printer()), process, "ok")
    assert again.status is ProcessStatus.COMPLETED


async def test_what_was_used_counts_on() -> None:
    store = MemoryStore()
    options = ProcessOptions(budget=Budget(actions=10))
    process = await platform_over(store, Printer()).start("Printer", "frogs", options=options)

    found = await platform_over(store, Printer()).process(process.id)

    assert [entry.action for entry in found.history] == ["draft"]
    assert found.blackboard.last(Draft) == Draft("about frogs")


async def test_a_worker_takes_over_what_another_one_left() -> None:
    now = 1000.0
    store, agent = JsonStore(lambda: now), Crashing()
    task = asyncio.ensure_future(platform_over(store, agent).start("Crashing", "x"))
    await agent.in_second.wait()
    store, abandoned = copy(store), task  # what is in the store when the machine goes away
    (record,) = await RunStore(store).find()
    assert record.status == "running"

    successor = Crashing(crashes=False)
    worker = Worker(platform_over(store, successor), name="w")
    assert not await worker.run_once(), "the lease of the dead one still holds"
    now += 100
    assert await worker.run_once()

    (record,) = await RunStore(store).find()
    assert record.status == "completed"
    assert (agent.done, successor.done) == (["first", "second"], ["second"])
    abandoned.cancel()
    await asyncio.gather(abandoned, return_exceptions=True)


def copy(store: JsonStore) -> JsonStore:
    other = JsonStore(store._time)
    for name, entries in store._entries.items():
        other._entries[name] = {key: replace(entry, steps=[*entry.steps]) for key, entry in entries.items()}
    return other


@dataclass
class One:
    text: str


@dataclass
class Two:
    text: str


@planned_agent(description="dies in its second action")
class Crashing:
    def __init__(self, *, crashes: bool = True) -> None:
        self.crashes = crashes
        self.in_second = asyncio.Event()
        self.done: list[str] = []

    @action
    def first(self, topic: UserInput) -> One:
        self.done.append("first")
        return One("1")

    @achieves_goal("done")
    @action
    async def second(self, one: One) -> Two:
        self.done.append("second")
        self.in_second.set()
        if self.crashes:
            await asyncio.Event().wait()
        return Two("2")


async def test_one_that_was_fenced_out_cannot_save_any_more() -> None:
    now = 1000.0
    store = JsonStore(lambda: now)
    slow = Slow()
    task = asyncio.ensure_future(platform_over(store, slow).start("Slow", "x"))
    await slow.entered.wait()
    now += 100  # frozen for longer than its lease
    thief = Slow(waits=False)
    assert await Worker(platform_over(store, thief), name="thief").run_once()

    slow.may_go_on.set()
    with pytest.raises(LeaseLostError):
        await task

    (record,) = await RunStore(store).find()
    assert record.status == "completed"


@planned_agent(description="takes its time")
class Slow:
    def __init__(self, *, waits: bool = True) -> None:
        self.entered, self.may_go_on = asyncio.Event(), asyncio.Event()
        if not waits:
            self.may_go_on.set()

    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput) -> One:
        self.entered.set()
        await self.may_go_on.wait()
        return One("1")


async def test_killing_from_another_platform() -> None:
    store = JsonStore()
    process = await platform_over(store, Printer()).start("Printer", "frogs")

    await platform_over(store, Printer()).kill(process.id, "not needed")

    found = await platform_over(store, Printer()).process(process.id)
    with pytest.raises(RunConflictError, match="was killed"):
        await platform_over(store, Printer()).resume(process.id)
    assert found.id == process.id


async def test_two_that_respond_at_once_are_told_so() -> None:
    store = JsonStore()
    process = await platform_over(store, Printer()).start("Printer", "frogs")
    assert await RunStore(store).claim("somebody", 30, run_id=process.id) is not None

    with pytest.raises(RunConflictError, match=r"another worker is continuing it\. If that worker has died, "):
        await platform_over(store, Printer()).respond(process.id, process.pending[0].id, "x")


async def test_contexts_last_from_one_process_to_the_next() -> None:
    store, options = JsonStore(), ProcessOptions(memory_id="lynda")
    first = Crashing(crashes=False)
    await platform_over(store, first).start("Crashing", "x", options=options)

    second = Crashing(crashes=False)
    process = await platform_over(store, second).start("Crashing", "y", options=options)

    assert process.status is ProcessStatus.COMPLETED
    assert process.blackboard.all(One)[0] == One("1")
    assert "first" not in second.done, "what it needs is known already"


class Opaque:
    def __init__(self) -> None:
        self.self = self


@planned_agent(description="has something that has no JSON form")
class Odd:
    @achieves_goal("done")
    @action
    def work(self, topic: UserInput) -> Opaque:
        return Opaque()


class TestMistakes:
    async def test_no_such_process(self) -> None:
        with pytest.raises(RunNotFoundError, match="There is no run with the id 'x'"):
            await Platform(models=ScriptedModel(), store=MemoryStore()).process("x")

    @pytest.mark.parametrize("body", ["", "{}", "[]", '{"step": 99}', '{"step": 0, "start": {}, "tree": []}'])
    async def test_a_snapshot_that_cannot_be_read(self, body: str) -> None:
        store = JsonStore()
        process = await platform_over(store, Printer()).start("Printer", "frogs")
        record = await load_record(store, process.id)
        await RunStore(store).save(replace(record, body=body))

        with pytest.raises(StoredStateError, match="cannot be read"):
            await platform_over(store, Printer()).process(process.id)

    @pytest.mark.parametrize("body", ["", "{}", "[]", '{"kind": "action"}'])
    async def test_a_step_that_cannot_be_read(self, body: str) -> None:
        store = JsonStore()
        process = await platform_over(store, Printer()).start("Printer", "frogs")
        claimed = await RunStore(store).claim("somebody", 30, run_id=process.id)
        assert claimed is not None
        record, lease = claimed
        await store.append(lease, StoredStep(record.steps + 1, body))

        with pytest.raises(StoredStateError, match=f"The step {record.steps + 1} of the run cannot be read"):
            await platform_over(store, Printer()).process(process.id)

    async def test_a_type_that_the_agent_does_not_know_is_not_imported(self) -> None:
        store = JsonStore()
        process = await platform_over(store, Printer()).start("Printer", "frogs")

        def swap(data: dict[str, Any]) -> None:
            saved = [change["value"] for change in data["board"] if change["kind"] == "add"]
            next(value for value in saved if value["type"].endswith(".Draft"))["type"] = "os.system"

        await change_data(store, process.id, swap)

        with pytest.raises(StoredStateError, match=r"'os\.system', which the agent does not know"):
            await platform_over(store, Printer()).process(process.id)

    @pytest.mark.parametrize("store", [JsonStore(), MemoryStore()])
    async def test_an_object_without_a_json_form_is_named(self, store: MemoryStore) -> None:
        process = await platform_over(store, Odd()).start("Odd", "x")

        assert process.status is ProcessStatus.FAILED
        assert str(process.failure).startswith("work raised StoredStateError: `Opaque` cannot be stored: Opaque has no")
        record = await load_record(store, process.id)
        assert (record.status, record.header.failure) == (ProcessStatus.FAILED, process.failure)
        kept = await platform_over(store, Odd()).process(process.id)
        assert [type(one) for one in kept.blackboard.objects] == [UserInput]

    async def test_without_a_store_it_is_fine(self) -> None:
        process = await Platform(ScriptedModel()).start(Odd(), "x")
        assert isinstance(process.result, Opaque)

    async def test_a_step_that_cannot_be_saved_ends_the_process_with_the_last_one_that_could(self) -> None:
        @planned_agent(description="is told what no store can keep")
        class Asker:
            @action
            def draft(self, topic: UserInput) -> Draft:
                return Draft(topic.content)

            @achieves_goal("printed")
            @action
            async def print(self, draft: Draft, context: OperationContext) -> Printed:
                try:
                    return Printed(await context.ai.generate_text("Well?"))
                except StoredStateError:
                    return Printed("who cares?")

        store = JsonStore()
        platform = Platform(ScriptedModel("half of a smile: \ud83d"), store=store).register(Asker())
        process = await platform.start("Asker", "frogs")

        assert process.status is ProcessStatus.FAILED
        assert "saving failed: StoredStateError: " in str(process.failure)
        assert "surrogate" in str(process.failure)
        record = await load_record(store, process.id)
        assert (record.status, record.header.failure) == (ProcessStatus.FAILED, process.failure)
        kept = await platform_over(store, Asker()).process(process.id)
        assert (kept.status, kept.failure) == (ProcessStatus.FAILED, process.failure)
        assert kept.last(Draft) == Draft("frogs")
        with pytest.raises(RunConflictError, match="has failed"):
            await platform_over(store, Asker()).resume(process.id)


class TestKilling:
    async def test_one_that_waits_is_killed_in_the_store_too_with_the_reason(self) -> None:
        store = JsonStore()
        process = await platform_over(store, Printer()).start("Printer", "frogs")

        await platform_over(store, Printer()).kill(process.id, "not needed")

        found = await platform_over(store, Printer()).process(process.id)
        assert (found.status, found.failure) == (ProcessStatus.KILLED, "not needed")

    async def test_one_that_runs_elsewhere_ends_at_its_next_step(self) -> None:
        store, slow = JsonStore(), Slow()
        task = asyncio.ensure_future(platform_over(store, slow).start("Slow", "x"))
        await slow.entered.wait()
        (record,) = await RunStore(store).find()

        await platform_over(store, Slow()).kill(record.run_id)
        slow.may_go_on.set()

        assert (await task).status is ProcessStatus.KILLED
        (record,) = await RunStore(store).find()
        assert record.status == "killed"


async def test_options_are_kept() -> None:
    store, options = JsonStore(), ProcessOptions(budget=Budget(actions=2), max_parallel=3, delay=0.0)
    process = await platform_over(store, Printer()).start("Printer", "frogs", options=options)

    done = await respond(platform_over(store, Printer()), process, "x")

    assert done.options == options
    assert done.status is ProcessStatus.TERMINATED
