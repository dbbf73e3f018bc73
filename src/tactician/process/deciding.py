"""Observe and orient: what holds now, and the best plan from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tactician.planning import ConditionValue, Plan, WorldState
from tactician.process.context import OperationContext
from tactician.process.pricing import priced
from tactician.process.spec import Observe

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
    agent, goals = process.agent, tuple(goal.plan for goal in process.agent.goals)
    world = await priced(WorldState(await _seen(agent.observations, context)), agent, context)
    if not agent.conditions:
        return Decision(agent.planner.best(world, process.plannable, goals), world)
    consultation = agent.planner.consult(world, process.plannable, goals)
    while (question := consultation.question) is not None:
        observe = agent.conditions.get(question)
        consultation.answer(None if observe is None else (await _seen({question: observe}, context))[question])
    return Decision(consultation.plan, consultation.world)


async def observe(process: AgentProcess, context: OperationContext) -> WorldState:
    """The value of every condition now."""
    agent = process.agent
    world = await _seen({**agent.observations, **agent.conditions}, context)
    return await priced(WorldState(world), agent, context)


async def _seen(observations: Mapping[str, Observe], context: OperationContext) -> dict[str, ConditionValue]:
    world: dict[str, ConditionValue] = {}
    for name, look in observations.items():
        try:
            value = look(context)
            world[name] = value if isinstance(value, bool) else bool(await value)
        except Exception as error:
            error.add_note(f"in the condition {name!r}")
            raise
    return world
