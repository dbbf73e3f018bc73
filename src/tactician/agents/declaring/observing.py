"""How conditions and prices are found out while a process runs."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from operator import methodcaller

from tactician.agents.declaring import evaluation
from tactician.agents.declaring.methods import Declarations, Method
from tactician.agents.declaring.words import Words
from tactician.agents.parameters import Parameter
from tactician.process import Blackboard, Look, Observe, OperationContext, Price


def observations(declared: Declarations, words: Words, needed: Iterable[str]) -> dict[str, Look]:
    """Those of the needed conditions that cost nothing to see."""
    seen: dict[str, Look] = {}
    for label, thing in words.things.items():
        seen[label] = seen[words.already(thing)] = partial(_is_there, thing)
    for action in declared.actions:
        outputs = tuple(words.output(kind, action) for kind in action.outputs)
        if len(outputs) > 1:
            seen[words.any_output_label(action)] = partial(_is_one_there, outputs)
    for kind in words.triggers:
        seen[words.newest(kind)] = partial(_is_newest, kind)
    found_out = {*declared.conditions, *declared.expressions}
    return {name: seen.get(name) or methodcaller("condition", name) for name in needed if name not in found_out}


def conditions(declared: Declarations, needed: Iterable[str]) -> dict[str, Observe]:
    """Those of the needed conditions that are found out by methods and expressions."""
    found: dict[str, Observe] = {}
    for name in needed:
        if (method := declared.conditions.get(name)) is not None:
            found[name] = partial(_holds, method)
        elif (expression := declared.expressions.get(name)) is not None:
            found[name] = partial(evaluation.holds, expression)
    return found


def prices(declared: Declarations) -> dict[str, Price]:
    """The costs and values that actions ask for."""
    used = (name for action in declared.actions for name in (action.cost_method, action.value_method))
    return {name: partial(_price, declared.costs[name]) for name in used if name is not None}


def _is_there(thing: Parameter, blackboard: Blackboard) -> bool:
    return thing.find(blackboard) is not None


def _is_one_there(things: Sequence[Parameter], blackboard: Blackboard) -> bool:
    return any(_is_there(thing, blackboard) for thing in things)


def _is_newest(kind: type, blackboard: Blackboard) -> bool:
    return isinstance(blackboard.newest, kind)


def _holds(method: Method, context: OperationContext) -> bool | Awaitable[bool]:
    if not method.can_be_called(context):
        return False
    result = method.call(context)
    return result if isinstance(result, Awaitable) else bool(result)


def _price(method: Method, context: OperationContext) -> float | Awaitable[float]:
    # What it returns is checked where it is used. A cost of a state that is not there is not asked for.
    if not method.can_be_called(context):
        return 0.0
    return method.call(context)  # type: ignore[return-value]
