"""Finds out why an action is not in a plan: by planning with it."""

from __future__ import annotations

from dataclasses import replace

from tactician.planning.explanation import facts_of, reachable_facts, unmet
from tactician.planning.index import ActionIndex
from tactician.planning.inquiry import run_inquiry
from tactician.planning.model import NIRVANA, Action, Goal, Plan, round_amount
from tactician.planning.session import Session
from tactician.planning.verdict import Verdict
from tactician.planning.world import render

_RAN = "the action in question has run"


def contrast(session: Session, goal: Goal, plan: Plan | None, about: Action) -> Verdict:
    """Compare the cheapest plan with the cheapest plan that runs the action."""
    if lacking := unmet(about, reachable_facts(session.world, session.index.actions)):
        return Verdict(about, "cannot run", tuple(map(render, lacking)))
    forced = None if plan is None else _cheapest_with(session, goal, about)
    if plan is None or forced is None:
        return Verdict(about, "does not help")
    if _works_without(session, goal, forced):
        return Verdict(about, "not needed")
    difference = round_amount(forced.cost - plan.cost)
    return Verdict(about, "dearer" if difference else "not preferred", difference=difference)


def compare(session: Session, goal: Goal, plan: Plan | None, about: Action) -> Verdict:
    """Compare the best single action with this action."""
    if lacking := unmet(about, facts_of(session.world)):
        return Verdict(about, "cannot run", tuple(map(render, lacking)))
    if plan is not None and not plan.actions:
        return Verdict(about, "not needed")
    if plan is None or not (goal == NIRVANA or goal.is_reached_in(session.world.apply(about))):
        return Verdict(about, "not enough")
    difference = round_amount(plan.net_value - session.build_plan(goal, (about,)).net_value)
    return Verdict(about, "worth less" if difference else "not preferred", difference=difference)


def _cheapest_with(session: Session, goal: Goal, about: Action) -> Plan | None:
    effects = {**about.effects, _RAN: True}
    marked = replace(about, effects=effects, cost=session.cost(about), value=session.value(about))
    index = ActionIndex(tuple(marked if action == about else action for action in session.index.actions))
    problem = index.problem(replace(goal, conditions={**goal.conditions, _RAN: True}))
    steps = run_inquiry(session.solve(goal, problem, problem.facts_in(session.world)), None).steps
    return None if steps is None else session.build_plan(goal, [problem.actions[step] for step in steps])


def _works_without(session: Session, goal: Goal, plan: Plan) -> bool:
    world = session.world
    for action in plan.actions:
        if _RAN not in action.effects:
            if not action.is_runnable_in(world):
                return False
            world = world.apply(action)
    return goal.is_reached_in(world)
