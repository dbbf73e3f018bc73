"""A Runnable that is not planned, as a planned agent with a single action."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, get_args, get_origin

from tactician.agents.base import find_input_types
from tactician.agents.composition import list_inner
from tactician.agents.function import FunctionRunnable
from tactician.agents.planned.annotations import find_subclasses
from tactician.llm import AssistantMessage, ToolResult, UserMessage
from tactician.llm.messages import SystemMessage
from tactician.planning import Action, Goal
from tactician.process import OperationContext, UserInput
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.board.looks import IsSet
from tactician.process.objects import DEFAULT_BINDING
from tactician.process.state.goals import GoalSpec
from tactician.process.stored_types import type_name
from tactician.runs import Input, Runnable

_OUTPUT: Final = "output"


def build_single_action(runnable: Runnable, output_type: type | None) -> PlannedAgentSpec:
    """Return a spec with an action that runs a Runnable.

    Args:
        runnable: the Runnable.
        output_type: type of its output; any, when `None`.
    """
    name, ran, has_result = runnable.name, f"ran {runnable.name}", f"{runnable.name} has a result"
    # An output of any type may be missing, and must not be mistaken for an input: it has a name of its own.
    kind, binding = (object, _OUTPUT) if output_type is None else (output_type, DEFAULT_BINDING)
    action = ActionSpec(
        Action(name, {ran: False}, {ran: True, has_result: True}),
        runnable.description,
        partial(_perform, runnable),
        needs=(),
        gives=(kind.__name__,),
        output_types=(kind,),
        output_binding=binding,
        sets=(has_result,),
        condition_ran=ran,
        is_serial=True,
    )
    goal = Goal(name, {ran if output_type is None else has_result: True})
    hints = tuple(_list_hints(runnable))
    return PlannedAgentSpec(
        name,
        runnable.description,
        (action,),
        (GoalSpec(goal, runnable.description, (kind,), binding),),
        observations={condition: IsSet(condition) for condition in (ran, has_result)},
        instance=runnable,
        types={type_name(kind): kind for base in hints if isinstance(base, type) for kind in find_subclasses(base)},
        generics={origin: hint for hint in hints if isinstance(origin := get_origin(hint), type)},
        bindings=frozenset({binding} - {DEFAULT_BINDING}),
        is_planned=False,
    )


def _list_hints(runnable: Runnable) -> Iterator[object]:
    """Yield the types of what a process of a Runnable begins with, and of what the Runnable and its parts may give."""
    yield from (UserInput, SystemMessage, UserMessage, AssistantMessage, ToolResult)
    yield from find_input_types(runnable).types
    for part in (runnable, *list_inner(runnable)):
        hint = part.result_type if isinstance(part, FunctionRunnable) else getattr(part, "output_type", None)
        yield from (hint, *get_args(hint))


async def _perform(runnable: Runnable, context: OperationContext) -> object:
    inputs = [_build_input(value) for value in context.blackboard.objects]
    return (await runnable.run(inputs[0] if len(inputs) == 1 else tuple(inputs), context=context.run)).output


def _build_input(value: object) -> Input:
    return value.content if isinstance(value, UserInput) else value
