"""Runnables of a known output type as planned agents of one action: a goal finds them, and they have processes."""

from __future__ import annotations

from functools import partial

from tactician.agents.base import BaseRunnable
from tactician.agents.planned.annotations import descendants
from tactician.agents.planned.planned_agent import PlannedAgent
from tactician.planning import Action, Goal
from tactician.process import (
    DEFAULT_BINDING,
    ActionSpec,
    Blackboard,
    GoalSpec,
    OperationContext,
    PlannedAgentSpec,
    UserInput,
    type_name,
)
from tactician.runs import Input, Runnable


def as_planned(runnable: Runnable) -> PlannedAgent | None:
    """The Runnable as an agent whose one action runs it, with all that it is started with; `None` for one that does
    not say what it gives."""
    wanted = runnable.output_type if isinstance(runnable, BaseRunnable) else None
    return PlannedAgent.of(_spec(runnable, wanted)) if isinstance(wanted, type) else None


def _spec(runnable: Runnable, wanted: type) -> PlannedAgentSpec:
    name, ran, given = runnable.name, f"ran {runnable.name}", f"{runnable.name} has given something"
    action = ActionSpec(
        Action(name, {ran: False}, {ran: True, given: True}),
        runnable.description,
        partial(_perform, runnable),
        needs=(),
        gives=(wanted.__name__,),
        output_types=(wanted,),
        output_binding=DEFAULT_BINDING,
        sets=(given,),
        condition_ran=ran,
        is_serial=True,
    )
    return PlannedAgentSpec(
        name,
        runnable.description,
        (action,),
        (GoalSpec(Goal(name, {given: True}), runnable.description, (wanted,), DEFAULT_BINDING),),
        observations={condition: partial(_was_set, condition) for condition in (ran, given)},
        instance=runnable,
        types={type_name(kind): kind for one in (UserInput, wanted) for kind in descendants(one)},
    )


async def _perform(runnable: Runnable, context: OperationContext) -> object:
    given = [_input(value) for value in context.blackboard.objects]
    return (await runnable.run(given[0] if len(given) == 1 else tuple(given), context=context.run)).output


def _input(value: object) -> Input:
    return value.content if isinstance(value, UserInput) else value


def _was_set(condition: str, blackboard: Blackboard) -> bool:
    return blackboard.condition(condition)
