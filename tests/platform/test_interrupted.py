"""A program whose task is cancelled interrupts a process of a store, and ends one that is kept nowhere."""

from __future__ import annotations

import asyncio

import pytest

from tactician import Agent, Platform, ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tactician.errors import RunConflictError, StoreError
from tactician.events import Event
from tactician.platform import Worker
from tactician.process import AgentProcess, Blackboard, OperationContext, ProcessEnded
from tactician.runs.progress.steps import RunStep
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import Lease, StoredDocument, StoredStep
from tactician.testing import ScriptedModel


@planned_agent(description="waits until it is let go")
class Slow:
    def __init__(self) -> None:
        self.entered, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.keys: list[str] = []
        self.seen: list[int] = []

    @achieves_goal("done")
    @action
    async def work(self, wish: UserInput, board: Blackboard, context: OperationContext) -> str:
        self.keys.append(context.idempotency_key)
        self.seen.append(len(board.all(UserInput)))
        board.add(UserInput("begun"))
        self.entered.set()
        await self.may_go_on.wait()
        return "done"


async def cancelled(platform: Platform, agent: Slow) -> AgentProcess:
    """A process of the agent, whose task was cancelled while it worked."""
    running = asyncio.create_task(platform.start(agent, "x"))
    await agent.entered.wait()
    (process,) = await platform.processes()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    agent.may_go_on.set()
    return process


async def test_all_say_that_it_is_not_over() -> None:
    store, agent, events = MemoryStore(), Slow(), list[Event]()
    platform = Platform(ScriptedModel(), store=store, on_event=events.append)

    process = await cancelled(platform, agent)

    running = ProcessStatus.RUNNING
    assert (process.status, process.failure) == (running, None)
    assert [record.status for record in await RunStore(store).find()] == ["running"]
    assert (await platform.process(process.id)).status is running
    assert [one.status for one in await platform.processes()] == [running]
    (ended,) = [event for event in events if isinstance(event, ProcessEnded)]
    assert (ended.status, ended.failure) == (running, "it was interrupted")
    async with asyncio.timeout(30):
        await process.wait()


@pytest.mark.parametrize("by_worker", [False, True])
async def test_it_goes_on_from_what_was_kept(by_worker: bool) -> None:
    agent = Slow()
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(agent)
    process = await cancelled(platform, agent)

    if by_worker:
        assert await Worker(platform).run_once()
    else:
        assert (await platform.resume(process.id)).status is ProcessStatus.COMPLETED

    (listed,) = await platform.processes()
    assert (listed.status, listed.result) == (ProcessStatus.COMPLETED, "done")
    assert [run.action for run in listed.history] == ["work"]
    assert agent.seen == [1, 1], "what it did before it was interrupted was not kept"
    assert len(set(agent.keys)) == 1, "it is the same action, run again"


async def test_what_the_program_holds_of_it_does_not_go_on_beside() -> None:
    agent = Slow()
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(agent)
    process = await cancelled(platform, agent)

    with pytest.raises(
        RunConflictError, match=rf"was interrupted: `await platform.resume\('{process.id}'\)` continues"
    ):
        await process.run()

    assert await platform.kill(process.id, "enough") is ProcessStatus.KILLED
    assert (process.status, process.failure) == (ProcessStatus.KILLED, "enough")
    assert (await platform.process(process.id)).status is ProcessStatus.KILLED


class SlowStore(MemoryStore):
    """Store that keeps the last step of a run when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.answers = asyncio.Event(), asyncio.Event()

    async def append(self, lease: Lease, step: StoredStep) -> None:
        if isinstance(step.body, RunStep) and step.body.kind == "completed":
            self.asked.set()
            await self.answers.wait()
        await super().append(lease, step)


class LosingStore(MemoryStore):
    """Store that does not keep the record of a run that has ended, as when its program dies at that moment."""

    is_losing = True

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        if document.is_closed and self.is_losing:
            raise StoreError("the program dies")
        return await super().save(document, lease)


@planned_agent(name="Quick", description="ends at once")
class Quick:
    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.runs = failure, 0

    @achieves_goal("done")
    @action
    async def work(self, wish: UserInput) -> str:
        self.runs += 1
        if self.failure is not None:
            raise self.failure
        return "done"


@pytest.mark.parametrize("name", ["Quick", "Clerk"])
async def test_a_cancellation_after_the_last_step_finds_the_run_ended(name: str) -> None:
    store = SlowStore()
    clerk = Agent("Clerk", model=ScriptedModel("done"))
    platform = Platform(ScriptedModel(), store=store).register(Quick(), clerk)
    starting = platform.start("Quick", "x") if name == "Quick" else clerk.run("x", context=platform.context())
    running = asyncio.ensure_future(starting)
    await store.asked.wait()

    running.cancel()
    await asyncio.sleep(0)
    store.answers.set()
    with pytest.raises(asyncio.CancelledError):
        await running

    (view,) = await platform.runs()
    assert view.status == ProcessStatus.COMPLETED
    assert await platform.output(view.id) == "done"


@pytest.mark.parametrize("failure", [None, LookupError("gone")])
@pytest.mark.parametrize("way", ["resume", "elsewhere", "object", "worker", "objects"])
async def test_a_process_whose_last_step_alone_is_saved_gets_its_record(way: str, failure: Exception | None) -> None:
    store, agent = LosingStore(), Quick(failure)
    platform = Platform(ScriptedModel(), store=store).register(agent)
    with pytest.raises(StoreError):
        await platform.start("Quick", "x")
    store.is_losing = False
    other = platform if way == "resume" else Platform(ScriptedModel(), store=store).register(agent)
    (view,) = await other.runs()
    process = await other.process(view.id)
    assert [view.status, process.status] == [ProcessStatus.RUNNING] * 2
    assert view.was_interrupted

    match way:
        case "worker":
            await Worker(other).run_once()
        case "object":
            await process.run()
        case "objects":
            await other.resume(view.id, UserInput("more"))
        case _:
            await other.resume(view.id)

    ended = ProcessStatus.COMPLETED if failure is None else ProcessStatus.FAILED
    (view,) = await other.runs()
    assert [view.status, (await other.process(view.id)).status] == [ended] * 2
    assert agent.runs == 1
    with pytest.raises(RunConflictError, match=f"{ended.sentence}: nothing continues it") as raised:
        await other.resume(view.id)
    assert (f"`await platform.fork('{view.id}')`" in str(raised.value)) is (failure is not None)


async def test_one_that_is_kept_nowhere_has_ended() -> None:
    process = await cancelled(Platform(ScriptedModel()), Slow())
    assert (process.status, process.failure) == (ProcessStatus.KILLED, "the run was cancelled")
