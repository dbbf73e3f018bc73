"""Small random problems, and a brute-force search that knows no shortcuts."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, count, product
from typing import TypeAlias

from hypothesis import strategies as st

from tactician.planning import UNKNOWN, Action, Goal, WorldState
from tactician.planning.world import ConditionValue

NAMES = "abcdef"
PlanningProblem: TypeAlias = tuple[WorldState, list[Action], Goal]
Choice: TypeAlias = tuple[WorldState, list[Action], list[Goal]]
Truth: TypeAlias = dict[str, bool | None]
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


def guarded(action: Action, number: int) -> Action:
    """The action as type flow writes it: it runs once, and only while what it makes is not there yet."""
    ran = f"ran{number}"
    outputs = {name: False for name, value in action.effects.items() if value and name not in action.pre}
    return Action(action.name, {ran: False, **outputs, **action.pre}, {**action.effects, ran: True}, action.cost)


def conditions(names: str, least: int, most: int) -> st.SearchStrategy[dict[str, bool]]:
    """Drawn from all that there are: one choice takes a tenth of the time of drawing each name and value."""
    return st.one_of([st.sampled_from(list(all_conditions(names, size))) for size in range(least, most + 1)])


def all_conditions(names: str, size: int) -> Iterator[dict[str, bool]]:
    for chosen in combinations(names, min(size, len(names))):
        for values in product((False, True), repeat=len(chosen)):
            yield dict(zip(chosen, values, strict=True))


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
GUARDS = st.tuples(*[st.sampled_from(["none", "none", "none", "guard", "guard", "required"])] * 9)


@st.composite
def problems(draw: st.DrawFn) -> PlanningProblem:
    """A small problem in which some actions are guarded, and some guarded ones are required by the goal."""
    known, drawn, goal = draw(PARTS)
    actions, wanted = [], dict(goal)
    for number, (action, guard) in enumerate(zip(drawn, draw(GUARDS), strict=False)):
        named = replace(action, name=f"act{number}")
        actions.append(named if guard == "none" else guarded(named, number))
        if guard != "none":
            known[f"ran{number}"] = False
        if guard == "required" and number < 2:
            wanted[f"ran{number}"] = True
    return WorldState(known), actions, Goal("goal", wanted)


PROBLEMS = problems()
AMOUNTS = st.tuples(*[st.sampled_from([0.0, 0.0, 0.1, 0.5, 2.0, -1.0])] * 12)
OTHERS = st.lists(conditions(NAMES, 1, 2), max_size=2)


@st.composite
def choices(draw: st.DrawFn) -> Choice:
    """A small problem with up to three goals, in which goals and actions have values."""
    (world, actions, goal), amounts = draw(PROBLEMS), draw(AMOUNTS)
    others = [Goal(f"other{number}", wanted) for number, wanted in enumerate(draw(OTHERS))]
    valued = [replace(action, value=value) for action, value in zip(actions, amounts, strict=False)]
    return world, valued, [replace(g, value=v) for g, v in zip([goal, *others], amounts[9:], strict=False)]


CHOICES = choices()
HIDDEN = st.sets(st.sampled_from(NAMES), max_size=4)
TRUTHS = st.fixed_dictionaries({name: st.sampled_from([True, True, False, None]) for name in NAMES})


@st.composite
def secrets(draw: st.DrawFn) -> tuple[Choice, Truth]:
    """A choice in a world of which little is known, and the truth about it."""
    (world, actions, goals), hidden = draw(CHOICES), draw(HIDDEN)
    known = {name: value for name, value in world.items() if isinstance(value, bool) and name not in hidden}
    truth = {name: value for name, value in draw(TRUTHS).items() if name not in known}
    return (WorldState(known), actions, goals), truth


def told(world: WorldState, truth: Truth) -> WorldState:
    """The world with the truth told: what cannot be known stays unknown."""
    return world.with_({name: UNKNOWN if value is None else value for name, value in truth.items()})
