"""Which of several agents that could give what is wanted has a plan from what there is."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tactician.agents import PlannedAgent
from tactician.process import ProcessOptions
from tactician.runs import RunContext

_logger = logging.getLogger(__name__)


async def able(
    agents: Sequence[PlannedAgent], objects: tuple[object, ...], options: ProcessOptions | None, context: RunContext
) -> PlannedAgent:
    """The first agent that has a plan from the objects; the first of all, when none has."""
    if len(agents) > 1:
        for agent in agents:
            if await _has_plan(agent, objects, options, context):
                return agent
    return agents[0]


async def _has_plan(
    agent: PlannedAgent, objects: tuple[object, ...], options: ProcessOptions | None, context: RunContext
) -> bool:
    try:
        return await agent.process(*objects, context=context, options=options).outlook() is not None
    except Exception:  # a condition that raises: not the agent to choose, where there is another
        _logger.debug("%r cannot plan", agent, exc_info=True)
        return False
