"""A worker that runs until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from tactician import (
    Agent,
    Ai,
    ParallelAgents,
    Platform,
    ToolGroup,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    runnable,
)
from tactician.errors import ConfigurationError, RunNotFoundError, StoreError
from tactician.platform import Worker
from tactician.runs import RunStatus
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import Lease, StoredDocument
from tactician.testing import ScriptedModel


@dataclass(frozen=True)
class Done:
    text: str


@planned_agent(description="works as long as it is not let go")
class Gate:
    def __init__(self) -> None:
        self.entered = asyncio.Semaphore(0)
        self.may_go_on = asyncio.Event()

    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput) -> Done:
        self.entered.release()
        await self.may_go_on.wait()
        return Done(topic.content)


def platform_of(store: MemoryStore, *agents: object) -> Platform:
    return Platform(models=ScriptedModel(), store=store).register(*agents)


async def statuses(store: MemoryStore) -> list[str]:
    return [record.status for record in await RunStore(store).find()]


async def test_it_runs_several_at_once_and_finishes_what_runs() -> None:
    store, gate, stop = MemoryStore(), Gate(), asyncio.Event()
    platform = platform_of(store, gate)
    for number in range(3):
        await platform.enqueue("Gate", str(number))
    working = asyncio.create_task(Worker(platform, max_parallel=2).run(stop))
    await gate.entered.acquire()
    await gate.entered.acquire()

    stop.set()
    gate.may_go_on.set()
    await working

    assert await statuses(store) == ["completed", "completed", "not started"]


async def test_it_looks_again_for_what_was_not_there() -> None:
    store, gate, stop = MemoryStore(), Gate(), asyncio.Event()
    platform = platform_of(store, gate)
    working = asyncio.create_task(Worker(platform, poll=0.001).run(stop))
    await asyncio.sleep(0)

    await platform.enqueue("Gate", "late")
    await gate.entered.acquire()
    stop.set()
    gate.may_go_on.set()
    await working

    assert await statuses(store) == ["completed"]


async def test_one_that_cannot_go_on_does_not_stop_it(caplog: pytest.LogCaptureFixture) -> None:
    store, gate = MemoryStore(), Gate()
    gate.may_go_on.set()
    platform = platform_of(store, gate)
    await RunStore(store).save(
        RunRecord(run_id="broken", name="Gate", status=RunStatus.RUNNING, body="[]", kind="process")
    )
    await platform.enqueue("Gate", "sound")
    worker = Worker(platform, name="w")

    assert await worker.run_once()
    assert await worker.run_once()
    assert not await worker.run_once(), "nobody tries the broken one again at once"

    assert await statuses(store) == ["running", "completed"]
    (logged,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert logged.getMessage().startswith("w: the run broken cannot continue here: "), "and why"
    assert not logged.exc_info
    assert await RunStore(store).claim("another", 30, run_id="broken") is not None, "it is left to others"


@planned_agent(description="raises")
class Raiser:
    @achieves_goal("done")
    @action
    def assess(self, claim: UserInput) -> Done:
        raise ValueError(f"{claim.content} has no date")


@dataclass(frozen=True)
class Claim:
    text: str


@planned_agent(description="lacks something")
class Lacking:
    @achieves_goal("done")
    @action
    def assess(self, claim: Claim) -> Done:
        return Done("")


@runnable
async def raising(claim: str) -> str:
    raise ValueError(f"{claim} has no date")


@pytest.mark.parametrize(
    ("agent", "name", "end"),
    [
        (Raiser(), "Raiser", "failed: assess raised ValueError: the claim has no date"),
        (Lacking(), "Lacking", "stuck: No plan reaches 'assess': 'Claim' is missing"),
        (raising, "raising", "failed: ValueError: the claim has no date"),
        (ParallelAgents("All", [raising]), "All", "failed: ValueError: the claim has no date"),
    ],
)
async def test_it_says_why_a_run_did_not_complete(
    agent: object, name: str, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    platform = Platform(store=MemoryStore()).register(agent)
    run_id = await platform.enqueue(name, "the claim")
    assert await Worker(platform, name="w").run_once()
    (logged,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert logged.getMessage().startswith(f"w: the run {run_id} of {name} is {end}"), logged.getMessage()
    assert not logged.exc_info


@planned_agent(description="looks something up")
class Searcher:
    @achieves_goal("found")
    @action(tool_groups=["library"])
    async def search(self, topic: UserInput, ai: Ai) -> Done:
        return Done(topic.content)


async def test_what_needs_a_tool_group_is_left_to_a_worker_that_has_it(caplog: pytest.LogCaptureFixture) -> None:
    store, gate = MemoryStore(), Gate()
    gate.may_go_on.set()
    lacking = platform_of(store, Searcher(), gate)
    for name in ("Searcher", "Gate", "Searcher", "Gate"):
        await lacking.enqueue(name, "x")
    worker = Worker(lacking, name="w")

    while await worker.run_once():
        pass

    assert await statuses(store) == ["not started", "completed", "not started", "completed"]
    assert caplog.text.count("needs the tool group 'library'") == 2, "once for each"

    able = Worker(platform_of(store, Searcher(), gate, ToolGroup("library", ())))
    assert [await able.run_once() for _ in range(3)] == [True, True, False]
    assert await statuses(store) == ["completed"] * 4


async def test_what_was_passed_over_is_tried_again_later() -> None:
    store = MemoryStore()
    platform = platform_of(store, Searcher())
    await platform.enqueue("Searcher", "x")
    worker = Worker(platform, poll=0.0)
    assert await worker.run_once()
    assert await statuses(store) == ["not started"]

    platform.register(ToolGroup("library", ()))
    assert await worker.run_once()
    assert await statuses(store) == ["completed"]


class Unreachable(MemoryStore):
    async def claim(
        self,
        collection: str,
        owner: str,
        seconds: float,
        *,
        id: str | None = None,
        names: Collection[str] = (),
        excluded_ids: Collection[str] = (),
    ) -> tuple[StoredDocument, Lease] | None:
        raise StoreError("it does not answer")


async def test_a_store_that_does_not_answer_is_asked_again_later(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert not await Worker(platform_of(Unreachable(), Gate()), name="w").run_once()
    assert [record.getMessage() for record in caplog.records] == ["w: it does not answer"]


async def test_a_run_of_any_runnable_is_enqueued_and_continued() -> None:
    store = MemoryStore()
    model = ScriptedModel("Dear Ada.")
    platform = Platform(models=model, store=store).register(Agent("Writer"))
    run_id = await platform.enqueue("Writer", "a letter to Ada")

    assert await Worker(platform).run_once()

    run = await platform.tree(run_id)
    assert (run.run.status, run.run.output, model.calls[0].prompt) == ("completed", "Dear Ada.", "a letter to Ada")
    assert not await Worker(platform).run_once()


async def test_the_most_urgent_run_is_continued_first_and_one_key_starts_one_run() -> None:
    platform = Platform(models=ScriptedModel("one", "two"), store=MemoryStore()).register(Agent("Writer"))
    later = await platform.enqueue("Writer", "later")
    urgent = await platform.enqueue("Writer", "now", priority=5, idempotency_key="order-17")

    assert await platform.enqueue("Writer", "now", priority=5, idempotency_key="order-17") == urgent
    assert await Worker(platform).run_once()

    assert {run.id: run.status for run in await platform.runs()} == {later: "not started", urgent: "completed"}


async def test_a_run_whose_deadline_has_passed_is_terminated() -> None:
    model = ScriptedModel()
    platform = Platform(models=model, store=MemoryStore()).register(Agent("Writer"))
    await platform.enqueue("Writer", "late", deadline=datetime(2020, 1, 1, tzinfo=UTC))

    assert await Worker(platform).run_once()

    (run,) = await platform.runs()
    assert (run.status, model.calls) == ("terminated", [])
    assert run.failure == "the deadline of the run has passed"


async def test_without_a_store_nothing_can_be_enqueued() -> None:
    with pytest.raises(ConfigurationError, match="A platform needs a store"):
        await Platform(models=ScriptedModel()).register(Gate()).enqueue("Gate", "x")


@pytest.mark.parametrize("store", [None, MemoryStore()])
async def test_what_there_is_not_cannot_be_killed(store: MemoryStore | None) -> None:
    with pytest.raises(RunNotFoundError, match="with the id 'x'"):
        await Platform(models=ScriptedModel(), store=store).kill("x")
