"""Plans for one problem of a family within some seconds, checks the plan, and prints what it says of itself as JSON."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc

from benchmarks.planning_client import action
from benchmarks.planning_families import agent_problems, classical_problems
from benchmarks.planning_problems import Problem
from tactician.planning import AStarPlanner, Goal, Plan, PlanningBudget, SearchLimitExceeded, WorldState


def plan_within(problem: Problem, seconds: float) -> tuple[Plan | None, float]:
    """Return the plan, and the processor seconds it took."""
    planner = AStarPlanner(budget=PlanningBudget(time=seconds, expansions=None, memory=None))
    world, actions = WorldState(dict.fromkeys(problem.start, True)), [action(step) for step in problem.steps]
    goal = Goal("goal", dict.fromkeys(problem.goals[0], True))
    started = time.process_time()
    try:
        plan = planner.plan(world, actions, goal)
    except SearchLimitExceeded:
        plan = None
    spent = time.process_time() - started
    for step in plan.actions if plan else ():
        if not step.is_runnable_in(world):
            raise RuntimeError(f"{problem.name}: the plan cannot run {step.name}")
        world = world.apply(step)
    if plan and not goal.is_reached_in(world):
        raise RuntimeError(f"{problem.name}: the plan does not reach its goal")
    return plan, spent


def main() -> None:
    name, seconds, traces = sys.argv[1], float(sys.argv[2]), "--memory" in sys.argv
    problem = next(one for one in (*classical_problems(), *agent_problems()) if one.name == name)
    if traces:
        tracemalloc.start()
    plan, spent = plan_within(problem, seconds)
    found = {"cost": plan.cost, "optimal": plan.optimal, "gap": plan.gap} if plan else {}
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6 if traces else None
    print(json.dumps({"cost": None, "optimal": False, "gap": None, **found, "seconds": spent, "megabytes": megabytes}))


if __name__ == "__main__":
    main()
