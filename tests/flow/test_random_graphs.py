"""Flows over random graphs, whose steps end in a random order, against a model of what has to run when."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from tactician.flow.scheduler import Scheduler
from tactician.flow.steps import ErrorPolicy, FlowStep, StepCompleted, StepFailed, StepSkipped, StepSuspended
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Suspended
from tests.support.effort import examples

End = Literal["completed", "failed", "suspended"]


@dataclass(frozen=True)
class Plan:
    """Steps by their keys, in the order in which they are added: what each depends on, and how it ends."""

    dependencies: Mapping[str, tuple[str, ...]]
    ends: Mapping[str, End]
    limit: int | None
    at_once: bool  # whether all steps are added before the first starts


@st.composite
def plans(draw: st.DrawFn, ends: Sequence[End]) -> Plan:
    count = draw(st.integers(1, 9))
    needed = {
        str(number): tuple(map(str, draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else ()))
        for number in range(count)
    }
    at_once = draw(st.booleans())
    order = draw(st.permutations(list(needed))) if at_once else list(needed)
    return Plan(
        {key: needed[key] for key in order},
        {key: draw(st.sampled_from(ends)) for key in order},
        draw(st.none() | st.integers(1, 4)),
        at_once,
    )


@dataclass
class Model:
    """What must be so: the steps that run, and how those ended that have."""

    plan: Plan
    added: list[str]
    running: list[str] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        for key in self.added:
            has_room = self.plan.limit is None or len(self.running) < self.plan.limit
            is_new = key not in self.running and key not in self.ended
            if has_room and is_new and all(self.ended.get(one) == "completed" for one in self.plan.dependencies[key]):
                self.running.append(key)

    def end(self, key: str) -> None:
        self.running.remove(key)
        self.ended[key] = self.plan.ends[key]
        self.skip()

    def skip(self) -> None:
        lost = {"failed", "skipped"}
        while more := [
            key
            for key in self.added
            if key not in self.ended and any(self.ended.get(one) in lost for one in self.plan.dependencies[key])
        ]:
            self.ended.update(dict.fromkeys(more, "skipped"))


class Execution:
    """A flow whose steps end when the test says so."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.gates: dict[str, asyncio.Future[None]] = {}
        self.started: list[str] = []
        self.cancelled: set[str] = set()

    @property
    def running(self) -> list[str]:
        return list(self.gates)

    def step(self, key: str) -> FlowStep[str]:
        return FlowStep(key, lambda results: self._work(key, results), depends_on=self.plan.dependencies[key])

    async def _work(self, key: str, results: Mapping[str, str]) -> str:
        assert results == {one: f"result of {one}" for one in self.plan.dependencies[key]}
        self.started.append(key)
        self.gates[key] = asyncio.get_running_loop().create_future()
        try:
            await self.gates[key]
        except asyncio.CancelledError:
            self.cancelled.add(key)
            raise
        finally:
            del self.gates[key]
        match self.plan.ends[key]:
            case "completed":
                return f"result of {key}"
            case "failed":
                raise LookupError(key)
            case "suspended":
                raise Suspended(PendingRequest(key, "form", "?"))


async def let_others_run() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


KINDS = {"completed": StepCompleted, "failed": StepFailed, "skipped": StepSkipped, "suspended": StepSuspended}


async def follow(data: st.DataObject, plan: Plan, on_error: ErrorPolicy) -> None:
    """Run the flow, and compare it with the model after each step that ends."""
    execution = Execution(plan)
    scheduler: Scheduler[str] = Scheduler(max_concurrency=plan.limit, on_error=on_error)
    added = list(plan.dependencies) if plan.at_once else [next(iter(plan.dependencies))]
    seen: list[str] = []

    async def consume() -> None:
        async with scheduler:
            scheduler.add(*map(execution.step, added))
            async for outcome in scheduler:
                seen.append(outcome.key)
                if len(added) < len(plan.dependencies):
                    added.append(key := list(plan.dependencies)[len(added)])
                    scheduler.add(execution.step(key))

    flow = asyncio.create_task(consume())
    model, has_failed = Model(plan, added), False
    await let_others_run()
    model.start()
    while model.running:
        assert sorted(execution.running) == sorted(model.running)
        key = data.draw(st.sampled_from(sorted(model.running)))
        execution.gates[key].set_result(None)
        await let_others_run()
        model.end(key)
        if has_failed := model.ended[key] == "failed" and on_error == "fail_fast":
            break
        model.skip()
        model.start()

    assert len(execution.started) == len(set(execution.started)), "each ran once"
    await check(flow, model, execution, scheduler, seen, has_failed=has_failed)


async def check(
    flow: asyncio.Task[None],
    model: Model,
    execution: Execution,
    scheduler: Scheduler[str],
    seen: list[str],
    *,
    has_failed: bool,
) -> None:
    error = (await asyncio.gather(flow, return_exceptions=True))[0]
    if has_failed:
        assert isinstance(error, LookupError)
        assert execution.cancelled == set(model.running)
        assert execution.running == []
        return
    waiting = [key for key in model.added if model.ended.get(key) == "suspended"]
    if waiting:
        assert isinstance(error, Suspended)
        assert [request.id for request in error.pending] == waiting
    else:
        assert error is None
        assert len(model.ended) == len(model.plan.dependencies)
    assert {key: type(outcome) for key, outcome in scheduler.outcomes.items()} == {
        key: KINDS[end] for key, end in model.ended.items()
    }
    assert list(scheduler.outcomes) == [key for key in model.added if key in model.ended]
    assert sorted(seen) == sorted(model.ended), "each outcome is seen once"


@examples(150)
@given(st.data(), plans(["completed"]))
def test_each_step_runs_once_as_soon_as_it_can_within_the_limit(data: st.DataObject, plan: Plan) -> None:
    asyncio.run(follow(data, plan, "fail_fast"))


@examples(150)
@given(st.data(), plans(["completed", "completed", "completed", "failed", "suspended"]))
def test_with_continue_only_dependents_of_what_failed_are_skipped(data: st.DataObject, plan: Plan) -> None:
    asyncio.run(follow(data, plan, "continue"))


@examples(150)
@given(st.data(), plans(["completed", "completed", "completed", "failed", "suspended"]))
def test_with_fail_fast_the_first_failure_cancels_the_others(data: st.DataObject, plan: Plan) -> None:
    asyncio.run(follow(data, plan, "fail_fast"))
