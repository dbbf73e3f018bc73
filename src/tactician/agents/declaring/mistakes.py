"""What is wrong with declarations, though each of them can be read."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from itertools import pairwise

from tactician.agents.declaring.expressions import is_expression
from tactician.agents.declaring.hints import is_class, written
from tactician.agents.declaring.methods import ActionMethod, Declarations
from tactician.agents.declaring.settings import wrong_settings
from tactician.agents.declaring.unreachable import similar, unreachable
from tactician.agents.declaring.words import Words
from tactician.process.phases import state_of


def mistakes_in(declared: Declarations, words: Words, *, needs_goal: bool) -> Iterator[str]:
    """A sentence for each: where it is, what it is, and what to do."""
    if not declared.actions:
        yield "it has no action; declare at least one method with @action"
    elif needs_goal and not any(action.goal for action in declared.actions):
        yield 'it has no goal; add @achieves_goal("...") to the action that completes its work'
    for action in declared.actions:
        yield from wrong_settings(action)
        yield from _unknown_costs(action, declared)
        yield from _unknown_conditions(action, declared, words)
        yield from _impossible(action)
        if action.goal is not None and (state := next(_states(action.outputs), None)) is not None:
            yield f"{action.name}: it reaches a goal and enters the state {state.__name__}; let it do one of the two"
    yield from _missing_arguments(declared)
    yield from _misleading_names(declared, words)
    yield from _dead_ends(declared)
    yield from _same_exports(declared)
    yield from unreachable(declared, words)


def _unknown_costs(action: ActionMethod, declared: Declarations) -> Iterator[str]:
    for name in (action.cost_method, action.value_method):
        if name is not None and name not in declared.costs:
            hint = similar(name, declared.costs) or "declare a method with @cost"
            yield f"{action.name}: no cost {name!r}; {hint}"


def _unknown_conditions(action: ActionMethod, declared: Declarations, words: Words) -> Iterator[str]:
    known = {*declared.conditions, *(name for one in declared.actions for name in one.post)}
    for name in action.post:
        if is_expression(name):
            yield f"{action.name}: {name!r} in `post`: nothing can make an expression true; give the condition a name"
        elif ": " in name and name not in words.things:
            hint = similar(name, words.things) or "write a name and a type that is known, as in 'user: User'"
            yield f"{action.name}: {name!r} in `post`: there is no such type; {hint}"
    for name in action.pre:
        if name not in known and not is_expression(name):
            hint = similar(name, known) or "declare a @condition, or an action with it in `post`"
            yield f"{action.name}: no condition {name!r}; {hint}"


def _impossible(action: ActionMethod) -> Iterator[str]:
    if (trigger := action.declared.trigger) is not None and not is_class(trigger):
        yield f"{action.name}: the trigger is {written(trigger)}, which is no class; name a class"
    states = list(_states(parameter.type for parameter in action.signature.required))
    for one, other in pairwise(states):
        if not (issubclass(one, other) or issubclass(other, one)):
            yield (
                f"{action.name}: it can never run, as it needs {one.__name__} and {other.__name__}, and a process is "
                "in one state at a time; pass what it needs in a field of the state"
            )


def _missing_arguments(declared: Declarations) -> Iterator[str]:
    for cost in declared.costs.values():
        for parameter in cost.signature.parameters:
            if parameter.required:
                kind = parameter.type.__name__
                yield (
                    f"{cost.name}: parameter {parameter.name!r} may be missing when a plan is made; write {kind} | None"
                )


def _misleading_names(declared: Declarations, words: Words) -> Iterator[str]:
    taken = {*words.things, *(action.ran for action in declared.actions)}
    for name in dict.fromkeys((*declared.conditions, *(name for one in declared.actions for name in one.post))):
        if name in taken and ": " not in name:
            yield (
                f"the condition {name!r} has the name of a type, or of what tells that an action ran; "
                "give it another name"
            )


def _dead_ends(declared: Declarations) -> Iterator[str]:
    taken = {parameter.type for action in declared.actions for parameter in action.signature.needs}
    for state in declared.states:
        is_base = any(other is not state and issubclass(other, state) for other in declared.states)
        if not is_base and not any(issubclass(state, kind) for kind in taken):
            yield (
                f"{state.__name__}: nothing can be done in this state; declare a method of it with @action, or import "
                "the modules of its subclasses first"
            )


def _same_exports(declared: Declarations) -> Iterator[str]:
    exported: set[str] = set()
    for action in declared.actions:
        name = getattr(action.goal.export, "name", None) if action.goal is not None else None
        if not isinstance(name, str):
            continue
        if name in exported:
            yield f"{action.name}: another goal is exported as {name!r}; give each a name of its own"
        exported.add(name)


def _states(kinds: Collection[type] | Iterator[type]) -> Iterator[type]:
    return (kind for kind in kinds if state_of(kind) is not None)


def wrong_handler(owner: type) -> Iterator[str]:
    """What is wrong with the `handle_stuck` of a class."""
    if (handler := getattr(owner, "handle_stuck", None)) is None:
        return
    try:
        inspect.signature(handler).bind(None, None)
    except TypeError:
        yield "handle_stuck: it has to take the process; write `async def handle_stuck(self, process) -> bool`"
