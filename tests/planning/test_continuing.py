"""Plans that are followed: their rest is as good as a new plan, or the planner does not say so."""

from __future__ import annotations

import pytest
from hypothesis import given

from tactician.planning import Action, AStarPlanner, Goal, Plan, UtilityPlanner, WorldState
from tactician.planning.hybrid import HybridPlanner
from tactician.planning.planner import PlanningAlgorithm
from tests.planning.random_problems import PlanningProblem, brute_force, problems, tenths
from tests.support.effort import examples

START = WorldState({"a": False, "b": False})
FIRST, SECOND = Action("first", {"a": False}, {"a": True}, 1), Action("second", {"a": True}, {"b": True}, 2, 5)
ACTIONS = (FIRST, SECOND)
GOAL = Goal("goal", {"b": True}, 10)


def best(actions: tuple[Action, ...], goal: Goal = GOAL) -> Plan:
    plan = AStarPlanner().plan(START, actions, goal)
    assert plan is not None
    return plan


def continued(plan: Plan, world: WorldState, actions: tuple[Action, ...] = ACTIONS) -> Plan | None:
    return AStarPlanner().continue_plan(plan, START, world, actions)


@given(problems())
@examples(300)
def test_the_rest_of_a_plan_is_the_best_plan_after_its_first_action(problem: PlanningProblem) -> None:
    world, actions, goal = problem
    planner, offered = AStarPlanner(), tuple(actions)
    plan = planner.plan(world, offered, goal)
    while plan is not None and plan.actions:
        before, world = world, world.apply(plan.actions[0])
        rest = planner.continue_plan(plan, before, world, offered)
        assert rest is not None
        assert rest.actions == plan.actions[1:]
        assert (sum(map(tenths, rest.costs)), len(rest.actions)) == brute_force(world, actions, goal)
        assert rest.net_value == pytest.approx(plan.net_value + plan.costs[0])
        plan = rest


def test_the_rest_equals_a_new_plan() -> None:
    world = START.with_(a=True)
    assert continued(best(ACTIONS), world) == AStarPlanner().plan(world, ACTIONS, GOAL)


@pytest.mark.parametrize("world", [START, START.with_(a=True, c=True), START.with_(a=True, b=True)])
def test_a_plan_is_not_continued_in_another_world_than_foreseen(world: WorldState) -> None:
    assert continued(best(ACTIONS), world) is None


def test_a_plan_at_its_end_is_not_continued() -> None:
    plan = AStarPlanner().plan(START.with_(b=True), ACTIONS, GOAL)
    assert plan is not None
    assert continued(plan, START) is None


@pytest.mark.parametrize(
    "other",
    [
        Action("other", {"a": True}, {"b": True}, lambda world: 7.0 if "a" in world else 0.0),
        Action("other", {"a": True}, {"b": True}, 7, lambda world: 0.0),
    ],
)
def test_a_plan_is_not_continued_where_amounts_depend_on_the_world(other: Action) -> None:
    actions = (*ACTIONS, other)
    assert continued(best(actions), START.with_(a=True), actions) is None


def test_a_plan_is_not_continued_where_the_value_of_its_goal_depends_on_the_world() -> None:
    goal = Goal("goal", {"b": True}, lambda world: 10.0)
    assert continued(best(ACTIONS, goal), START.with_(a=True)) is None


def test_a_plan_that_may_not_be_the_best_is_not_continued() -> None:
    plan = Plan(GOAL, ACTIONS, (1.0, 2.0), 15.0, possible_saving=0.5)
    assert continued(plan, START.with_(a=True)) is None


@pytest.mark.parametrize("planner", [UtilityPlanner(), HybridPlanner()])
def test_planners_that_do_what_is_worth_while_continue_no_plan(planner: PlanningAlgorithm) -> None:
    assert planner.continue_plan(best(ACTIONS), START, START.with_(a=True), ACTIONS) is None
