"""Plans get better by windows: a part is searched anew, and what is cheaper takes its place."""

from __future__ import annotations

from itertools import permutations

from tactician.planning import Action, Goal, WorldState
from tactician.planning.index import ActionIndex
from tactician.planning.windows import WindowSearch

PLACES = "abc"
GOAL = Goal("all is fetched", {f"has {thing}": True for thing in range(4)})
ACTIONS = (
    *(
        Action(f"go {a} {b}", {f"at {a}": True}, {f"at {b}": True, f"at {a}": False}, 1)
        for a, b in permutations(PLACES, 2)
    ),
    *(Action(f"take {thing}", {f"at {'bc'[thing % 2]}": True}, {f"has {thing}": True}, 1) for thing in range(4)),
)
DETOURS = ["go a b", "take 0", "go b c", "take 1", "go c b", "take 2", "go b c", "take 3"]


def test_visits_to_a_place_are_united() -> None:
    problem = ActionIndex(ACTIONS).problem(GOAL)
    start = problem.facts_in(WorldState({"at a": True, "at b": False, "at c": False}))
    numbers = {action.name: number for number, action in enumerate(problem.actions)}
    plan = [numbers[name] for name in DETOURS]
    weights = [1] * len(problem.actions)
    windows = WindowSearch(problem.masks, weights, start)
    for _ in range(2000):
        better = windows.explore_next(plan)
        if better is not None:
            assert problem.masks.run(start, better)
            assert len(better) < len(plan)
            plan = better
    assert len(plan) == 6
    assert windows.held > 0
