"""A program whose task is cancelled interrupts a process of a store, and ends one that is kept nowhere."""

from __future__ import annotations

import asyncio

import pytest

from tactician import Platform, ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tactician.errors import RunConflictError
from tactician.events import Event
from tactician.platform import Worker
from tactician.process import AgentProcess, Blackboard, OperationContext, ProcessEnded
from tactician.runs import RunStore
from tactician.stores import MemoryStore
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


async def test_one_that_is_kept_nowhere_has_ended() -> None:
    process = await cancelled(Platform(ScriptedModel()), Slow())
    assert (process.status, process.failure) == (ProcessStatus.KILLED, "the run was cancelled")
