"""Workers that die or freeze at any moment: no process is lost, and no action that had ended is run again.

`make soak` kills 200 times; here it is a few times.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tactician import Platform
from tactician.runs import RunStore
from tactician.stores import open_store
from tactician.testing import ScriptedModel
from tests.crash.fleet import Fleet, Traces
from tests.crash.long_process import ACTIONS, LEASE, STAGES, long_agent
from tests.stores import postgres

KILLS = int(os.environ.get("TACTICIAN_KILLS", "8"))
FREEZES = RESTARTS = max(2, KILLS // 20)
WORKERS = 3
LONGEST = 60.0 + KILLS


class Site:
    """A store, workers for it, and processes that they work on."""

    def __init__(self, url: str, log: Path) -> None:
        self.traces = Traces(log)
        self.fleet = Fleet(url, log)
        self.store = open_store(url)
        self._platform = Platform(models=ScriptedModel(), store=self.store).register(long_agent(str(log)))
        self._ids: list[str] = []

    async def begin(self) -> None:
        """Leaves one more process to the workers, and looks at what they do from now on."""
        self.traces.skip()
        self._ids.append(await self._platform.enqueue("Long", f"process {len(self._ids)}"))

    async def ended(self) -> None:
        """Returns when all processes have ended."""
        async with asyncio.timeout(LONGEST):
            while any(one.status != "completed" for one in await RunStore(self.store).find()):  # noqa: ASYNC110 - by others
                await asyncio.sleep(0.05)

    async def check(self, interruptions: int) -> None:
        for one in self._ids:
            process = await self._platform.process(one)
            assert process.last(STAGES[-1]) == STAGES[-1](total=sum(range(ACTIONS + 1)))
            assert [run.action for run in process.history] == [f"stage{number}" for number in range(1, ACTIONS + 1)]
        traces = self.traces.all()
        begun = Counter(trace.key for trace in traces)
        assert len(begun) == ACTIONS * len(self._ids), "an action was lost"
        again = sum(begun.values()) - len(begun)
        assert again <= interruptions, "more was run again than what was in flight"

    def handed_over(self) -> int:
        """How often a worker went on with a process that another one had begun."""
        return len({(trace.process, trace.worker) for trace in self.traces.all()}) - len(self._ids)


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    with postgres.running(postgres.installed()) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db"
    server: postgres.Server = request.getfixturevalue("server")
    return f"postgresql://{server.address}/postgres"


@pytest.fixture
async def site(url: str, tmp_path: Path) -> AsyncIterator[Site]:
    site = Site(url, tmp_path / "log")
    with site.fleet:
        site.fleet.start(WORKERS)
        yield site
    await site.store.aclose()


async def test_workers_that_are_killed(site: Site) -> None:
    chance = random.Random(7)
    for _ in range(KILLS):
        await site.begin()
        victim = await site.traces.worker_after(chance.randint(1, ACTIONS))
        await asyncio.sleep(chance.uniform(0, 0.004))
        site.fleet.kill(victim.worker)
        site.fleet.start()
    await site.ended()
    await site.check(KILLS)
    assert site.handed_over() > KILLS // 2, "workers were killed when they had nothing to do"


async def test_workers_that_freeze_and_thaw_are_fenced_out(site: Site) -> None:
    chance = random.Random(7)
    for _ in range(FREEZES):
        await site.begin()
        victim = await site.traces.worker_after(chance.randint(1, ACTIONS - 5))
        site.fleet.freeze(victim.worker)
        with suppress(TimeoutError):  # a worker that is frozen while it writes to a file keeps all others from that
            async with asyncio.timeout(LEASE * 5):
                await site.traces.other_worker(victim)
        site.fleet.thaw(victim.worker)
    await site.ended()
    await site.check(FREEZES)
    assert site.fleet.said.count("has been taken by another worker") > FREEZES // 2


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_a_server_that_crashes_and_comes_back(site: Site, server: postgres.Server) -> None:
    chance = random.Random(7)
    for _ in range(RESTARTS):
        for _ in range(WORKERS):
            await site.begin()
        await site.traces.worker_after(chance.randint(1, ACTIONS - 5))
        server.crash()
        server.start()
    await site.ended()
    await site.check(RESTARTS * WORKERS)
    assert "does not answer" in site.fleet.said
