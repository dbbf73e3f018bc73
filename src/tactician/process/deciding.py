"""Observe and orient: what holds now, and the best plan from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tactician.planning import Action, ConditionValue, Plan, WorldState
from tactician.process.context import OperationContext
from tactician.process.phases import scopes
from tactician.process.pricing import priced
from tactician.process.spec import Observe, PlannedAgentSpec

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess


class Decision(NamedTuple):
    """The best plan, if there is one, and the world that it was made for."""

    plan: Plan | None
    world: WorldState


async def decide(process: AgentProcess, context: OperationContext) -> Decision:
    """The best plan from here.

    What can simply be seen is looked at; other conditions, which may ask a model, are found out only where the plan
    depends on them, each once.
    """
    agent = process.agent
    decision = Decision(None, await priced(WorldState(_seen(agent, context)), agent, context))
    for actions in scopes(process, process.plannable):
        decision = await _best(agent, decision.world, actions, context)
        if decision.plan is not None:
            break
    return decision


async def _best(
    agent: PlannedAgentSpec, world: WorldState, actions: tuple[Action, ...], context: OperationContext
) -> Decision:
    """The best plan of these actions."""
    goals = tuple(goal.plan for goal in agent.goals)
    if not agent.conditions:
        return Decision(agent.planner.best(world, actions, goals), world)
    consultation = agent.planner.consult(world, actions, goals)
    while (question := consultation.question) is not None:
        observe = agent.conditions.get(question)
        consultation.answer(None if observe is None else await _found_out(question, observe, context))
    return Decision(consultation.plan, consultation.world)


async def observe(process: AgentProcess, context: OperationContext) -> WorldState:
    """The value of every condition now."""
    agent = process.agent
    found = {name: await _found_out(name, look, context) for name, look in agent.conditions.items()}
    return await priced(WorldState({**_seen(agent, context), **found}), agent, context)


def _seen(agent: PlannedAgentSpec, context: OperationContext) -> dict[str, ConditionValue]:
    blackboard = context.blackboard
    return {name: look(blackboard) for name, look in agent.observations.items()}


async def _found_out(name: str, look: Observe, context: OperationContext) -> bool:
    try:
        holds = look(context)
        return holds if isinstance(holds, bool) else bool(await holds)
    except Exception as error:
        error.add_note(f"in the condition {name!r}")
        raise
