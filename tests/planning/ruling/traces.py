"""The meaning of rules, read off a whole run: a second reading, without automata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from tactician.planning import Action, Goal, WorldState
from tactician.planning.rules import Rule

Trace: TypeAlias = Sequence[tuple[str | None, WorldState]]
"""Steps: the action that succeeded, None for the beginning, and the world after it."""


def is_kept(rule: Rule, trace: Trace, *, at_end: bool = True) -> bool:
    """Return whether the run keeps the rule; before its end, whether it may yet be kept as far as one can see."""
    arguments, last = rule.arguments, len(trace) - 1

    def happens(event: object, step: int) -> bool:
        action, world = trace[step]
        if isinstance(event, Mapping):
            return world.satisfies(event)
        return any(name == action or world.get(name) is True for name in map(str.strip, str(event).split("|")))

    def runs(event: object, step: int) -> bool:
        return trace[step][0] in [name.strip() for name in str(event).split("|")]

    def is_state(event: object, step: int) -> bool:
        world = trace[step][1]
        if isinstance(event, Mapping):
            return world.satisfies(event)
        return any(world.get(name.strip()) is True for name in str(event).split("|"))

    steps = range(1, len(trace))
    match rule.kind:
        case "always":
            return all(happens(arguments["condition"], step) for step in range(len(trace)))
        case "sometime":
            return not at_end or any(happens(arguments["event"], step) for step in range(len(trace)))
        case "never":
            when = arguments.get("when")
            return not any(runs(arguments["action"], n) and not is_outside(when, trace[n - 1][1]) for n in steps)
        case "before":
            return all(
                any(happens(arguments["first"], earlier) for earlier in range(step))
                for step in steps
                if runs(arguments["then"], step)
            )
        case "after":
            following = arguments["following"]
            return not at_end or all(
                is_state(following, step) or any(happens(following, later) for later in range(step + 1, len(trace)))
                for step in steps
                if runs(arguments["action"], step)
            )
        case "at_most" | "at_least":
            count, demanded = sum(runs(arguments["action"], step) for step in steps), arguments["count"]
            assert isinstance(demanded, int)
            return count <= demanded if rule.kind == "at_most" else not at_end or count >= demanded
        case "within":
            limit, begin = arguments["limit"], arguments.get("after")
            assert isinstance(limit, int)
            starts = [0] if begin is None else [step for step in steps if runs(begin, step)]
            event = arguments["event"]
            for start in starts:
                is_at_once = happens(event, start) if begin is None else is_state(event, start)
                in_time = range(start + 1, min(start + limit, last) + 1)
                if not (is_at_once or any(happens(event, step) for step in in_time)) and (
                    at_end or last >= start + limit
                ):
                    return False
            return True
        case "all_of":
            return all(is_kept(part, trace, at_end=at_end) for part in rule.parts)
        case "any_of":
            return any(is_kept(part, trace, at_end=at_end) for part in rule.parts)


def is_outside(when: object, world: WorldState) -> bool:
    """Return whether the condition is known not to hold."""
    if when is None:
        return False
    if isinstance(when, Mapping):
        return any(world.get(name) == (not value) for name, value in when.items())
    return all(world.get(name.strip()) is False for name in str(when).split("|"))


def find_least_cost(
    world: WorldState, actions: Sequence[Action], goal: Goal, rules: Sequence[Rule], longest: int
) -> float | None:
    """Return the least cost of a plan of so many actions at most, by trying them all."""
    return min((cost for _, cost in find_plans(world, actions, goal, rules, longest)), default=None)


def find_plans(
    world: WorldState, actions: Sequence[Action], goal: Goal, rules: Sequence[Rule], longest: int
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield all plans of so many actions at most, with what they cost."""
    for length in range(longest + 1):
        for steps in product(actions, repeat=length):
            trace = _run(world, steps)
            if trace is None or not goal.is_reached_in(trace[-1][1]):
                continue
            if all(rule.penalty is not None or is_kept(rule, trace) for rule in rules):
                penalties = sum(rule.penalty or 0.0 for rule in rules if not is_kept(rule, trace))
                costs = [step.cost for step in steps if not callable(step.cost)]
                yield tuple(step.name for step in steps), sum(costs) + penalties


def _run(world: WorldState, steps: Sequence[Action]) -> Trace | None:
    trace: list[tuple[str | None, WorldState]] = [(None, world)]
    for step in steps:
        if not step.is_runnable_in(world):
            return None
        world = world.apply(step)
        trace.append((step.name, world))
    return trace
