"""Reasons for a plan, or for the lack of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from tactician.frozen import frozen
from tactician.grammar import write_number
from tactician.planning.index import ActionIndex
from tactician.planning.model import NIRVANA, Action, Goal, Plan
from tactician.planning.verdict import Verdict, join_quoted
from tactician.planning.world import Fact, WorldState, render

Obstacle: TypeAlias = Literal["no provider", "blocked providers", "conflict", "no single action"]


@frozen
class Explanation:
    """The plan for a goal and what it costs, or what stands in the way; why not another goal, or another action.

    Attributes:
        goal: the goal that was to be reached
        plan: the best plan, or None
        missing: the conditions that are required but nothing can make true, such as `hasMoney` or `not hasMoney`;
            if only the actions that provide a goal condition block each other, that condition
        nearest: the action on the way to the goal that lacks the fewest unreachable preconditions
        blocked_by: the unreachable preconditions of `nearest`
        obstacle: `no provider`: no action provides what is missing; `blocked providers`: some do but cannot run;
            `conflict`: each condition can be reached, but not all together; `no single action`: none that can run
            now will do, which is as far as a utility planner looks; None if there is a plan
        about: why the action asked about is in the plan, or why it is not
        rivals: the plans for the other goals asked about that can be reached, best net value first
    """

    goal: Goal
    plan: Plan | None = None
    missing: tuple[str, ...] = ()
    nearest: Action | None = None
    blocked_by: tuple[str, ...] = ()
    obstacle: Obstacle | None = None
    about: Verdict | None = None
    rivals: tuple[Plan, ...] = ()

    def __str__(self) -> str:
        about = [] if self.about is None else [str(self.about)]
        return " ".join([self._outcome(), *about, *self._rivals()])

    def _outcome(self) -> str:
        if self.plan is not None:
            return _why(self.plan)
        if self.obstacle == "no single action":
            reaches = "can run" if self.goal == NIRVANA else f"that can run reaches {self.goal.name!r}"
            return f"No action {reaches} now{self._nearest()}."
        if self.obstacle == "conflict":
            goals = join_quoted(render(fact) for fact in self.goal.conditions.items())
            reason = f"each condition on the way to {goals} can be reached, but not all together, as actions undo them"
            return f"No plan reaches {self.goal.name!r}: {reason}."
        return f"No plan reaches {self.goal.name!r}: {self._shortage()}{self._nearest()}."

    def _rivals(self) -> list[str]:
        plans = ", ".join(f"{plan.goal.name!r} (net value {write_number(plan.net_value)})" for plan in self.rivals)
        return [f"Other goals: {plans}."] if plans else []

    def _shortage(self) -> str:
        is_single = len(self.missing) == 1
        verb, pronoun = ("is", "it") if is_single else ("are", "them")
        reason = (
            f"no action provides {pronoun}"
            if self.obstacle == "no provider"
            else f"the actions that provide {pronoun} cannot run"
        )
        return f"{join_quoted(self.missing)} {verb} missing and {reason}"

    def _nearest(self) -> str:
        if self.nearest is None:
            return ""
        return f"; the nearest action is {self.nearest.name!r}, which needs {join_quoted(self.blocked_by)}"


def explain_missing(world: WorldState, index: ActionIndex, goal: Goal) -> Explanation:
    """Find what keeps a goal that has no plan from being reached."""
    reached = reachable_facts(world, index.actions)
    unreached = [fact for fact in goal.conditions.items() if fact not in reached]
    if not unreached:
        return Explanation(goal, obstacle="conflict")
    on_the_way, roots = _trace(_select_deciding(unreached, index), reached, index)
    missing = roots or unreached
    nearest = min(on_the_way, key=lambda action: _distance(action, reached, roots), default=None)
    return Explanation(
        goal,
        missing=tuple(map(render, missing)),
        nearest=nearest,
        blocked_by=tuple(map(render, unmet(nearest, reached))) if nearest else (),
        obstacle="no provider" if roots else "blocked providers",
    )


def explain_idle(world: WorldState, index: ActionIndex, goal: Goal) -> Explanation:
    """Find the action that is nearest to running, when none that can run now serves the goal."""
    facts, required = facts_of(world), goal.conditions.items()
    waiting = [action for action in index.actions if unmet(action, facts)]
    serving = [action for action in waiting if goal == NIRVANA or action.effects.items() & required]
    nearest = min(serving, key=lambda action: len(unmet(action, facts)), default=None)
    blocked_by = tuple(map(render, unmet(nearest, facts))) if nearest else ()
    return Explanation(goal, nearest=nearest, blocked_by=blocked_by, obstacle="no single action")


def facts_of(world: WorldState) -> set[Fact]:
    """Return the facts that are known about the world."""
    return {(name, value) for name, value in world.items() if isinstance(value, bool)}


def reachable_facts(world: WorldState, actions: Iterable[Action]) -> set[Fact]:
    """Return the facts that could become true if no effect were ever undone."""
    reached = facts_of(world)
    waiting = list(actions)
    while True:
        blocked = []
        for action in waiting:
            if unmet(action, reached):
                blocked.append(action)
            else:
                reached.update(action.effects.items())
        if len(blocked) == len(waiting):
            return reached
        waiting = blocked[::-1]


def _select_deciding(facts: list[Fact], index: ActionIndex) -> list[Fact]:
    """Return the facts, except those that come with an action that another of them needs.

    A goal that asks both for an action to have run and for what the action gives lacks only what the action lacks.
    """
    providers = {fact: index.achievers_of(fact) for fact in facts}
    needed = [action for only in providers.values() if len(only) == 1 for action in only]
    return [
        fact
        for fact in facts
        if len(providers[fact]) < 2 or not any(provider in needed for provider in providers[fact])
    ]


def _trace(unreached: list[Fact], reached: set[Fact], index: ActionIndex) -> tuple[list[Action], list[Fact]]:
    """Return the actions that could lead to unreached facts, and the facts at the root that no action provides."""
    on_the_way: dict[int, Action] = {}
    seen = set(unreached)
    roots: list[Fact] = []
    queue = list(unreached)
    for fact in queue:  # grows as it goes
        providers = index.achievers_of(fact)
        if not providers:
            roots.append(fact)
        for action in providers:
            on_the_way[id(action)] = action
            fresh = [need for need in unmet(action, reached) if need not in seen]
            queue.extend(fresh)
            seen.update(fresh)
    return list(on_the_way.values()), roots


def _distance(action: Action, reached: set[Fact], roots: list[Fact]) -> tuple[bool, int]:
    needs = unmet(action, reached)
    return any(fact not in roots for fact in needs), len(needs)


def unmet(action: Action, reached: set[Fact]) -> list[Fact]:
    """Return the preconditions of the action that are not among the facts."""
    return [fact for fact in action.pre.items() if fact not in reached]


def _why(plan: Plan) -> str:
    if not plan.actions:
        return f"{plan.goal.name!r} is reached already: net value {write_number(plan.net_value)}."
    if plan.goal == NIRVANA:
        amounts = f"cost {write_number(plan.cost)}, net value {write_number(plan.net_value)}"
        return f"The best action now is {plan.actions[0].name!r}: {amounts}."
    steps = ", then ".join(
        f"{action.name!r} (cost {write_number(cost)})" for action, cost in zip(plan.actions, plan.costs, strict=True)
    )
    amounts = f"cost {write_number(plan.cost)}, net value {write_number(plan.net_value)}"
    if plan.optimal:
        return f"The best plan for {plan.goal.name!r} is {steps}: {amounts}."
    limits = (
        f"no plan can cost less than {write_number(plan.bound)}, so it is {plan.quality}" if plan.gap else plan.quality
    )
    return f"The best known plan for {plan.goal.name!r} is {steps}: {amounts}; {limits}."
