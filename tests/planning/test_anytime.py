"""Plans that are made within a budget: what they say about themselves is true."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.planning import (
    UNKNOWN,
    Action,
    AStarPlanner,
    Goal,
    Plan,
    PlanningBudget,
    SearchLimitExceeded,
    WorldState,
)
from tactician.planning.budget import PlanningMeter
from tactician.planning.index import ActionIndex
from tactician.planning.preference import exchange
from tactician.planning.world import ConditionValue
from tests.planning.random_problems import COSTS, NAMES, PROBLEMS, PlanningProblem, brute_force, guarded, tenths
from tests.support.effort import EFFORT, examples

EXPANSIONS = st.sampled_from([0, 1, 2, 3, 5, 8, 13, 30, 100])


def limited(expansions: int) -> PlanningBudget:
    return PlanningBudget(time=None, expansions=expansions)


def plan_within(budget: PlanningBudget, problem: PlanningProblem) -> Plan | str | None:
    try:
        return AStarPlanner(budget=budget).plan(*problem)
    except SearchLimitExceeded as exceeded:
        return exceeded.limit


def follow(plan: Plan, world: WorldState) -> WorldState:
    for action in plan.actions:
        assert action.is_runnable_in(world)
        world = world.apply(action)
    return world


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_a_plan_is_as_good_as_it_says(part: int) -> None:
    draw = Random(part)
    for _ in range(500 * EFFORT):
        check_claims(draw_problem(draw), draw.choice([0, 1, 2, 3, 5, 8, 13, 30, 100]))


def draw_problem(draw: Random) -> PlanningProblem:
    """Draw a small problem; a third of the actions run once, as type flow writes them."""
    names = NAMES[: draw.randint(3, 6)]
    costs = draw.choice([[0.0], [0.5], COSTS])

    def some(least: int, most: int) -> dict[str, bool]:
        return {name: draw.random() < 0.5 for name in draw.sample(names, min(len(names), draw.randint(least, most)))}

    known: dict[str, ConditionValue] = {
        name: draw.choice(list[ConditionValue]([False, False, True, UNKNOWN])) for name in names
    }
    actions = list[Action]()
    for number in range(draw.randint(5, 9)):
        action = Action(f"act{number}", some(0, 3), some(1, 3), draw.choice(costs))
        if draw.random() < 0.3:
            known[f"ran{number}"] = False
            action = guarded(action, number)
        actions.append(action)
    return WorldState(known), actions, Goal("goal", some(1, 4))


def check_claims(problem: PlanningProblem, expansions: int) -> None:
    world, actions, goal = problem
    found, optimum = plan_within(limited(expansions), problem), brute_force(world, actions, goal)

    if found is None:
        assert optimum is None
    elif found != "expansions":
        assert isinstance(found, Plan)
        assert optimum is not None
        assert goal.is_reached_in(follow(found, world))
        least = optimum[0] / 10
        assert found.bound <= least + 1e-9
        assert not found.optimal or tenths(found.cost) == optimum[0]
        assert found.gap is None or found.cost <= least * (1 + found.gap) + 1e-9


@given(PROBLEMS, EXPANSIONS)
@examples(100)
def test_the_same_expansions_give_the_same_plan(problem: PlanningProblem, expansions: int) -> None:
    assert plan_within(limited(expansions), problem) == plan_within(limited(expansions), problem)


@given(PROBLEMS, EXPANSIONS)
@examples(100)
def test_no_step_of_any_plan_can_be_left_out(problem: PlanningProblem, expansions: int) -> None:
    world, _, goal = problem
    found = plan_within(limited(expansions), problem)
    for position in range(len(found.actions) if isinstance(found, Plan) else 0):
        assert isinstance(found, Plan)
        assert not works([*found.actions[:position], *found.actions[position + 1 :]], world, goal)


def works(actions: list[Action], world: WorldState, goal: Goal) -> bool:
    for action in actions:
        if not action.is_runnable_in(world):
            return False
        world = world.apply(action)
    return goal.is_reached_in(world)


@given(PROBLEMS, st.integers(0, 40))
@examples(100)
def test_a_consultation_that_is_abandoned_leaves_nothing_behind(problem: PlanningProblem, steps: int) -> None:
    world, actions, goal = problem
    planner = AStarPlanner()
    abandoned = planner.consult(world, actions, [goal], asks=False)
    for _ in range(steps):
        abandoned.advance(0.0)

    assert planner.plan(world, actions, goal) == AStarPlanner().plan(world, actions, goal)


@given(PROBLEMS, st.integers(0, 40))
@examples(100)
def test_slices_make_no_difference(problem: PlanningProblem, expansions: int) -> None:
    world, actions, goal = problem
    consultation = AStarPlanner().consult(world, actions, [goal], budget=limited(expansions), asks=False)
    try:
        while not consultation.is_done:
            consultation.advance(0.0)
    except SearchLimitExceeded:
        assert plan_within(limited(expansions), problem) == "expansions"
    else:
        assert consultation.plan == plan_within(limited(expansions), problem)


@given(PROBLEMS, EXPANSIONS)
@examples(100)
def test_a_known_plan_is_never_made_worse(problem: PlanningProblem, expansions: int) -> None:
    world, actions, goal = problem
    known = plan_within(limited(30), problem)
    if isinstance(known, Plan):
        consultation = AStarPlanner().consult(
            world, actions, [goal], budget=limited(expansions), known=known, asks=False
        )
        consultation.advance()

        assert consultation.plan is not None
        assert tenths(consultation.plan.cost) <= tenths(known.cost)


DRAW = Random(7)
FACTS = [f"fact {n}" for n in range(40)]
COVER = [
    Action(f"source {n}", {}, dict.fromkeys(DRAW.sample(FACTS, DRAW.randint(2, 5)), True), DRAW.randint(10, 30))
    for n in range(200)
]
COVERED = Goal("covered", dict.fromkeys(FACTS, True))


class TestLimits:
    def test_a_plan_says_how_good_it_is(self) -> None:
        plan = AStarPlanner(budget=limited(600)).plan(WorldState(), COVER, COVERED)

        assert plan is not None
        assert not plan.optimal
        assert plan.gap is not None
        assert 0 < plan.gap < 1
        assert plan.bound == pytest.approx(plan.cost / (1 + plan.gap))
        assert plan.quality.startswith("within ")

    def test_memory_is_a_limit_too(self) -> None:
        plan = AStarPlanner(budget=PlanningBudget(time=None, memory=0.5)).plan(WorldState(), COVER, COVERED)

        assert plan is not None
        assert not plan.optimal

    def test_an_error_names_the_limit_and_what_to_set(self) -> None:
        with pytest.raises(
            SearchLimitExceeded, match=r"time = 0 s, is reached.*Set PlanningBudget\(time=...\) higher"
        ) as caught:
            AStarPlanner(budget=PlanningBudget(time=0)).plan(WorldState(), COVER, COVERED)

        assert caught.value.limit == "time"

    @pytest.mark.parametrize(("field", "value"), [("time", -1), ("memory", float("inf")), ("expansions", -3)])
    def test_a_limit_out_of_range_is_refused(self, field: str, value: float) -> None:
        with pytest.raises(ValueError, match=f"PlanningBudget.{field}"):
            PlanningBudget(**{field: value})  # type: ignore[arg-type]

    @pytest.mark.parametrize(("field", "value"), [("time", "1"), ("expansions", 1.5), ("memory", True)])
    def test_a_limit_of_the_wrong_type_is_refused(self, field: str, value: float) -> None:
        with pytest.raises(TypeError, match=f"PlanningBudget.{field}"):
            PlanningBudget(**{field: value})  # type: ignore[arg-type]


def test_the_preferred_plan_is_looked_for_in_parts_and_as_long_as_there_is_time() -> None:
    actions = tuple(Action(f"way {n} to {fact}", {}, {fact: True}, 1.0) for fact in "abcd" for n in range(3))
    problem = ActionIndex(actions).problem(Goal("all", dict.fromkeys("abcd", True)))
    last = [number for number, action in enumerate(problem.actions) if action.name.startswith("way 2")]

    def prefer(budget: PlanningBudget) -> tuple[list[str], int]:
        usable, meter, halts = [True] * len(actions), PlanningMeter(budget), 0
        search = exchange(problem, problem.fixed_weights, usable, 0, last, meter)
        while True:
            try:
                next(search)
            except StopIteration as done:
                return [problem.actions[step].name[:5] for step in done.value], halts
            halts += 1

    assert prefer(PlanningBudget(time=None)) == (["way 0"] * 4, 4)
    assert prefer(PlanningBudget(time=0.0)) == (["way 2"] * 4, 0)


class TestQuality:
    ACTION = Action("write", {}, {"written": True}, 1.0)
    GOAL = Goal("written", {"written": True})

    @pytest.mark.parametrize(
        ("saving", "quality"),
        [
            (0.0, "optimal"),
            (0.5, "within 100 %"),
            (0.02, "within 3 %"),
            (0.001, "within 0.11 %"),
            (1.0, "not known how good"),
        ],
    )
    def test_is_put_in_words(self, saving: float, quality: str) -> None:
        assert Plan(self.GOAL, (self.ACTION,), (1.0,), 0.0, saving).quality == quality
