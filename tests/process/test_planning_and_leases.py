"""A process that plans for longer than its lease lasts."""

from __future__ import annotations

import asyncio

import pytest

from tactician import Platform, ProcessStatus
from tactician.planning import PlanningBudget
from tactician.platform import Worker
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import Lease
from tactician.testing import ScriptedModel
from tests.process.hard_agents import build_gatherer

LEASE = 6.0  # long enough for a machine that is busy
RENEWALS = 2  # there are three in the time of a lease
ENDLESS = PlanningBudget(time=None, expansions=None, memory=None)


class RenewingStore(MemoryStore):
    """Store that counts renewals."""

    def __init__(self) -> None:
        super().__init__()
        self.renewals = asyncio.Semaphore(0)

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        self.renewals.release()
        return await super().renew(lease, seconds)


@pytest.mark.usefixtures("old_garbage_apart")
async def test_the_event_loop_renews_the_lease_of_a_process_that_plans(caplog: pytest.LogCaptureFixture) -> None:
    store = RenewingStore()
    platform = Platform(ScriptedModel(), store=store).register(build_gatherer(300, 60, planning=ENDLESS))
    process_id = await platform.enqueue("Gatherer", "x")
    worker = asyncio.create_task(Worker(platform, lease=LEASE).run_once())

    for _ in range(RENEWALS):
        await asyncio.wait_for(store.renewals.acquire(), 20)

    assert await RunStore(store).claim("another", LEASE, run_id=process_id) is None
    assert "holds up the event loop" not in caplog.text
    await platform.kill(process_id)
    await asyncio.wait_for(worker, 30)
    process = await platform.process(process_id)
    assert process.status is ProcessStatus.KILLED
    assert not process.history
