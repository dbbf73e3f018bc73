"""The planner against a brute-force search that knows no shortcuts."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from tactician.planning import Action, AStarPlanner, Goal, Plan, WorldState
from tests.planning.random_problems import NAMES, Choice, PlanningProblem, brute_force, choices, problems, tenths, told
from tests.support.effort import examples


def summary(plan: Plan | None) -> tuple[int, int] | None:
    return None if plan is None else (sum(map(tenths, plan.costs)), len(plan.actions))


def assert_executable(plan: Plan | None, world: WorldState) -> None:
    if plan is not None:
        for action in plan.actions:
            assert action.is_runnable_in(world)
            world = world.apply(action)
        assert plan.goal.is_reached_in(world)


@given(problems())
@examples(500)
def test_plan_has_least_cost_then_fewest_steps(problem: PlanningProblem) -> None:
    world, actions, goal = problem

    plan = AStarPlanner().plan(world, actions, goal)

    assert summary(plan) == brute_force(world, actions, goal)
    assert_executable(plan, world)
    assert AStarPlanner().plan(world, actions, goal) == plan


@given(problems(), st.data())
@examples(200)
def test_determined_plan_is_optimal_in_the_determined_world(problem: PlanningProblem, data: st.DataObject) -> None:
    world, actions, goal = problem
    unknown = [name for name in NAMES if not isinstance(world.get(name), bool)]
    truth: dict[str, bool | None] = {name: data.draw(st.sampled_from([True, False, None])) for name in unknown}
    asked: list[str] = []

    def determine(name: str) -> bool | None:
        asked.append(name)
        return truth[name]

    plan = AStarPlanner(determine).plan(world, actions, goal)

    assert len(asked) == len(set(asked))
    assert summary(plan) == brute_force(told(world, truth), actions, goal)
    assert_executable(plan, told(world, {name: truth[name] for name in asked}))


@given(problems())
@examples(200)
def test_every_plan_of_a_reused_planner_is_that_of_a_fresh_one(problem: PlanningProblem) -> None:
    world, actions, goal = problem
    planner = AStarPlanner()
    plan = planner.plan(world, actions, goal)

    for action in plan.actions if plan else ():
        world = world.apply(action)

        again = planner.plan(world, actions, goal)

        assert again == AStarPlanner().plan(world, actions, goal)
        assert summary(again) == brute_force(world, actions, goal)


@given(problems())
@examples(200)
def test_no_step_can_be_exchanged_for_a_preferred_one(problem: PlanningProblem) -> None:
    world, actions, goal = problem
    plan = AStarPlanner().plan(world, actions, goal)
    steps = plan.actions if plan else ()

    for position, step in enumerate(steps):
        for other in preferred_to(step, actions):
            changed = [*steps[:position], other, *steps[position + 1 :]]
            assert not works(changed, world, goal), f"{other.name} could replace {step.name} in {plan}"


def preferred_to(step: Action, actions: list[Action]) -> list[Action]:
    ranked = sorted(actions, key=lambda action: -len(action.pre))
    earlier = ranked[: next(position for position, action in enumerate(ranked) if action is step)]
    return [other for other in earlier if other.cost == step.cost]


def works(actions: list[Action], world: WorldState, goal: Goal) -> bool:
    for action in actions:
        if not action.is_runnable_in(world):
            return False
        world = world.apply(action)
    return goal.is_reached_in(world)


@given(problems())
@examples(500)
def test_no_step_can_be_left_out(problem: PlanningProblem) -> None:
    """So passes that remove idle steps from a plan have nothing to do."""
    world, actions, goal = problem
    plan = AStarPlanner().plan(world, actions, goal)
    steps = list(plan.actions if plan else ())

    for position in range(len(steps)):
        assert not works(steps[:position] + steps[position + 1 :], world, goal)


@given(choices())
@examples(500)
def test_best_is_the_first_of_the_plans_for_all_goals(choice: Choice) -> None:
    world, actions, goals = choice

    plans = AStarPlanner().plans(world, actions, goals)

    expected = {goal.name: cost[0] for goal in goals if (cost := brute_force(world, actions, goal)) is not None}
    assert {plan.goal.name: sum(map(tenths, plan.costs)) for plan in plans} == expected
    assert AStarPlanner().best(world, actions, goals) == (plans[0] if plans else None)


PLANS_OF_A_PROCESS = """
import json, random
from tactician.planning import Action, AStarPlanner, Goal, UtilityPlanner, WorldState
from tactician.planning.hybrid import HybridPlanner

draw = random.Random(7)
names = [f"condition {n}" for n in range(12)]

def some(most):
    return {name: draw.random() < 0.7 for name in draw.sample(names, draw.randint(1, most))}

found = []
for _ in range(60):
    world = WorldState({name: draw.random() < 0.3 for name in names})
    actions = [Action(f"action {n}", some(2), some(2), draw.choice([0, 1]), draw.choice([0, 1])) for n in range(25)]
    goals = [Goal(f"goal {n}", some(3), draw.choice([0, 1])) for n in range(4)]
    for planner in AStarPlanner(), UtilityPlanner(), HybridPlanner():
        found.append([[plan.goal.name, str(plan)] for plan in planner.plans(world, actions, goals)])
print(json.dumps(found))
"""


def test_the_same_input_gives_the_same_plans_in_every_process() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", PLANS_OF_A_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "42")
    ]

    assert len(set(outputs)) == 1
    assert sum(len(plans) for plans in json.loads(outputs[0])) > 100


def test_an_exchange_may_make_another_one_possible_before_it() -> None:
    """The exchange of a later step lets an earlier one be exchanged that could not be before."""
    world = WorldState({"f0": False, "f1": True, "f2": False, "f3": False})
    actions = [
        Action("a0", pre={}, effects={"f0": True, "f2": True}),
        Action("a1", pre={"f3": True, "f0": True}, effects={"f3": True, "f0": True, "f2": True}),
        Action("a2", pre={"f1": True}, effects={"f3": True}),
        Action("a3", pre={"f1": True, "f2": True}, effects={"f0": True}),
        Action("a4", pre={}, effects={"f3": True, "f2": True}),
        Action("a5", pre={"f3": True}, effects={"f0": True, "f1": True, "f2": True}),
        Action("a6", pre={"f2": True}, effects={"f1": True, "f0": True, "f3": True}),
        Action("a7", pre={}, effects={"f2": True, "f1": True, "f3": True}),
        Action("a8", pre={"f2": True, "f0": True}, effects={"f1": True}),
    ]
    plan = AStarPlanner().plan(world, actions, Goal("g", {"f0": True, "f3": True}))
    assert plan is not None
    assert [step.name for step in plan.actions] == ["a2", "a5"]
