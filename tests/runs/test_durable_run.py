"""Steps that end at the same time: each is saved with its own changes, and none after one that could not be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

import pytest

from tactician.errors import LeaseLostError, StoreError
from tactician.runs import RunContext
from tactician.runs.life.creation import create_durable_run
from tactician.runs.life.durable import DurableRun
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.runs.progress.checkpoint import Checkpoint
from tactician.runs.progress.steps import RunStep
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import Lease, StoredStep
from tactician.testing import ScriptedModel


class SlowStore(MemoryStore):
    """Store that appends a step when it is told to, or fails to."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(lambda: self.now)
        self.answers = asyncio.Event()
        self.answers.set()
        self.problem: Exception | None = None

    async def append(self, lease: Lease, step: StoredStep) -> None:
        await self.answers.wait()
        problem, self.problem = self.problem, None
        if problem is not None:
            raise problem
        await super().append(lease, step)


class Work:
    """Run with three parts that end at the same time."""

    def __init__(self, store: SlowStore) -> None:
        self.store = store
        self.context = RunContext.over(ScriptedModel(), store=store).child("run")
        assert self.context.checkpoint is not None
        self.tree: Checkpoint = self.context.checkpoint
        self.run: DurableRun = create_durable_run("run", "hello", self.context)

    async def end_part(self, name: str) -> None:
        """Drop the progress of a part, as its result is known."""
        self.tree.drop(f"{name}-progress")
        self.tree.at(name).set(result=name)
        await self.run.save(self.tree.at(name), "part", name)

    async def end_parts(self) -> list[asyncio.Task[None]]:
        """Let all parts end while the store takes its time."""
        self.store.answers.clear()
        tasks = [asyncio.create_task(self.end_part(name)) for name in "abc"]
        for _ in range(3):
            await asyncio.sleep(0)
        return tasks

    async def steps(self) -> list[RunStep]:
        return [step for step in await RunStore(self.store).load_steps(self.context.run_id) if step.kind == "part"]


@pytest.fixture
async def work() -> AsyncIterator[Work]:
    work = Work(SlowStore())
    for name in "abc":
        work.tree.at(f"{name}-progress").set(turns=3)
    async with work.run.hold():
        await work.run.save_all("start")
        yield work


async def test_each_step_has_its_own_changes_only(work: Work) -> None:
    tasks = await work.end_parts()
    work.store.answers.set()
    await asyncio.gather(*tasks)

    steps = await work.steps()

    assert [step.name for step in steps] == ["a", "b", "c"]
    for step in steps:
        assert [(one.kind, one.keys) for one in step.operations] == [
            ("drop", (f"{step.name}-progress",)),
            ("set", (step.name,)),
        ]


async def test_a_step_that_is_cancelled_while_it_waits_to_be_saved_is_saved(work: Work) -> None:
    tasks = await work.end_parts()
    tasks[1].cancel()
    await asyncio.sleep(0)
    work.store.answers.set()

    await asyncio.gather(*tasks, return_exceptions=True)

    assert [task.cancelled() for task in tasks] == [False, True, False]
    assert [step.name for step in await work.steps()] == ["a", "b", "c"]


async def test_no_step_is_saved_after_one_that_could_not_be(work: Work) -> None:
    tasks = await work.end_parts()
    work.store.problem = StoreError("it does not answer")
    work.store.answers.set()

    errors = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(error) for error in errors] == [StoreError] * 3
    assert await work.steps() == [], "they may depend on the one that was lost"


async def test_a_run_whose_lease_was_lost_cannot_go_on_whoever_has_caught_the_error(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tactician.clock.SystemClock.monotonic", lambda _: monotonic() + DEFAULT_LEASE)
    work.store.now += DEFAULT_LEASE
    assert await RunStore(work.store).claim("another worker", DEFAULT_LEASE) is not None

    with pytest.raises(LeaseLostError) as first:
        await work.run.check_lease()
    with pytest.raises(LeaseLostError) as second:
        await work.end_part("a")

    assert first.value is second.value
