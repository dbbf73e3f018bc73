"""Hard decisions beside all else that an event loop does."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from tactician.planning import Action, AStarPlanner, Goal, PlanningBudget, SearchLimitExceeded, WorldState
from tactician.planning.budget import PlanningMeter
from tactician.planning.consultation import Consultation
from tactician.process.deciding.deliberation import PlanningTurns

SLICE = 0.003
"""Seconds of planning in an iteration of an event loop."""


def hard_problem() -> tuple[WorldState, list[Action], list[Goal]]:
    """A cover: sources of different price that give several of the wanted facts each."""
    draw, wanted = Random(7), [f"fact {n}" for n in range(32)]
    actions = [
        Action(f"source {n}", {}, dict.fromkeys(draw.sample(wanted, draw.randint(2, 5)), True), draw.randint(10, 30))
        for n in range(130)
    ]
    return WorldState(), actions, [Goal("all", dict.fromkeys(wanted, True))]


def consult(budget: PlanningBudget) -> Consultation:
    return AStarPlanner().consult(*hard_problem(), budget=budget, asks=False)


async def test_a_cancelled_decision_ends_at_once_and_leaves_the_turn_to_others() -> None:
    turns = PlanningTurns.current()
    hard = asyncio.create_task(turns.advance(consult(PlanningBudget(time=None, expansions=None, memory=None))))
    other = asyncio.create_task(turns.advance(consult(PlanningBudget(time=None, expansions=90))))
    await asyncio.sleep(0.01)

    hard.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hard
    await other
    small = consult(PlanningBudget(time=None, expansions=90))
    await turns.advance(small)
    assert small.plan is not None


async def test_small_decisions_do_not_wait() -> None:
    turns, planner = PlanningTurns.current(), AStarPlanner()
    actions = [Action(f"step {n}", {f"fact {n}": True}, {f"fact {n + 1}": True}) for n in range(5)]

    async def decide() -> None:
        await turns.advance(planner.consult(WorldState({"fact 0": True}), actions, [Goal("end", {"fact 5": True})]))

    task = asyncio.create_task(decide())
    await asyncio.sleep(0)

    assert task.done()


async def test_a_search_that_is_finished_early_has_the_best_plan_by_then() -> None:
    consultation = await finish_early(steps=200)

    assert consultation.plan is not None
    assert not consultation.plan.optimal
    assert consultation.plan.bound < consultation.plan.cost


async def finish_early(steps: int) -> Consultation:
    """Return a search that was finished after some steps, or after more where these took too little processor time."""
    turns = PlanningTurns.current()
    consultation = consult(PlanningBudget(time=None, expansions=None, memory=None))
    for _ in range(steps):
        consultation.advance(0.001)
        await turns.run(lambda: None)
    assert not consultation.is_done
    try:
        consultation.finish()
    except SearchLimitExceeded:  # there is no plan yet
        return await finish_early(steps * 2)
    return consultation


def test_a_search_that_is_finished_before_it_has_a_plan_says_so() -> None:
    consultation = consult(PlanningBudget(time=None))
    with pytest.raises(SearchLimitExceeded, match="time"):
        consultation.finish()


class WorkClock:
    """A clock that moves when somebody works or, with `look`, when somebody looks at it."""

    def __init__(self, look: float = 0.0) -> None:
        self.now = 0.0
        self._look = look

    def __call__(self) -> float:
        self.now += self._look
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("seconds", [SLICE / 10, SLICE / 2, 2 * SLICE])
async def test_all_decisions_together_take_a_slice_of_each_iteration_of_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    clock, iterations = WorkClock(), list[float]()
    monkeypatch.setattr("tactician.process.deciding.deliberation.perf_counter", clock)
    turns = PlanningTurns.current()

    async def decide() -> None:
        for _ in range(20):
            await turns.run(lambda: clock.work(seconds))

    decisions = asyncio.gather(*[decide() for _ in range(100)])
    while not decisions.done():
        before = clock.now
        await asyncio.sleep(0)
        iterations.append(clock.now - before)

    assert clock.now == pytest.approx(100 * 20 * seconds)
    assert max(iterations) < SLICE + seconds + 1e-9


async def test_a_decision_stops_after_the_first_step_that_ends_behind_its_slice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = WorkClock(look=SLICE / 1000)
    monkeypatch.setattr(PlanningMeter.__init__, "__defaults__", (clock,))
    consultation = consult(PlanningBudget(time=None, expansions=None, memory=None))
    steps = list[float]()
    for _ in range(20):
        before = clock.now
        consultation.advance(0.0)  # a single step
        steps.append(clock.now - before)
    before = clock.now

    consultation.advance(10 * max(steps))

    assert 10 * max(steps) <= clock.now - before <= 12 * max(steps)
