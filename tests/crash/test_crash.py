"""Workers that are killed at any moment: no process is lost, and no action that had ended is run again.

`make soak` kills 200 times; here it is a few times.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tactician import Platform
from tactician.process import AgentProcess
from tactician.stores import SqlRunStore
from tactician.testing import ScriptedModel
from tests.crash.long_process import ACTIONS, LEASE, STAGES, long_agent

KILLS = int(os.environ.get("TACTICIAN_KILLS", "8"))
ROOT = Path(__file__).parent.parent.parent
LONGEST = 120.0 + KILLS


class Fleet:
    """Workers in processes of their own, which die often."""

    def __init__(self, url: str, log: Path) -> None:
        self._command = [sys.executable, "-m", "tests.crash.long_process", url, str(log)]
        self._workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in self._workers:
            worker.send_signal(signal.SIGCONT)
            worker.kill()
            worker.wait()

    def start(self) -> None:
        self._workers.append(subprocess.Popen(self._command, cwd=ROOT))

    def kill_one(self) -> None:
        worker = self._workers.pop(0)
        worker.kill()
        worker.wait()

    def freeze_one(self) -> subprocess.Popen[bytes]:
        worker = self._workers[0]
        worker.send_signal(signal.SIGSTOP)
        return worker


async def begun(url: str, log: Path, count: int) -> list[str]:
    """Processes in the store that nobody has begun to work on."""
    store = SqlRunStore(url)
    platform = Platform(models=ScriptedModel(), store=store).register(long_agent(str(log)))
    ids = [await platform.enqueue("Long", f"process {number}") for number in range(count)]
    await store.aclose()
    return ids


async def ended(url: str, log: Path, ids: list[str]) -> list[AgentProcess]:
    """The processes, when all have ended."""
    store = SqlRunStore(url)
    platform = Platform(models=ScriptedModel(), store=store).register(long_agent(str(log)))
    try:
        async with asyncio.timeout(LONGEST):
            while {record.status for record in await store.records()} != {"completed"}:  # noqa: ASYNC110 - by others
                await asyncio.sleep(0.05)
        return [await platform.process(one) for one in ids]
    finally:
        await store.aclose()


def check(processes: list[AgentProcess], log: Path, interruptions: int) -> None:
    for process in processes:
        assert process.last(STAGES[-1]) == STAGES[-1](total=sum(range(ACTIONS + 1)))
        assert [run.action for run in process.history] == [f"stage{number}" for number in range(1, ACTIONS + 1)]
    traces = Counter(log.read_text().split())
    assert len(traces) == ACTIONS * len(processes), "an action was lost"
    again = sum(count - 1 for count in traces.values())
    assert again <= interruptions, "more was run again than what was in flight"


async def test_workers_that_are_killed(tmp_path: Path) -> None:
    url, log = f"sqlite:///{tmp_path}/runs.db", tmp_path / "log"
    chance = random.Random(7)
    count = max(2, KILLS // 8)
    ids = await begun(url, log, count)
    with Fleet(url, log) as fleet:
        fleet.start()
        for _ in range(KILLS):
            fleet.start()
            await asyncio.sleep(chance.uniform(0.05, 0.6))
            fleet.kill_one()
        check(await ended(url, log, ids), log, KILLS)


async def test_a_worker_that_was_frozen_is_fenced_out(tmp_path: Path) -> None:
    url, log = f"sqlite:///{tmp_path}/runs.db", tmp_path / "log"
    ids = await begun(url, log, 1)
    with Fleet(url, log) as fleet:
        fleet.start()
        async with asyncio.timeout(30):
            while not log.exists() or len(log.read_text().split()) < 3:  # noqa: ASYNC110 - by another process
                await asyncio.sleep(0.01)
        frozen = fleet.freeze_one()
        await asyncio.sleep(LEASE * 2)
        fleet.start()
        processes = await ended(url, log, ids)
        frozen.send_signal(signal.SIGCONT)
        await asyncio.sleep(LEASE)
        check([*processes, *await ended(url, log, ids)][:1], log, 2)
