"""Any object as a Runnable, and any Runnable with a known output type as a planned agent."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tactician.agents.base import BaseRunnable
from tactician.agents.planned.annotations import find_subclasses
from tactician.agents.planned.planned_agent import PlannedAgent, is_planned
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
    """Return the spec for processes of a Runnable; `None` when its output type is unknown.

    A Runnable that is not planned gets an action that runs it.
    """
    if (spec := planned_spec(runnable)) is not None:
        return spec
    output_type = runnable.output_type if isinstance(runnable, BaseRunnable) else None
    return _build_single_action(runnable, output_type) if isinstance(output_type, type) else None


def _build_single_action(runnable: Runnable, output_type: type) -> PlannedAgentSpec:
    name, ran, has_result = runnable.name, f"ran {runnable.name}", f"{runnable.name} has a result"
    action = ActionSpec(
        Action(name, {ran: False}, {ran: True, has_result: True}),
        runnable.description,
        partial(_perform, runnable),
        needs=(),
        gives=(output_type.__name__,),
        output_types=(output_type,),
        output_binding=DEFAULT_BINDING,
        sets=(has_result,),
        condition_ran=ran,
        is_serial=True,
    )
    return PlannedAgentSpec(
        name,
        runnable.description,
        (action,),
        (GoalSpec(Goal(name, {has_result: True}), runnable.description, (output_type,), DEFAULT_BINDING),),
        observations={condition: IsSet(condition) for condition in (ran, has_result)},
        instance=runnable,
        types={type_name(kind): kind for base in (UserInput, output_type) for kind in find_subclasses(base)},
    )


async def _perform(runnable: Runnable, context: OperationContext) -> object:
    inputs = [_build_input(value) for value in context.blackboard.objects]
    return (await runnable.run(inputs[0] if len(inputs) == 1 else tuple(inputs), context=context.run)).output


def _build_input(value: object) -> Input:
    return value.content if isinstance(value, UserInput) else value
