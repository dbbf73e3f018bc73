"""An ensemble whose workers are killed at any moment: the right result, and no completed task runs again.

`make soak` kills 200 times for each store; `make test` does it a few times.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tactician.ensemble import PhaseDecision
from tests.crash.newsroom import NEWSROOM
from tests.crash.site import Site
from tests.support.effort import KILLS

WORKERS = 2
pytestmark = pytest.mark.soak


@asynccontextmanager
async def person(site: Site) -> AsyncIterator[None]:
    """Let somebody approve every phase that waits for a person."""
    approving = asyncio.create_task(site.answer_requests(PhaseDecision.approve()))
    try:
        yield
        if approving.done():
            await approving
    finally:
        approving.cancel()
        with suppress(asyncio.CancelledError):
            await approving


async def test_an_ensemble_whose_workers_live(site: Site) -> None:
    site.fleet.resize(1)
    async with person(site):
        run = await site.enqueue(NEWSROOM)
        await site.wait_for_end()
    assert await site.find_problems() == []
    assert site.count_beginnings(run) == dict.fromkeys(NEWSROOM.effects, 1)


async def test_an_ensemble_whose_workers_are_killed(site: Site, chance: random.Random) -> None:
    site.fleet.resize(WORKERS)
    async with person(site):
        for number in range(1, KILLS + 1):
            reader = site.ledger.follow()
            await site.enqueue(NEWSROOM)
            victim = (await reader.wait_for_effects(chance.randint(1, len(NEWSROOM.effects)))).worker
            await asyncio.sleep(chance.uniform(0, 0.02))
            site.fleet.kill(victim)
            site.fleet.resize(WORKERS)
            if number % 10 == 0:
                print(f"  killed {number} of {KILLS} times", flush=True)
        await site.wait_for_end()
    assert await site.find_problems() == []
    assert site.count_handovers() > KILLS // 2, "workers were killed when they had nothing to do"
