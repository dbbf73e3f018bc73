"""What is wrong with the values that decorators were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import iscoroutinefunction
from itertools import chain
from math import isfinite
from typing import Final

from tactician.agents.declarations import ActionDeclaration, GoalDeclaration
from tactician.agents.declaring.hints import is_class, written
from tactician.agents.declaring.methods import ActionMethod
from tactician.agents.planners import Planner
from tactician.process import ActionRetryPolicy, Export

_NAMES: Final = {
    "pre": "write the name of a @condition, or an expression",
    "post": "write the name of a condition",
    "tool_groups": "write the name of a ToolGroup",
}


def wrong_agent(description: object, planner: object) -> Iterator[str]:
    """What is wrong with what `@planned_agent` says."""
    if not _is_text(description):
        yield f"the description is {description!r}; say what the agent is for, as others choose it by that"
    if planner not in tuple(Planner):
        known = ", ".join(f"Planner.{one.name}" for one in Planner)
        yield f"there is no planner {planner!r}; write one of {known}"


def wrong_resolvers(resolvers: Mapping[type, object]) -> Iterator[str]:
    """What is wrong with the `resolvers` of a class."""
    for kind, provide in resolvers.items():
        if not is_class(kind):
            yield f"the resolvers have {kind!r}, which is no class; name the class of a parameter"
        if not callable(provide):
            yield f"the resolver of {written(kind)} is {provide!r}; write a function of the OperationContext"


def wrong_settings(action: ActionMethod) -> Iterator[str]:
    """What is wrong with what `@action` and `@achieves_goal` say."""
    declared, goal = action.declared, action.goal
    told = chain(_wrong_values(declared), _wrong_names(declared), () if goal is None else _wrong_goal(goal))
    yield from (f"{action.name}: {problem}" for problem in told)
    if declared.blocking is True and iscoroutinefunction(getattr(action.source.kind, action.attribute)):
        yield f"{action.name}: it is async, and needs no thread; leave `blocking` out"


def _wrong_values(declared: ActionDeclaration) -> Iterator[str]:
    if not (_is_number(cost := declared.cost) and cost >= 0):
        yield f"the cost is {cost!r}; it has to be a number from 0 up"
    if not _is_number(value := declared.value):
        yield f"the value is {value!r}; it has to be a number"
    if not isinstance(retry := declared.retry, ActionRetryPolicy | None):
        attempts = retry if isinstance(retry, int) else 3
        yield f"the retry is {retry!r}; write ActionRetryPolicy(attempts={attempts})"
    for name in ("can_rerun", "clear_blackboard", "blocking"):
        yield from _no_flag(name, getattr(declared, name))


def _wrong_names(declared: ActionDeclaration) -> Iterator[str]:
    if not isinstance(declared.description, str | None):
        yield f"the description is {declared.description!r}; it has to be a text"
    if not _is_text(declared.output_binding):
        yield f"the output_binding is {declared.output_binding!r}; it has to be a name"
    for setting in ("cost_method", "value_method"):
        if not isinstance(method := getattr(declared, setting), str | None):
            yield f"the {setting} is {method!r}; write the name of a @cost method"
    for setting, remedy in _NAMES.items():
        for name in getattr(declared, setting):
            if not _is_text(name):
                yield f"{name!r} in `{setting}` is no name; {remedy}"


def _wrong_goal(goal: GoalDeclaration) -> Iterator[str]:
    if not _is_text(goal.description):
        yield 'its goal has no description; write @achieves_goal("what is reached")'
    if not _is_number(goal.value):
        yield f"the value of its goal is {goal.value!r}; it has to be a number"
    export: object = goal.export
    if isinstance(export, Export):
        yield from _wrong_export(export)
    else:
        yield f"the export is {export!r}; write Export(name=...)"


def _wrong_export(export: Export) -> Iterator[str]:
    if not (export.name is None or _is_text(export.name)):
        yield f"Export.name is {export.name!r}; it has to be a name"
    for name in ("remote", "local"):
        yield from _no_flag(f"Export.{name}", getattr(export, name))
    kinds: object = export.starting_input_types
    if isinstance(kinds, str) or not isinstance(kinds, Sequence):
        yield f"Export.starting_input_types is {kinds!r}; write a list of classes, as in [Order]"
        return
    for kind in kinds:
        if not is_class(kind):
            yield f"{kind!r} in Export.starting_input_types is no class; write the class itself, as in [Order]"


def _no_flag(name: str, value: object) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{name} is {value!r}; it has to be True or False"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
