"""A host continues runs while it works, says its state, and is drained within a limit."""

from __future__ import annotations

import asyncio

import pytest

from tactician import Platform, runnable
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import ConfigurationError
from tactician.platform import Worker
from tactician.platform.host.host import Host, HostState
from tactician.runs import RunCompleted, RunStatus
from tactician.runs.progress.record import RunRecord
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import FakeClock, ScriptedModel


class Gate:
    """Work that ends when it is let go."""

    def __init__(self) -> None:
        self.entered, self.is_free = asyncio.Event(), asyncio.Event()

    async def stand(self, text: str) -> str:
        self.entered.set()
        await self.is_free.wait()
        return text

    def create_platform(self, store: DocumentStore, clock: Clock = SYSTEM_CLOCK) -> Platform:
        return Platform(models=ScriptedModel(), store=store, clock=clock).register(runnable(self.stand, name="Stand"))


async def follow(host: Host, run_id: str) -> object:
    async for event in host.runs.follow(run_id):
        if isinstance(event, RunCompleted):
            return event.result.output
    return None


async def load(host: Host, run_id: str) -> RunRecord:
    return await host.runs.find(run_id)


async def test_it_takes_runs_while_it_works() -> None:
    gate = Gate()
    host = Host(gate.create_platform(MemoryStore()))
    states = [host.state]
    gate.is_free.set()
    async with host.work():
        states.append(host.state)
        run_id = await host.runs.start("Stand", "up")
        assert await follow(host, run_id) == "up"
    states.append(host.state)

    assert states == [HostState.STARTING, HostState.READY, HostState.STOPPED]
    assert not host.is_ready


async def test_draining_finishes_what_runs_and_leaves_the_others() -> None:
    gate = Gate()
    host = Host(gate.create_platform(MemoryStore()), parallel=1)
    async with host.work():
        running = await host.runs.start("Stand", "first")
        queued = await host.runs.start("Stand", "second")
        await gate.entered.wait()
        draining = asyncio.create_task(host.drain())
        await asyncio.sleep(0)
        assert host.state is HostState.DRAINING
        gate.is_free.set()

        assert await draining
        assert (await load(host, running)).status is RunStatus.COMPLETED
        assert (await load(host, queued)).status is RunStatus.NOT_STARTED
        assert host.state is HostState.DRAINING


async def test_what_does_not_finish_in_time_is_continued_elsewhere() -> None:
    gate, clock, store = Gate(), FakeClock(), MemoryStore()
    platform = gate.create_platform(store, clock)
    host = Host(platform)
    async with host.work():
        run_id = await host.runs.start("Stand", "on")
        await gate.entered.wait()
        draining = asyncio.create_task(host.drain(60))
        await clock.run_for(59)
        assert not draining.done()
        await clock.run_for(2)

        assert not await draining
        record = await load(host, run_id)
        assert (record.status, record.is_leased) == (RunStatus.RUNNING, False)
    gate.is_free.set()
    await Worker(platform).run_once()
    assert (await load(host, run_id)).status is RunStatus.COMPLETED


async def test_work_in_the_background_ends_with_the_host() -> None:
    host = Host(Gate().create_platform(MemoryStore()))
    async with host.work():
        task = host.spawn(asyncio.Event().wait())
    assert task.cancelled()


async def test_it_can_work_again() -> None:
    gate = Gate()
    host = Host(gate.create_platform(MemoryStore()))
    gate.is_free.set()
    async with host.work():
        assert await host.drain()
    async with host.work():
        assert host.is_ready
        assert await follow(host, await host.runs.start("Stand", "again")) == "again"


def test_a_host_needs_a_store() -> None:
    with pytest.raises(ConfigurationError, match="store"):
        Host(Platform(models=ScriptedModel()))
