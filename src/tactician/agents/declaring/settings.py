"""What is wrong with the values that decorators were given."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import iscoroutinefunction
from math import isfinite

from tactician.agents.declaring.methods import ActionMethod
from tactician.agents.planners import Planner
from tactician.process import RetryPolicy


def wrong_agent(description: object, planner: object) -> Iterator[str]:
    """What is wrong with what `@planned_agent` says."""
    if not _is_text(description):
        yield f"the description is {description!r}; say what the agent is for, as others choose it by that"
    if planner not in tuple(Planner):
        known = ", ".join(f"Planner.{one.name}" for one in Planner)
        yield f"there is no planner {planner!r}; write one of {known}"


def wrong_settings(action: ActionMethod) -> Iterator[str]:
    """What is wrong with what `@action` and `@achieves_goal` say."""
    declared, goal = action.declared, action.goal
    if not (_is_number(cost := declared.cost) and cost >= 0):
        yield f"{action.name}: the cost is {cost!r}; it has to be a number from 0 up"
    if not _is_number(value := declared.value):
        yield f"{action.name}: the value is {value!r}; it has to be a number"
    if not isinstance(retry := declared.retry, RetryPolicy | None):
        attempts = retry if isinstance(retry, int) else 3
        yield f"{action.name}: the retry is {retry!r}; write RetryPolicy(attempts={attempts})"
    if declared.blocking and iscoroutinefunction(getattr(action.source.kind, action.attribute)):
        yield f"{action.name}: it is async, and needs no thread; leave `blocking` out"
    if not _is_text(declared.output_binding):
        yield f"{action.name}: the output_binding is {declared.output_binding!r}; it has to be a name"
    if goal is not None and not _is_text(goal.description):
        yield f'{action.name}: its goal has no description; write @achieves_goal("what is reached")'
    if goal is not None and not _is_number(goal.value):
        yield f"{action.name}: the value of its goal is {goal.value!r}; it has to be a number"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
