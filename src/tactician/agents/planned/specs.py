"""Any object as a Runnable, and any Runnable as a planned agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final, get_args, get_origin

from tactician.agents.base import BaseRunnable, find_input_types
from tactician.agents.composition import list_inner
from tactician.agents.function import FunctionRunnable
from tactician.agents.planned.annotations import find_subclasses
from tactician.agents.planned.planned_agent import PlannedAgent, is_planned
from tactician.llm import AssistantMessage, SystemMessage, ToolResult, UserMessage
from tactician.planning import Action, Goal
from tactician.process import (
    DEFAULT_BINDING,
    ActionSpec,
    GoalSpec,
    IsSet,
    OperationContext,
    PlannedAgentSpec,
    UserInput,
    type_name,
)
from tactician.runs import Input, Runnable

_OUTPUT: Final = "output"


def as_runnable(value: object) -> Runnable | None:
    """Return the value as a Runnable, also an instance of a `@planned_agent` class; `None` for another value."""
    if isinstance(value, type):
        return None
    if is_planned(value):
        return PlannedAgent(value)
    return value if isinstance(value, Runnable) else None


def planned_spec(runnable: Runnable) -> PlannedAgentSpec | None:
    """Return the actions and goals of a planned agent; `None` for another Runnable."""
    return runnable.planned_spec if isinstance(runnable, BaseRunnable) else None


def find_planned_specs(runnables: Iterable[Runnable]) -> list[PlannedAgentSpec]:
    """Return the specs of the planned agents among these Runnables."""
    return [spec for runnable in runnables if (spec := planned_spec(runnable)) is not None]


def find_process_spec(runnable: Runnable) -> PlannedAgentSpec | None:
    """Return the spec of a Runnable that declares its output; `None` when its output type is unknown."""
    return build_process_spec(runnable) if _find_output_type(runnable) or planned_spec(runnable) else None


def build_process_spec(runnable: Runnable) -> PlannedAgentSpec:
    """Return the spec for processes of a Runnable. A Runnable that is not planned gets an action that runs it."""
    return planned_spec(runnable) or _build_single_action(runnable, _find_output_type(runnable) or object)


def _find_output_type(runnable: Runnable) -> type | None:
    output_type = runnable.output_type if isinstance(runnable, BaseRunnable) else None
    return output_type if isinstance(output_type, type) else None


def _build_single_action(runnable: Runnable, output_type: type) -> PlannedAgentSpec:
    name, ran, has_result = runnable.name, f"ran {runnable.name}", f"{runnable.name} has a result"
    # An output of any type may be missing, and must not be mistaken for an input: it has a name of its own.
    is_known = output_type is not object
    binding = DEFAULT_BINDING if is_known else _OUTPUT
    action = ActionSpec(
        Action(name, {ran: False}, {ran: True, has_result: True}),
        runnable.description,
        partial(_perform, runnable),
        needs=(),
        gives=(output_type.__name__,),
        output_types=(output_type,),
        output_binding=binding,
        sets=(has_result,),
        condition_ran=ran,
        is_serial=True,
    )
    goal = Goal(name, {has_result if is_known else ran: True})
    hints = tuple(_list_hints(runnable))
    return PlannedAgentSpec(
        name,
        runnable.description,
        (action,),
        (GoalSpec(goal, runnable.description, (output_type,), binding),),
        observations={condition: IsSet(condition) for condition in (ran, has_result)},
        instance=runnable,
        types={type_name(kind): kind for base in hints if isinstance(base, type) for kind in find_subclasses(base)},
        generics={origin: hint for hint in hints if isinstance(origin := get_origin(hint), type)},
        bindings=frozenset({binding} - {DEFAULT_BINDING}),
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
