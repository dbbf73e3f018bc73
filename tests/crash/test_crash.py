"""Workers that die or freeze at any moment: every run ends right, and only the steps in flight are run again.

`make soak` kills 200 times in each kind of run, and freezes 100 times; `make test` does it a few times.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from time import monotonic

import pytest

from tactician.runs.life.holding import DEFAULT_LEASE
from tests.crash.fleet import LEASE, LOST
from tests.crash.kinds import ASSEMBLY, BOSS, CLERK, DESK, ENQUEUED, KINDS, SURVEY, Kind
from tests.crash.ledger import Entry, LedgerReader
from tests.crash.site import Site
from tests.stores import postgres
from tests.support.effort import FREEZES, KILLS

RESTARTS = max(1, KILLS // 20)
WORKERS = 3
pytestmark = pytest.mark.soak
EACH_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def show_progress(kinds: Iterable[Kind], number: int, what: str) -> Iterator[Kind]:
    """Yield so many kinds of runs, and print how far that is: `make soak` shows it."""
    for done, kind in enumerate(islice(cycle(kinds), number), start=1):
        yield kind
        if done % 10 == 0 or done == number:
            print(f"  {what} {done} of {number} times", flush=True)


@EACH_KIND
async def test_workers_that_are_killed(site: Site, kind: Kind, chance: random.Random) -> None:
    site.fleet.resize(WORKERS)
    for _ in show_progress([kind], KILLS, "killed"):
        reader = site.ledger.follow()
        await site.enqueue(kind)
        victim = (await reader.wait_for_effects(chance.randint(1, len(kind.effects)))).worker
        await asyncio.sleep(chance.uniform(0, 0.01))
        site.fleet.kill(victim)
        site.fleet.resize(WORKERS)
    await site.wait_for_end()
    assert await site.find_problems() == []
    assert site.count_handovers() > KILLS // 2, "workers were killed when they had nothing to do"


async def test_workers_that_are_killed_whatever_they_do(site: Site, chance: random.Random) -> None:
    site.fleet.resize(WORKERS)
    for kind in show_progress(ENQUEUED, KILLS, "killed"):
        await site.enqueue(kind)
        await asyncio.sleep(chance.uniform(0, 0.2))
        site.fleet.kill(chance.choice(site.fleet.workers))
        site.fleet.resize(WORKERS)
    await site.wait_for_end()
    assert await site.find_problems() == []


async def test_workers_that_freeze_and_thaw_begin_nothing_more(site: Site, chance: random.Random) -> None:
    site.fleet.resize(WORKERS)
    number = FREEZES * len(KINDS)
    for kind in show_progress(KINDS, number, "frozen"):
        reader = site.ledger.follow()
        await site.enqueue(kind)
        victim = await reader.wait_for_effects(chance.randint(1, len(kind.effects) // 2))
        await asyncio.sleep(chance.uniform(0, 0.01))
        site.fleet.freeze(victim.worker)
        frozen_at = monotonic()
        is_taken = await is_taken_over(reader, victim)
        site.fleet.thaw(victim.worker)
        if is_taken:
            await site.wait_for_loss(victim)
            assert begun_after_others(site.ledger.read(), victim, frozen_at) == []
        await site.wait_for_end()
        site.fleet.resize(WORKERS)
    assert await site.find_problems() == []
    assert site.fleet.log.count(LOST) > number // 2


async def is_taken_over(reader: LedgerReader, victim: Entry) -> bool:
    """Wait until another worker goes on with the run of one that is frozen, and return whether one did.

    In SQLite, a worker that is frozen while it writes to the file keeps all others from that.
    """
    try:
        async with asyncio.timeout(LEASE * 5):
            await reader.wait_for_other(victim)
    except TimeoutError:
        return False
    return True


def begun_after_others(entries: list[Entry], victim: Entry, frozen_at: float) -> list[str]:
    """Return the steps of a run that a worker began after another one had, without a check that came after the freeze.

    A worker can be frozen between the check and the first instruction of the step. Nothing can be done about that in
    the worker: it is what idempotency keys are for.
    """
    begun = [entry for entry in entries if entry.run == victim.run and entry.event == "begin"]
    others = next(number for number, entry in enumerate(begun) if entry.worker != victim.worker)
    late = [entry for entry in begun[others:] if entry.worker == victim.worker]
    return [entry.step for entry in late if not entry.checked_at or float(entry.checked_at) > frozen_at]


POSTS = [f"post {number}" for number in range(1, 11)]


CASES = (
    (CLERK, "post 8", POSTS[:7]),
    (CLERK, "post 4", [*POSTS[:3], POSTS[4]]),
    (CLERK, "answer 6", POSTS[:6]),
    (BOSS, "A post 1", ["B answer 3"]),
    (SURVEY, "check 1.2", ["count 1.2", "check 2.4", "answer 3"]),
    (DESK, "post 4", [*POSTS[:3], POSTS[4]]),
    (ASSEMBLY, "a2", ["b6", "c6"]),
    (ASSEMBLY, "c3 post 2", ["c3 post 1", "c3 post 3", "a6", "b6"]),
)
"""For each kind of run a step that is in flight at a crash, and steps before or beside it that have ended."""


async def test_what_has_ended_before_or_beside_the_step_in_flight_is_not_repeated(site: Site) -> None:
    site.fleet.lease = DEFAULT_LEASE  # nothing is taken over as long as its worker lives, however busy the machine is
    site.fleet.resize(len(CASES))
    runs = [(await site.enqueue(kind, hold=held), kind, held) for kind, held, _ in CASES]
    for (run, *_), (*_, ended) in zip(runs, CASES, strict=True):
        await site.wait_for_steps(run, ended)

    for worker in list(site.fleet.workers):
        site.fleet.kill(worker)
    await site.expire_leases()
    site.fleet.resize(WORKERS)
    await site.wait_for_end()

    assert await site.find_problems() == []
    for run, kind, held in runs:
        assert site.count_beginnings(run) == dict.fromkeys(kind.effects, 1) | {held: 2}, run


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_a_server_that_crashes_and_comes_back(site: Site, server: postgres.Server, chance: random.Random) -> None:
    site.fleet.resize(WORKERS)
    site.fleet.victims.update(site.fleet.workers)
    for _ in range(RESTARTS):
        reader = site.ledger.follow()
        for kind in ENQUEUED:
            await site.enqueue(kind)
        await reader.wait_for_effects(chance.randint(1, 15))
        server.crash()
        server.start()
    await site.wait_for_end()
    assert await site.find_problems() == []
    assert "does not answer" in site.fleet.log
