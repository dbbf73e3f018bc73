"""Solves one of the planning problems with Tactician's planner and prints cost and processor seconds as JSON."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable

from benchmarks.planning_problems import Problem, Step, problems
from tactician.planning import Action, AStarPlanner, Goal, Plan, WorldState

TIMES = 9
ENOUGH = 3.0  # seconds


def action(step: Step) -> Action:
    needs, adds = dict.fromkeys(step.needs, True), dict.fromkeys(step.adds, True)
    return Action(step.name, pre=needs, effects=adds, cost=step.cost)


def planning(problem: Problem) -> Callable[[], Plan | None]:
    """Return a call of a new planner on new actions, none of which has been seen before."""
    planner, goal = AStarPlanner(), Goal("goal", {problem.goal: True})
    world, actions = WorldState({problem.start: True}), [action(step) for step in problem.steps]
    return lambda: planner.plan(world, actions, goal)


def timed(plan: Callable[[], Plan | None]) -> tuple[float, float]:
    """Return the plan's cost and the seconds it took."""
    gc.collect()
    started = time.process_time()
    found = plan()
    seconds = time.process_time() - started
    if found is None:
        raise RuntimeError("no plan")
    return found.cost, seconds


def main() -> None:
    problem = next(problem for problem in problems() if problem.name == sys.argv[1])
    unit_cost, _ = timed(planning(problem.with_unit_costs()))
    first, again, cost = [], [], 0.0
    deadline = time.perf_counter() + ENOUGH
    while not first or (len(first) < TIMES and time.perf_counter() < deadline):
        plan = planning(problem)
        cost, seconds = timed(plan)
        first.append(seconds)
        again.append(timed(plan)[1])
    print(json.dumps({"cost": cost, "unit_cost": unit_cost, "first": first, "again": again}))


if __name__ == "__main__":
    main()
