"""Tests that a whole platform runs on one clock: days pass in milliseconds, and all times come from the clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from tactician import Agent, Platform, UserInput, achieves_goal, action, confirm, planned_agent
from tactician.clock import Clock
from tactician.events import Event
from tactician.platform import Worker
from tactician.process import ActionCompleted, ActionRetryPolicy
from tactician.stores import MemoryStore
from tactician.testing import FakeClock, ScriptedModel
from tests.serve.api.serving import served, start

DAY = 86_400.0
EARLIEST = FakeClock().time()


@planned_agent(name="Patient", description="Works for days")
class Patient:
    def __init__(self, clock: Clock, *, scale: float = 1.0) -> None:
        self.clock = clock
        self.scale = scale
        self.failures = 2 if scale == 1 else 0

    @action(retry=ActionRetryPolicy(attempts=3, delay=600, factor=2, max_delay=3600, on=(ValueError,)))
    async def measure(self, topic: UserInput) -> float:
        await self.clock.sleep(3600 * self.scale)
        if self.failures:
            self.failures -= 1
            raise ValueError("not yet")
        return 1.0

    @achieves_goal("published")
    @action
    async def publish(self, value: float, topic: UserInput) -> str:
        agreed = await confirm(value, "Publish this?", deadline=timedelta(days=2) * self.scale, default=True)
        return f"{topic.content} {agreed}"


class Office:
    """Platform with a worker, all on a clock that the test moves on."""

    def __init__(self, *agents: object, scale: float = 1.0) -> None:
        self.clock = FakeClock(sleeps_wait=True)
        self.events: list[Event] = []
        self.store = MemoryStore(clock=self.clock)
        self.platform = Platform(
            ScriptedModel("Done."), store=self.store, clock=self.clock, on_event=self.events.append
        ).register(*(agents or (Patient(self.clock, scale=scale),)))

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        task = asyncio.create_task(Worker(self.platform, lease=7200, poll=600).run(stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(task, 30)

    def check_times(self) -> None:
        """Check that all times of events are those of the clock, and never go back."""
        times = [event.time for event in self.events]
        assert times == sorted(times)
        assert EARLIEST <= times[0] <= times[-1] <= self.clock.time()


async def test_retries_leases_and_an_answer_by_default_take_days_of_the_clock() -> None:
    office = Office()
    async with office.working():
        run_id = await office.platform.enqueue("Patient", "frogs")
        await office.clock.run_for(3 * 3600)
        (running,) = await office.platform.runs()
        assert running.status == "running", "the third attempt runs, under a lease that was renewed for hours"
        await office.clock.run_for(3600)
        (waiting,) = await office.platform.runs()
        assert waiting.status == "waiting"
        await office.clock.run_for(DAY)
        assert [run.status for run in await office.platform.runs()] == ["waiting"]
        await office.clock.run_for(DAY + 600)
        (done,) = await office.platform.runs()
    assert (done.id, done.status) == (run_id, "completed")
    office.check_times()
    seconds = {event.action: event.seconds for event in office.events if isinstance(event, ActionCompleted)}
    assert seconds["measure"] == 3 * 3600 + 600 + 1200


async def test_a_run_ends_at_its_deadline() -> None:
    office = Office()
    async with office.working():
        await office.platform.enqueue("Patient", "frogs", deadline=timedelta(hours=2))
        await office.clock.run_for(DAY)
        (run,) = await office.platform.runs()
    assert run.status == "terminated"
    office.check_times()
    assert office.events[-1].time - EARLIEST == 3 * 3600 + 1800, "the action in flight ends first"


async def test_another_worker_takes_over_when_the_lease_of_a_dead_worker_has_ended() -> None:
    office = Office(Agent("Clerk"))
    run_id = await office.platform.enqueue("Clerk", "frogs")
    claimed = await office.store.claim("runs", "a worker that dies", 3000, id=run_id)
    assert claimed is not None
    async with office.working():
        await office.clock.run_for(2999)
        assert [run.status for run in await office.platform.runs()] == ["not started"]
        await office.clock.run_for(601)
        assert [run.status for run in await office.platform.runs()] == ["completed"]


async def test_a_server_and_its_times_follow_the_clock() -> None:
    office = Office(scale=1 / 288)
    await office.clock.run_for(5 * DAY)
    began = office.clock.time()
    async with served(office.platform) as client:
        run_id = await start(client, "patient", "frogs", seconds=DAY)
        reading = asyncio.create_task(client.get(f"/api/runs/{run_id}/events"))
        await office.clock.run_for(700)
        shown = (await client.get(f"/api/runs/{run_id}")).json()
        store = (await client.get("/api/store")).json()
        stream = (await reading).text
    assert shown["status"] == "completed"
    assert (shown["started_at"], store["now"]) == (began, office.clock.time())
    assert began + 600 < shown["changed_at"] <= office.clock.time()
    assert "event: ActionCompleted" in stream
    assert '"seconds":12.5' in stream
    office.check_times()
