"""Outcomes of the actions of a planned agent, for the exploration of what can happen."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from tactician.agents.planned.evaluation import snake_case
from tactician.agents.planned.methods import NOT
from tactician.planning import UNKNOWN, WorldState
from tactician.planning.expressions import ExpressionError, is_of_rule, parse_expression, strip_prefix
from tactician.planning.ruling.exploration import ActionOutcome, Course
from tactician.planning.world import ConditionValue
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec

_MOST_OPEN: Final = 4


def list_courses(spec: PlannedAgentSpec) -> list[Course]:
    """Return the actions of an agent, each with the outputs that it may give, and with none."""
    return [Course(action.plan, tuple(_list_outcomes(action, spec))) for action in spec.actions if not action.leads]


def list_starts(spec: PlannedAgentSpec) -> list[WorldState]:
    """Return the worlds in which a run may begin: what no action brings about is there, and conditions may hold."""
    world = spec.build_starting_world()
    there = {name for name, value in world.items() if value is True}
    open_names, closed = list[str](), dict[str, ConditionValue]()
    for name in _list_bases(spec.conditions):
        if (known := _judge(name, there)) is None:
            open_names.append(name)
        else:
            closed.update(_write(name, known))
    return [world.with_({**closed, **values}) for values in _vary(open_names)]


def _list_outcomes(action: ActionSpec, spec: PlannedAgentSpec) -> Iterator[ActionOutcome]:
    evaluated = spec.conditions
    sure = {name: value for name, value in action.plan.effects.items() if name not in evaluated}
    changed = _list_bases(name for name in action.plan.effects if name in evaluated)
    kinds = action.gives if len(action.gives) > 1 and not action.is_sure else ()
    for given in kinds or ("",):
        lost = {kind: False for kind in kinds if kind != given and kind in sure}
        effects = {**sure, **lost}
        there = {name for name, value in effects.items() if value}
        certain = {
            n: v for base in changed if _is_name(base) for n, v in _write(base, _judge(base, there) or False).items()
        }
        for values in _vary([base for base in changed if not _is_name(base)]):
            text = f"{action.name} gives {given}" if given else action.name
            yield ActionOutcome(_describe(text, values), {**effects, **certain, **values})
    if action.output_types:
        yield ActionOutcome(f"{action.name} gives nothing", {action.condition_ran: True}, has_succeeded=False)


def _list_bases(names: Iterable[str]) -> list[str]:
    """Return conditions without their opposites."""
    return list(dict.fromkeys(name.removeprefix(NOT) for name in names))


def _write(name: str, value: ConditionValue) -> dict[str, ConditionValue]:
    """Return a condition and its opposite."""
    return {name: value, f"{NOT}{name}": not value if isinstance(value, bool) else UNKNOWN}


def _vary(names: Sequence[str]) -> Iterator[dict[str, ConditionValue]]:
    """Yield the values that conditions may have; of many, the last are unknown."""
    varied, others = names[:_MOST_OPEN], names[_MOST_OPEN:]
    unknown = {n: v for name in others for n, v in _write(name, UNKNOWN).items()}
    for values in product((False, True), repeat=len(varied)):
        written = [_write(name, value) for name, value in zip(varied, values, strict=True)]
        yield {**unknown, **{n: v for pair in written for n, v in pair.items()}}


def _is_name(condition: str) -> bool:
    try:
        return is_of_rule(condition) and isinstance(parse_expression(strip_prefix(condition)).tree, ast.Name)
    except ExpressionError:
        return False


def _judge(condition: str, there: Iterable[str]) -> ConditionValue | None:
    """Return the truth of an expression in a rule as far as the objects tell; `None` for one that may hold or not."""
    if not is_of_rule(condition):
        return None
    names = {snake_case(name.rpartition(": ")[2]) for name in there}
    if parse_expression(strip_prefix(condition)).names <= names:
        return True if _is_name(condition) else None
    return False if _is_name(condition) else UNKNOWN


def _describe(text: str, values: Mapping[str, ConditionValue]) -> str:
    holding = [strip_prefix(name) for name, value in values.items() if value is True]
    return f"{text} ({' and '.join(holding)})" if holding else text
