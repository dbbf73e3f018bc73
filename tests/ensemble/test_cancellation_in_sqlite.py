"""A run in SQLite that is cancelled at any moment leaves no task and no lease, and ends right elsewhere."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tactician import (
    Ensemble,
    Phase,
    PhaseReview,
    Platform,
    Reflection,
    RunStatus,
    Scope,
    SqlMemory,
    SqlReflections,
    Task,
)
from tactician.ensemble import PhaseDecision, TaskInput
from tactician.platform import Worker
from tactician.runs.progress.store import RunStore
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel
from tests.support.effort import EFFORT, SEED

HOUR = 3600.0
RUNS = 20 * EFFORT
GATHERED = "c.1(a.1() b.1())"
RESULT = f"e.1(w2.2(w1.2({GATHERED})) d.1({GATHERED}))"
pytestmark = pytest.mark.soak
Begun = Counter[str]


def newsroom(path: Path, begun: Begun) -> Ensemble:
    """Tasks at once, a phase that runs twice, a person who decides on the phase beside it, and what later runs read."""

    def work(name: str) -> Callable[[TaskInput], Awaitable[str]]:
        async def handle(task: TaskInput) -> str:
            step = f"{name}.{1 if task.revision is None else task.revision.attempt}"
            begun[step] += 1
            await asyncio.sleep(0)
            return f"{step}({' '.join(output.raw for output in task.context_outputs)})"

        return handle

    def review(task: TaskInput) -> str:
        return "RETRY: again" if any("w2.1" in output.raw for output in task.context_outputs) else "APPROVE"

    a, b = (Task(name, handler=work(name), context=[]) for name in "ab")
    c = Task("c", handler=work("c"), context=[a, b])
    reflect = Reflection(strategy=lambda review: f"Better than {review.output}")
    first = Task("w1", handler=work("w1"), context=[c], memory=["all"], reflect=reflect)
    gather = Phase("gather", [a, b, c])
    write = Phase("write", [first, Task("w2", handler=work("w2"))], after=[gather], review=PhaseReview(review))
    check = Phase("check", [Task("d", handler=work("d"))], after=[gather], review=PhaseReview.by_person())
    end = Phase("end", [Task("e", handler=work("e"))], after=[write, check])
    memory, reflections = SqlMemory(path, {"all": Scope()}), SqlReflections(path)
    return Ensemble("E", phases=[gather, write, check, end], memory=memory, reflections=reflections)


class Site:
    """Place in which a single run of the ensemble is worked on, with its database."""

    def __init__(self, path: Path) -> None:
        self.begun: Begun = Counter()
        self.ensemble = newsroom(path, self.begun)
        self.platform = Platform(models=ScriptedModel(), store=SqliteStore(path)).register(self.ensemble)
        self.runs = RunStore(self.platform.store)

    async def work(self, run_id: str) -> None:
        """Continue the run to its end, and approve what waits for a person."""
        while True:
            while await Worker(self.platform, lease=HOUR).run_once():
                pass
            record = await self.runs.load(run_id)
            assert record is not None
            if record.status is not RunStatus.WAITING:
                return
            await self.platform.respond(run_id, record.header.pending[0].id, PhaseDecision.approve())

    async def aclose(self) -> None:
        """Close all connections."""
        assert self.ensemble.memory is not None
        assert isinstance(self.ensemble.reflections, SqlReflections)
        await self.ensemble.memory.aclose()
        await self.ensemble.reflections.aclose()
        await self.platform.aclose()


async def let_run(task: asyncio.Task[None], steps: int) -> None:
    """Let the event loop take some steps, as long as a task has not ended."""
    for _ in range(steps):
        if task.done():
            return
        await asyncio.sleep(0)


async def run_until_cancelled(site: Site, run_id: str, steps: int, later: int | None) -> None:
    """Cancel the work on a run after some steps, and perhaps once more a little later. No task of it is left then."""
    before = asyncio.all_tasks()
    working = asyncio.create_task(site.work(run_id))
    await let_run(working, steps)
    working.cancel()
    if later is not None:
        await let_run(working, later)
        working.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(working), 30)
    assert asyncio.all_tasks() == before, "a task is left"


async def count_steps(path: Path) -> int:
    """Return about how many steps of the event loop a whole run takes."""
    site = Site(path)
    working = asyncio.create_task(site.work(await site.platform.enqueue("E", {})))
    steps = 0
    while not working.done():
        await asyncio.sleep(0)
        steps += 1
    working.result()
    await site.aclose()
    assert max(site.begun.values()) == 1
    return steps


async def test_a_run_that_is_cancelled_at_any_moment_is_free_and_ends_right(tmp_path: Path) -> None:
    chance, most = random.Random(SEED), await count_steps(tmp_path / "first.db")
    for number in range(RUNS):
        path = tmp_path / f"{number}.db"
        first, second = Site(path), Site(path)
        run_id = await first.platform.enqueue("E", {})
        steps, later = chance.randrange(most), chance.choice([None, None, 1, 3, 10, 100])
        place = f"cancelled after {steps} steps, and {later} steps later"
        await run_until_cancelled(first, run_id, steps, later)
        await first.aclose()

        async with asyncio.timeout(30):
            await second.work(run_id)

        record = await second.runs.load(run_id)
        assert record is not None
        assert (record.status, record.header.output) == (RunStatus.COMPLETED, RESULT), place
        assert second.ensemble.memory is not None
        assert second.ensemble.reflections is not None
        entries = await second.ensemble.memory.entries("all")
        assert [entry.content for entry in entries] == [f"w1.2({GATHERED})"], place
        notes = [one.suggestions for one in await second.ensemble.reflections.load(second.ensemble.tasks[3].identity)]
        assert notes == [(f"Better than w1.2({GATHERED})",)], place
        assert max((first.begun + second.begun).values()) <= 2, place
        await second.aclose()
