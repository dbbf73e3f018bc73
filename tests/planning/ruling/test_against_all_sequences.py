"""Plans under random rules, compared with all sequences of actions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tactician.planning import UNKNOWN, Action, AStarPlanner, Goal, Plan, PlanningBudget, WorldState, rules
from tactician.planning.rules import Rule
from tactician.planning.world import ConditionValue
from tests.planning.ruling.traces import find_least_cost, find_plans
from tests.support.effort import EFFORT

ACTIONS = ["a", "b", "c", "d"]
CONDITIONS = ["p", "q", "r"]
LONGEST = 5

names = st.sampled_from([*ACTIONS, "a | b", "c | d"])
literals = st.dictionaries(st.sampled_from(CONDITIONS), st.booleans(), min_size=1, max_size=2)
conditions = st.one_of(st.sampled_from(CONDITIONS), literals)
events = st.one_of(names, conditions, st.sampled_from(["a | p"]))
simple_rules = st.one_of(
    st.builds(rules.always, conditions),
    st.builds(rules.sometime, events),
    st.builds(rules.never, names, st.one_of(st.none(), conditions)),
    st.builds(rules.before, events, names),
    st.builds(rules.after, names, events),
    st.builds(rules.at_most, st.integers(0, 2), names),
    st.builds(rules.at_least, st.integers(1, 2), names),
    st.builds(rules.within, st.integers(1, 3), events, st.one_of(st.none(), names)),
)
hard_rules = st.one_of(
    simple_rules,
    st.builds(rules.any_of, simple_rules, simple_rules),
    st.builds(rules.all_of, simple_rules, simple_rules),
)
preferences = st.builds(rules.prefer, hard_rules, st.sampled_from([0.5, 1.0, 3.0]))
some_rules = st.lists(st.one_of(hard_rules, preferences), min_size=1, max_size=3, unique_by=str)


@st.composite
def problems(draw: st.DrawFn) -> tuple[WorldState, list[Action], Goal]:
    values = list[ConditionValue]([True, False, False, UNKNOWN])
    world = WorldState({name: draw(st.sampled_from(values)) for name in CONDITIONS})
    few = st.dictionaries(st.sampled_from(CONDITIONS), st.booleans(), max_size=2)
    actions = [
        Action(name, draw(few), draw(few), cost=draw(st.sampled_from([0.25, 1.0, 2.0])))
        for name in ACTIONS[: draw(st.integers(2, 4))]
    ]
    return world, actions, Goal("goal", draw(literals))


def find_plan(world: WorldState, actions: list[Action], goal: Goal, book: list[Rule]) -> Plan | None:
    budget = PlanningBudget(time=None, expansions=None, memory=None)
    return AStarPlanner(budget=budget, rules=book).plan(world, actions, goal)


@settings(max_examples=300 if EFFORT == 1 else 3_000)
@given(problems(), some_rules)
def test_plans_cost_as_little_as_any_sequence_that_keeps_the_rules(
    problem: tuple[WorldState, list[Action], Goal], book: list[Rule]
) -> None:
    world, actions, goal = problem

    try:
        plan = find_plan(world, actions, goal, book)
    except ValueError as error:
        if "use fewer rules" not in str(error):
            raise
        return
    least = find_least_cost(world, actions, goal, book, LONGEST)

    if plan is not None and len(plan.actions) > LONGEST:
        assert least is None or plan.cost <= least
        return
    assert (None if plan is None else pytest.approx(plan.cost)) == least
    if plan is not None:
        assert plan.optimal
        chosen = tuple(action.name for action in plan.actions)
        costs = dict(find_plans(world, actions, goal, book, len(chosen)))
        assert costs[chosen] == pytest.approx(plan.cost)
        assert all(action in actions for action in plan.actions)
        assert plan.goal is goal
