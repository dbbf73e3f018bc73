"""Processes by hand: step by step, waited for, and found inside each other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import (
    OperationContext,
    PlannedAgent,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    condition,
    planned_agent,
)
from tactician.errors import StoreError
from tactician.events import Event
from tactician.process import AgentProcess, ProcessEnded, ProcessStarted
from tactician.runs import RunContext
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import Lease, StoredDocument, StoredStep
from tactician.testing import ScriptedModel
from tests.agents.running import steps
from tests.support.stored import JsonStore, resume


@dataclass
class Draft:
    text: str


@dataclass
class Book:
    text: str


@planned_agent(description="writes in two steps")
class Author:
    @action
    def draft(self, topic: UserInput) -> Draft:
        return Draft(topic.content)

    @achieves_goal("published")
    @action
    def publish(self, draft: Draft) -> Book:
        return Book(draft.text)


def process_of(agent: object, events: list[Event] | None = None) -> AgentProcess:
    sink = None if events is None else events.append
    return PlannedAgent(agent).create_process("frogs", context=RunContext.over(ScriptedModel(), sink))


async def test_a_process_is_run_step_by_step() -> None:
    events: list[Event] = []
    process = process_of(Author(), events)
    seen = []
    for _ in range(4):
        await process.tick()
        seen.append((str(process.status), len(process.history)))
    assert seen == [("running", 1), ("running", 2), ("completed", 2), ("completed", 2)]
    assert process.result == Book("frogs")
    assert [type(event) for event in events if isinstance(event, ProcessStarted | ProcessEnded)] == [
        ProcessStarted,
        ProcessEnded,
    ]


async def test_run_goes_on_after_a_step() -> None:
    process = process_of(Author())
    await process.tick()
    await process.run()
    assert process.status is ProcessStatus.COMPLETED
    assert steps(process) == ["draft", "publish"]


async def test_a_step_that_waits_is_answered_and_followed_by_the_next() -> None:
    @planned_agent(description="asks")
    class Asker:
        @achieves_goal("asked")
        @action
        async def ask(self, topic: UserInput) -> str:
            return await ask_human(str, "Well?")

    process = process_of(Asker())
    await process.tick()
    assert process.status is ProcessStatus.WAITING
    await process.tick()
    assert process.status is ProcessStatus.WAITING
    process.answer(process.pending[0].id, "yes")
    await process.tick()
    await process.tick()
    assert process.result == "yes"


async def test_planning_that_fails_in_a_step_ends_the_process() -> None:
    @planned_agent(description="cannot tell")
    class Unsure:
        @condition
        def ready(self, topic: UserInput) -> bool:
            raise ValueError("who knows?")

        @achieves_goal("done")
        @action(pre=["ready"])
        def work(self, topic: UserInput) -> str:
            raise AssertionError("it is never ready")

    process = process_of(Unsure())
    await process.tick()
    assert process.status is ProcessStatus.FAILED
    assert process.failure is not None
    assert "who knows?" in process.failure


async def test_a_step_is_paused_and_killed_like_a_run() -> None:
    process = process_of(Author())
    process.pause()
    await process.tick()
    assert process.status is ProcessStatus.PAUSED
    await process.tick()
    assert str(process.status) == "running"
    await process.kill("enough")
    await process.tick()
    assert (process.status, process.failure) == (ProcessStatus.KILLED, "enough")


async def test_steps_are_kept() -> None:
    store = JsonStore()
    first, second = (Platform(ScriptedModel(), store=store).register(Author()) for _ in range(2))
    process = await first.process(await first.enqueue("Author", "frogs"))
    await process.tick()
    assert steps(await second.process(process.id)) == ["draft"]
    done = await resume(second, process.id)
    assert (done.status, steps(done)) == (ProcessStatus.COMPLETED, ["draft", "publish"])


@planned_agent(description="waits to be let go")
class Slow:
    def __init__(self) -> None:
        self.entered, self.may_go_on = asyncio.Event(), asyncio.Event()

    @action
    async def draft(self, topic: UserInput) -> Draft:
        self.entered.set()
        await self.may_go_on.wait()
        return Draft(topic.content)

    @achieves_goal("published")
    @action
    def publish(self, draft: Draft) -> Book:
        return Book(draft.text)


async def test_a_spawned_process_is_waited_for() -> None:
    slow = Slow()
    platform = Platform(ScriptedModel())
    process = await platform.spawn(slow, "frogs", options=ProcessOptions(memory_id="c"))
    waiting = asyncio.create_task(process.wait())
    await slow.entered.wait()
    assert not waiting.done()
    slow.may_go_on.set()
    assert (await waiting).result == Book("frogs")
    assert await process.wait() is process
    assert await platform.store.load("memories", "c") is not None, "what it has found out is known to the next one"


async def test_one_that_is_killed_is_finished() -> None:
    slow = Slow()
    platform = Platform(ScriptedModel())
    process = await platform.spawn(slow, "frogs")
    await slow.entered.wait()
    waiting = asyncio.create_task(process.wait())
    await platform.kill(process.id, "too slow")
    assert (await waiting).failure == "too slow"


async def test_one_that_was_killed_before_it_began_is_finished() -> None:
    process = process_of(Author())
    waiting = asyncio.create_task(process.wait())
    await process.kill("not wanted")
    assert (await waiting).status is ProcessStatus.KILLED


async def test_who_waits_can_give_up_and_the_process_goes_on() -> None:
    slow = Slow()
    process = await Platform(ScriptedModel()).spawn(slow, "frogs")
    waiting = asyncio.create_task(process.wait())
    await slow.entered.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    slow.may_go_on.set()
    assert (await process.wait()).status is ProcessStatus.COMPLETED


async def test_a_process_that_is_restored_and_waits_is_finished() -> None:
    @planned_agent(description="asks")
    class Asker:
        @achieves_goal("asked")
        @action
        async def ask(self, topic: UserInput) -> str:
            return await ask_human(str, "Well?")

    store = JsonStore()
    first, second = (Platform(ScriptedModel(), store=store).register(Asker()) for _ in range(2))
    process = await first.start("Asker", "frogs")
    same = await second.process(process.id)
    assert same is not process
    assert (await same.wait()).status is ProcessStatus.WAITING


async def test_what_keeps_a_spawned_process_from_being_kept_is_told() -> None:
    class Full(MemoryStore):
        async def add_and_claim(
            self, document: StoredDocument, owner: str, seconds: float, step: StoredStep | None = None
        ) -> tuple[StoredDocument, Lease]:
            raise StoreError("the disk is full")

    process = await Platform(ScriptedModel(), store=Full()).register(Author()).spawn("Author", "frogs")
    with pytest.raises(StoreError, match="the disk is full"):
        await process.wait()


@pytest.mark.parametrize("store", [None, MemoryStore()])
@pytest.mark.parametrize("depth", [1, 2])
async def test_a_process_is_killed_by_one_inside_it(store: MemoryStore | None, depth: int) -> None:
    @planned_agent(description="ends the outermost")
    class Ender:
        @achieves_goal("ended")
        @action
        async def end(self, topic: UserInput) -> int:
            await platform.kill(outermost[0], "enough")
            return 1

    @planned_agent(description="lets another one work")
    class Publisher:
        def __init__(self, depth: int = depth) -> None:
            self.inner = Publisher(depth - 1) if depth > 1 else Ender()

        @achieves_goal("sold")
        @action
        async def sell(self, topic: UserInput, process: AgentProcess, context: OperationContext) -> int:
            outermost.append(process.id)
            return await context.run_agent(self.inner, int, topic)

    outermost: list[str] = []
    platform = Platform(ScriptedModel(), store=store).register(Publisher())
    process = await platform.start("Publisher", "frogs")

    assert (process.status, process.failure) == (ProcessStatus.KILLED, "enough")
    assert steps(process) == ["sell"], "what it does is done to its end"
    if store is not None:
        record = await RunStore(store).load(process.id)
        assert record is not None
        assert record.status == "killed"


async def test_parents_and_children_know_each_other() -> None:
    slow = Slow()

    @planned_agent(description="lets another one write")
    class Publisher:
        @achieves_goal("sold")
        @action
        async def sell(self, topic: UserInput, context: OperationContext) -> str:
            return (await context.run_agent(slow, Book, topic)).text

    events: list[Event] = []
    platform = Platform(ScriptedModel(), on_event=events.append)
    process = await platform.spawn(Publisher(), "frogs")
    assert process.parent_id is None
    await slow.entered.wait()
    (child,) = process.children
    assert (child.agent, child.status) == ("Slow", ProcessStatus.RUNNING)
    slow.may_go_on.set()
    await process.wait()
    (ended,) = process.children
    assert (ended.id, ended.status) == (child.id, ProcessStatus.COMPLETED)
    assert ended == process.history[0].children[0]


async def test_a_child_names_the_process_around_it() -> None:
    seen: list[tuple[str | None, str]] = []

    @planned_agent(description="is inside")
    class Inner:
        @achieves_goal("seen")
        @action
        def look(self, topic: UserInput, process: AgentProcess) -> Draft:
            seen.append((process.parent_id, process.id))
            return Draft("seen")

    @planned_agent(description="is outside")
    class Outer:
        @achieves_goal("seen")
        @action
        async def look(self, topic: UserInput, context: OperationContext) -> Book:
            first = await context.run_agent(Inner(), Draft, topic)
            [second] = await context.parallel_map([topic], lambda one: context.run_agent(Inner(), Draft, one))
            return Book(first.text + second.text)

    process = await Platform(ScriptedModel()).start(Outer(), "x")
    assert process.parent_id is None
    assert [parent for parent, _ in seen] == [process.id, process.id]
    assert [child.id for child in process.children] == [own for _, own in seen]
