"""Steps that run one after another, against a scheduler that runs one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.flow.scheduler import Scheduler
from tactician.flow.steps import ErrorPolicy, FlowStep, StepCompleted, StepOutcome, StepSkipped
from tactician.flow.turns import run_in_turn
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Suspended
from tests.support.effort import examples


def work_on(key: str, begun: list[str], error: BaseException | None) -> Callable[[Mapping[str, str]], Awaitable[str]]:
    async def work(results: Mapping[str, str]) -> str:
        begun.append(f"{key} from {sorted(results.items())}")
        if error is not None:
            raise error
        return f"result of {key}"

    return work


@st.composite
def chains(draw: st.DrawFn) -> Sequence[tuple[str, tuple[str, ...], bool]]:
    """Steps by their keys: what each depends on, all of it before, and whether it fails."""
    count = draw(st.integers(1, 8))
    needed = [draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set() for number in range(count)]
    return [
        (str(number), tuple(map(str, sorted(before))), draw(st.integers(0, 3)) == 0)
        for number, before in enumerate(needed)
    ]


def create_steps(chain: Sequence[tuple[str, tuple[str, ...], bool]], begun: list[str]) -> list[FlowStep[str]]:
    return [
        FlowStep(key, work_on(key, begun, LookupError(key) if fails else None), depends_on=needed)
        for key, needed, fails in chain
    ]


async def schedule(steps: Sequence[FlowStep[str]], on_error: ErrorPolicy) -> tuple[list[StepOutcome[str]], str]:
    scheduler: Scheduler[str] = Scheduler(max_concurrency=1, on_error=on_error)
    try:
        async with scheduler:
            scheduler.add(*steps)
            async for _ in scheduler:
                pass
    except LookupError as error:
        return list(scheduler.outcomes.values()), repr(error)
    return list(scheduler.outcomes.values()), ""


async def take_turns(steps: Sequence[FlowStep[str]], on_error: ErrorPolicy) -> tuple[dict[str, StepOutcome[str]], str]:
    outcomes: dict[str, StepOutcome[str]] = {}
    results: dict[str, str] = {}

    async def work(step: FlowStep[str]) -> None:
        results[step.key] = await step.work({key: results[key] for key in step.depends_on})
        outcomes[step.key] = StepCompleted(step.key, results[step.key])

    try:
        await run_in_turn(steps, work, lambda outcome: outcomes.update({outcome.key: outcome}), on_error=on_error)
    except LookupError as error:
        return outcomes, repr(error)
    return outcomes, ""


@examples(200)
@given(chains(), st.sampled_from(get_args(ErrorPolicy)))
def test_it_does_what_a_scheduler_does_that_runs_one_step_at_a_time(
    chain: Sequence[tuple[str, tuple[str, ...], bool]], on_error: ErrorPolicy
) -> None:
    scheduled: list[str] = []
    turns: list[str] = []
    expected, error = asyncio.run(schedule(create_steps(chain, scheduled), on_error))
    outcomes, raised = asyncio.run(take_turns(create_steps(chain, turns), on_error))
    assert turns == scheduled
    assert raised == error
    if not error:
        assert [(key, type(one)) for key, one in outcomes.items()] == [(one.key, type(one)) for one in expected]
        failed = {key for key, _, fails in chain if fails}
        skipped = [one for one in outcomes.values() if isinstance(one, StepSkipped)]
        assert all(one.cause in failed and repr(one.cause) in one.reason for one in skipped)


async def test_a_step_that_waits_holds_up_those_behind_it() -> None:
    begun: list[str] = []
    asked = Suspended(PendingRequest("Sure", "form", "Sure?"))
    steps = [FlowStep("a", work_on("a", begun, asked)), FlowStep("b", work_on("b", begun, None))]
    with pytest.raises(Suspended) as waiting:
        await run_in_turn(steps, lambda step: step.work({}), lambda _: begun.append("an outcome"), on_error="continue")
    assert [request.id for request in waiting.value.pending] == ["Sure"]
    assert begun == ["a from []"], "b has not begun, and a has no outcome"


async def test_what_is_no_exception_ends_all_whatever_the_policy() -> None:
    begun: list[str] = []
    steps = [FlowStep("a", work_on("a", begun, SystemExit(1))), FlowStep("b", work_on("b", begun, None))]
    with pytest.raises(SystemExit):
        await run_in_turn(steps, lambda step: step.work({}), lambda _: begun.append("an outcome"), on_error="continue")
    assert begun == ["a from []"]
