"""The planner against a brute-force search that knows no shortcuts."""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from tactician.planning import UNKNOWN, Action, AStarPlanner, ConditionValue, Goal, Plan, WorldState

NAMES = "abcdef"
Problem: TypeAlias = tuple[WorldState, list[Action], Goal]
COSTS = [0.0, 0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0]


def brute_force(world: WorldState, actions: list[Action], goal: Goal) -> tuple[int, int] | None:
    """The least cost, and the fewest steps at that cost, by uniform-cost search over all world states."""
    priced = [(action, tenths(action.cost_in(world))) for action in actions]
    tick = count()
    queue = [(0, 0, next(tick), world)]
    closed = set()
    while queue:
        cost, steps, _, here = heapq.heappop(queue)
        if here in closed:
            continue
        if goal.is_reached_in(here):
            return cost, steps
        closed.add(here)
        for action, price in priced:
            if action.is_runnable_in(here) and (there := here.apply(action)) not in closed:
                heapq.heappush(queue, (cost + price, steps + 1, next(tick), there))
    return None


def tenths(cost: float) -> int:
    """The cost as an exact number: all costs here are whole tenths."""
    return round(10 * cost)


def summary(plan: Plan | None) -> tuple[int, int] | None:
    return None if plan is None else (sum(map(tenths, plan.costs)), len(plan.actions))


def assert_executable(plan: Plan | None, world: WorldState) -> None:
    if plan is not None:
        for action in plan.actions:
            assert action.is_runnable_in(world)
            world = world.apply(action)
        assert plan.goal.is_reached_in(world)


def guarded(action: Action, number: int) -> Action:
    """The action as type flow writes it: it runs once, and only while what it makes is not there yet."""
    ran = f"ran{number}"
    outputs = {name: False for name, value in action.effects.items() if value and name not in action.pre}
    return Action(action.name, {ran: False, **outputs, **action.pre}, {**action.effects, ran: True}, action.cost)


def conditions(names: str, least: int, most: int) -> st.SearchStrategy[dict[str, bool]]:
    return st.dictionaries(st.sampled_from(names), st.booleans(), min_size=least, max_size=most)


def worlds(names: str) -> st.SearchStrategy[dict[str, ConditionValue]]:
    value = st.sampled_from(list[ConditionValue]([False, False, False, True, True, UNKNOWN]))
    return st.fixed_dictionaries(dict.fromkeys(names[1:], value), optional={names[0]: value})


def action_lists(names: str, costs: list[float]) -> st.SearchStrategy[list[Action]]:
    action = st.builds(Action, st.just("act"), conditions(names, 0, 3), conditions(names, 1, 3), st.sampled_from(costs))
    return st.lists(action, min_size=5, max_size=9)


def parts(names: str) -> st.SearchStrategy[tuple[dict[str, ConditionValue], list[Action], dict[str, bool]]]:
    actions = st.one_of([action_lists(names, costs) for costs in ([0.0], [0.5], COSTS)])
    return st.tuples(worlds(names), actions, conditions(names, 1, 4))


# Strategies are built once: building them anew for every example takes longer than all the planning.
PARTS = st.one_of([parts(NAMES[:size]) for size in range(3, len(NAMES) + 1)])
GUARDS = st.lists(st.sampled_from(["none", "none", "none", "guard", "guard", "required"]), min_size=9, max_size=9)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """A small problem in which some actions are guarded, and some guarded ones are required by the goal."""
    known, drawn, wanted = draw(PARTS)
    actions = []
    for number, (action, guard) in enumerate(zip(drawn, draw(GUARDS), strict=False)):
        named = replace(action, name=f"act{number}")
        actions.append(named if guard == "none" else guarded(named, number))
        if guard != "none":
            known[f"ran{number}"] = False
        if guard == "required" and number < 2:
            wanted[f"ran{number}"] = True
    return WorldState(known), actions, Goal("goal", wanted)


@given(problems())
@settings(max_examples=500, deadline=None)
def test_plan_has_least_cost_then_fewest_steps(problem: Problem) -> None:
    world, actions, goal = problem

    plan = AStarPlanner().plan(world, actions, goal)

    assert summary(plan) == brute_force(world, actions, goal)
    assert_executable(plan, world)
    assert AStarPlanner().plan(world, actions, goal) == plan


def answers(truth: dict[str, bool | None], names: list[str]) -> dict[str, ConditionValue]:
    values = {name: truth[name] for name in names}
    return {name: UNKNOWN if value is None else value for name, value in values.items()}


@given(problems(), st.data())
@settings(max_examples=200, deadline=None)
def test_determined_plan_is_optimal_in_the_determined_world(problem: Problem, data: st.DataObject) -> None:
    world, actions, goal = problem
    unknown = [name for name in NAMES if not isinstance(world.get(name), bool)]
    truth: dict[str, bool | None] = {name: data.draw(st.sampled_from([True, False, None])) for name in unknown}
    asked: list[str] = []

    def determine(name: str) -> bool | None:
        asked.append(name)
        return truth[name]

    plan = AStarPlanner(determine).plan(world, actions, goal)

    everything_known = world.with_(answers(truth, unknown))
    assert len(asked) == len(set(asked))
    assert summary(plan) == brute_force(everything_known, actions, goal)
    assert_executable(plan, world.with_(answers(truth, asked)))


@given(problems())
@settings(max_examples=200, deadline=None)
def test_every_plan_of_a_reused_planner_is_that_of_a_fresh_one(problem: Problem) -> None:
    world, actions, goal = problem
    planner = AStarPlanner()
    plan = planner.plan(world, actions, goal)

    for action in plan.actions if plan else ():
        world = world.apply(action)

        again = planner.plan(world, actions, goal)

        assert again == AStarPlanner().plan(world, actions, goal)
        assert summary(again) == brute_force(world, actions, goal)


@given(problems())
@settings(max_examples=200, deadline=None)
def test_no_step_can_be_exchanged_for_a_preferred_one(problem: Problem) -> None:
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
