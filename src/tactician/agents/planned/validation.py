"""Validation of declarations: wrong settings, unknown names and impossible requirements."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from inspect import iscoroutinefunction
from itertools import chain, combinations
from math import isfinite
from typing import Final

from tactician.agents.planned.annotations import format_hint, is_class
from tactician.agents.planned.condition_names import ConditionNames
from tactician.agents.planned.declarations import ActionDeclaration, GoalDeclaration, Planner
from tactician.agents.planned.methods import NOT, ActionMethod, Declarations
from tactician.agents.planned.unreachable import find_unreachable, suggest_similar
from tactician.planning import MEASURED, PlanningBudget
from tactician.planning.expressions import PREFIX, is_expression
from tactician.process import ActionRetryPolicy, Export
from tactician.process.objects import get_state_declaration

_SET_FROM_OUTSIDE: Final = (
    "declare a @condition, or an action with it in `post`; a condition set from outside, with "
    "`blackboard.set_condition`, is declared by a @condition that takes `blackboard: Blackboard` and returns "
    "`blackboard.condition({name!r})`"
)
_NAMES: Final = {
    "pre": "write the name of a @condition, or an expression",
    "post": "write the name of a condition",
    "tool_groups": "write the name of a ToolGroup",
}


def validate_agent(description: object, planner: object, planning: object, objective: object) -> Iterator[str]:
    """Yield the mistakes in the declaration of `@planned_agent`."""
    if not _is_text(description):
        yield f"the description is {description!r}; say what the agent is for, as others choose it by that"
    if planner not in tuple(Planner):
        planner_names = ", ".join(f"Planner.{member.name}" for member in Planner)
        yield f"there is no planner {planner!r}; use one of {planner_names}"
    if not isinstance(planning, PlanningBudget | None):
        yield f"planning is {planning!r}; write planning=PlanningBudget(time=5.0)"
    if objective is not None:
        from tactician.planning import Objective

        if not isinstance(objective, Objective):
            yield f"objective is {objective!r}; write objective=Objective.DOLLARS"


def validate_resolvers(resolvers: Mapping[type, object]) -> Iterator[str]:
    """Yield the mistakes in the `resolvers` of a class."""
    for kind, provide in resolvers.items():
        if not is_class(kind):
            yield f"the resolvers have {kind!r}, which is not a class; name the class of a parameter"
        if not callable(provide):
            yield f"the resolver of {format_hint(kind)} is {provide!r}; write a function of the OperationContext"


def validate_settings(action: ActionMethod) -> Iterator[str]:
    """Yield the mistakes in the declarations of `@action` and `@achieves_goal`."""
    declared, goal = action.declared, action.goal
    problems = chain(
        _validate_values(declared), _validate_names(declared), () if goal is None else _validate_goal(goal)
    )
    yield from (f"{action.name}: {problem}" for problem in problems)
    if declared.blocking is True and iscoroutinefunction(getattr(action.source.kind, action.attribute)):
        yield f"{action.name}: it is async, and needs no thread; leave `blocking` out"


def _validate_values(declared: ActionDeclaration) -> Iterator[str]:
    if (cost := declared.cost) != MEASURED and not (_is_number(cost) and cost >= 0):
        yield f"the cost is {cost!r}; it must be a number from 0 up, or MEASURED"
    if not _is_number(value := declared.value):
        yield f"the value is {value!r}; it must be a number"
    if not isinstance(retry := declared.retry, ActionRetryPolicy | None):
        attempts = retry if isinstance(retry, int) else 3
        yield f"the retry is {retry!r}; write ActionRetryPolicy(attempts={attempts})"
    for name in ("can_rerun", "clear_blackboard", "blocking"):
        yield from _validate_flag(name, getattr(declared, name))


def _validate_names(declared: ActionDeclaration) -> Iterator[str]:
    if not isinstance(declared.description, str | None):
        yield f"the description is {declared.description!r}; it must be a text"
    if not _is_text(declared.output_binding):
        yield f"the output_binding is {declared.output_binding!r}; it must be a name"
    for setting in ("cost_method", "value_method"):
        if not isinstance(method := getattr(declared, setting), str | None):
            yield f"the {setting} is {method!r}; write the name of a @cost method"
    for setting, remedy in _NAMES.items():
        for name in getattr(declared, setting):
            if not _is_text(name):
                yield f"{name!r} in `{setting}` is not a name; {remedy}"


def _validate_goal(goal: GoalDeclaration) -> Iterator[str]:
    if not _is_text(goal.description):
        yield 'its goal has no description; write @achieves_goal("The report is written")'
    if not _is_number(goal.value):
        yield f"the value of its goal is {goal.value!r}; it must be a number"
    export: object = goal.export
    if isinstance(export, Export):
        yield from _validate_export(export)
    else:
        yield f"the export is {export!r}; write Export(name=...)"


def _validate_export(export: Export) -> Iterator[str]:
    if not (export.name is None or _is_text(export.name)):
        yield f"Export.name is {export.name!r}; it must be a name"
    for name in ("remote", "local"):
        yield from _validate_flag(f"Export.{name}", getattr(export, name))
    kinds: object = export.starting_input_types
    if isinstance(kinds, str) or not isinstance(kinds, Sequence):
        yield f"Export.starting_input_types is {kinds!r}; write a list of classes, as in [Order]"
        return
    for kind in (
        each_kind for several in kinds for each_kind in (several if isinstance(several, tuple) else (several,))
    ):
        if not is_class(kind):
            yield f"{kind!r} in Export.starting_input_types is not a class; write the class itself, as in [Order]"


def _validate_flag(name: str, value: object) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{name} is {value!r}; it must be True or False"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def validate_declarations(declared: Declarations, words: ConditionNames, *, needs_goal: bool) -> Iterator[str]:
    """Yield a sentence for each mistake, with its place and the remedy."""
    if not declared.actions:
        yield "it has no action; declare at least one method with @action"
    elif needs_goal and not any(action.goal for action in declared.actions):
        yield 'it has no goal; add @achieves_goal("...") to the action that completes its work'
    for action in declared.actions:
        yield from validate_settings(action)
        yield from _find_unknown_costs(action, declared)
        yield from _find_unknown_conditions(action, declared, words)
        yield from _find_impossible(action)
        if action.goal is not None and (state := next(_select_states(action.outputs), None)) is not None:
            yield f"{action.name}: it reaches a goal and enters the state {state.__name__}; split it into two actions"
    yield from _find_missing_arguments(declared)
    yield from _find_misleading_names(declared, words)
    yield from _find_dead_ends(declared)
    yield from _find_duplicate_exports(declared)
    yield from find_unreachable(declared, words)


def _find_unknown_costs(action: ActionMethod, declared: Declarations) -> Iterator[str]:
    for name in (action.cost_method, action.value_method):
        if name is not None and name not in declared.costs:
            hint = suggest_similar(name, declared.costs) or "declare a method with @cost"
            yield f"{action.name}: no cost {name!r}; {hint}"


def _find_unknown_conditions(action: ActionMethod, declared: Declarations, words: ConditionNames) -> Iterator[str]:
    declared_conditions = {*declared.conditions, *(name for rival in declared.actions for name in rival.post)}
    for name in action.post:
        if is_expression(name):
            yield f"{action.name}: {name!r} in `post`: nothing can make an expression true; give the condition a name"
        elif ": " in name and name not in words.things:
            hint = suggest_similar(name, words.things) or "write a name and a type that is known, as in 'user: User'"
            yield f"{action.name}: {name!r} in `post`: there is no such type; {hint}"
    for name in (pre.removeprefix(NOT) for pre in action.pre):
        if name not in declared_conditions and not is_expression(name):
            hint = suggest_similar(name, declared_conditions) or _SET_FROM_OUTSIDE.format(name=name)
            yield f"{action.name}: no condition {name!r}; {hint}"
    yield from _find_wrong_negations(action)


def _find_wrong_negations(action: ActionMethod) -> Iterator[str]:
    for name in action.post:
        if name.startswith(NOT):
            yield (
                f"{action.name}: {name!r} in `post`: an action makes conditions true; to end a condition, call "
                f"`blackboard.set_condition({name.removeprefix(NOT)!r}, False)` in it"
            )
    for name in action.pre:
        negated = name.removeprefix(NOT)
        if name.startswith(NOT) and is_expression(negated):
            plain = negated.removeprefix(PREFIX).strip()
            yield f"{action.name}: {name!r} in `pre`: write '{PREFIX} not ({plain})'"
        elif name.startswith(NOT) and negated in action.pre:
            yield f"{action.name}: it can never run, as it needs {negated!r} and {name!r}"


def _find_impossible(action: ActionMethod) -> Iterator[str]:
    if (trigger := action.declared.trigger) is not None and not is_class(trigger):
        yield f"{action.name}: the trigger is {format_hint(trigger)}, which is not a class; name a class"
    states = list(_select_states(parameter.type for parameter in action.signature.required))
    for first, other in combinations(states, 2):
        if not (issubclass(first, other) or issubclass(other, first)):
            yield (
                f"{action.name}: it can never run, as it needs {first.__name__} and {other.__name__}, and a process is "
                "in one state at a time; pass what it needs in a field of the state"
            )


def _find_missing_arguments(declared: Declarations) -> Iterator[str]:
    for cost in declared.costs.values():
        for parameter in cost.signature.parameters:
            if parameter.required:
                kind = parameter.type.__name__
                yield (
                    f"{cost.name}: parameter {parameter.name!r} may be missing when a plan is made; write {kind} | None"
                )


def _find_misleading_names(declared: Declarations, words: ConditionNames) -> Iterator[str]:
    taken = {*words.things, *(action.ran for action in declared.actions)}
    for name in dict.fromkeys((*declared.conditions, *(name for rival in declared.actions for name in rival.post))):
        if name in taken and ": " not in name:
            yield (f"the condition {name!r} has the name of a type, or of the condition that an action ran; rename it")


def _find_dead_ends(declared: Declarations) -> Iterator[str]:
    taken = {parameter.type for action in declared.actions for parameter in action.signature.needs}
    for state in declared.states:
        is_base = any(other is not state and issubclass(other, state) for other in declared.states)
        if not is_base and not any(issubclass(state, kind) for kind in taken):
            yield (
                f"{state.__name__}: nothing can be done in this state; declare a method of it with @action, or import "
                "the modules of its subclasses first"
            )


def _find_duplicate_exports(declared: Declarations) -> Iterator[str]:
    exported: set[str] = set()
    for action in declared.actions:
        name = getattr(action.goal.export, "name", None) if action.goal is not None else None
        if not isinstance(name, str):
            continue
        if name in exported:
            yield f"{action.name}: another goal is exported as {name!r}; give each a name of its own"
        exported.add(name)


def _select_states(kinds: Collection[type] | Iterator[type]) -> Iterator[type]:
    return (kind for kind in kinds if get_state_declaration(kind) is not None)


def validate_stuck_handler(owner: type) -> Iterator[str]:
    """Yield the mistakes in the `handle_stuck` of a class."""
    if (handler := getattr(owner, "handle_stuck", None)) is None:
        return
    try:
        inspect.signature(handler).bind(None, None)
    except TypeError:
        yield "handle_stuck: it must take the process; write `async def handle_stuck(self, process) -> bool`"
