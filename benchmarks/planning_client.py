"""Solves one of the planning problems with Tactician's planner and prints cost and processor seconds as JSON."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable

from benchmarks.planning_problems import Problem, Step, problems
from tactician.planning import Action, AStarPlanner, Goal, Plan, WorldState, rules

TIMES = 9
ENOUGH = 3.0  # seconds


def action(step: Step) -> Action:
    effects = dict.fromkeys(step.deletes, False) | dict.fromkeys(step.adds, True)
    return Action(step.name, pre=dict.fromkeys(step.needs, True), effects=effects, cost=step.cost)


def planning(problem: Problem) -> Callable[[], list[Plan]]:
    """Return a call of a new planner on new actions, none of which has been seen before."""
    planner = AStarPlanner(rules=[rules.before(first, then) for first, then in problem.orders])
    goals = [Goal(" ".join(goal), dict.fromkeys(goal, True)) for goal in problem.goals]
    world, actions = WorldState(dict.fromkeys(problem.start, True)), [action(step) for step in problem.steps]
    return lambda: planner.plans(world, actions, goals)


def timed(plan: Callable[[], list[Plan]], problem: Problem) -> tuple[float, float]:
    """Return what the plans for all goals cost together, and the seconds they took."""
    gc.collect()
    started = time.process_time()
    found = plan()
    seconds = time.process_time() - started
    if len(found) < len(problem.goals):
        raise RuntimeError("a goal without a plan")
    return sum(plan.cost for plan in found), seconds


def main() -> None:
    problem = next(problem for problem in problems() if problem.name == sys.argv[1])
    unit_cost, _ = timed(planning(problem.with_unit_costs()), problem)
    first: list[float] = []
    again: list[float] = []
    cost = 0.0
    deadline = time.perf_counter() + ENOUGH
    while not first or (len(first) < TIMES and time.perf_counter() < deadline):
        plan = planning(problem)
        cost, seconds = timed(plan, problem)
        first.append(seconds)
        again.append(timed(plan, problem)[1])
    print(json.dumps({"cost": cost, "unit_cost": unit_cost, "first": first, "again": again}))


if __name__ == "__main__":
    main()
