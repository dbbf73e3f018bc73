"""Observe and orient: what holds now, and the best plan from here."""

from __future__ import annotations

from typing import Final, NamedTuple

from tactician.planning import Action, ConditionValue, Plan, WorldState
from tactician.process.context import OperationContext
from tactician.process.phases import scopes
from tactician.process.pricing import priced
from tactician.process.spec import Observe, PlannedAgentSpec, plannable
from tactician.process.state import ProcessState

_MOST_REPLANS: Final = 5


class Decision(NamedTuple):
    """The plan to follow, if there is one, the world that it was made for, and the action that it does without."""

    plan: Plan | None
    world: WorldState
    declined: Action | None = None


async def decide(agent: PlannedAgentSpec, state: ProcessState, context: OperationContext) -> Decision:
    """Choose the plan to follow from here, and change nothing: a look ahead and a tick decide alike.

    Where all depends on the action that asked to plan without it, that action is planned with again.
    """
    if state.replans >= _MOST_REPLANS + state.unstickings:
        return Decision(None, await observe(agent, context), state.declined)
    decision = await _best_without(state.declined, agent, context)
    if decision.plan is None and state.replans and state.declined is not None:
        decision = await _best_without(None, agent, context)
    plan = decision.plan
    return decision if plan is None else decision._replace(plan=state.order.arrange(plan, decision.world))


async def _best_without(declined: Action | None, agent: PlannedAgentSpec, context: OperationContext) -> Decision:
    """Find the best plan that does without one action.

    Conditions that can simply be seen are looked at. Others, which may ask a model, are found out only where the plan
    depends on them, each once.
    """
    world = await priced(WorldState(_seen(agent, context)), agent, context)
    plan = None
    for actions in scopes(agent, context.blackboard, plannable(agent, declined)):
        plan, world = await _best(agent, world, actions, context)
        if plan is not None:
            break
    return Decision(plan, world, declined)


async def _best(
    agent: PlannedAgentSpec, world: WorldState, actions: tuple[Action, ...], context: OperationContext
) -> tuple[Plan | None, WorldState]:
    """Find the best plan of these actions, and the world with what was found out for it."""
    goals = tuple(goal.plan for goal in agent.goals)
    if not agent.conditions:
        return agent.planner.best(world, actions, goals), world
    consultation = agent.planner.consult(world, actions, goals)
    while (question := consultation.question) is not None:
        observe = agent.conditions.get(question)
        consultation.answer(None if observe is None else await _found_out(question, observe, context))
    return consultation.plan, consultation.world


async def observe(agent: PlannedAgentSpec, context: OperationContext) -> WorldState:
    """Evaluate every condition."""
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
