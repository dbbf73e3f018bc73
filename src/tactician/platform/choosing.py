"""Choice of an agent with a plan from the present objects to the requested type."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tactician.agents import PlannedAgent
from tactician.errors import ConfigurationError
from tactician.process import AgentProcess, PlannedAgentSpec, ProcessOptions, ProcessStatus, ProcessStuckError
from tactician.runs import OutputError, RunContext, RunResult, RunStatus
from tactician.tools import as_text

T = TypeVar("T")
_logger = logging.getLogger(__name__)


async def find_able(
    agents: Iterable[PlannedAgentSpec], objects: tuple[object, ...], options: ProcessOptions | None, context: RunContext
) -> PlannedAgentSpec | None:
    """Return the first agent that has a plan from the objects; `None` when none has."""
    for agent in agents:
        if await _has_plan(agent, objects, options, context):
            return agent
    return None


async def run_inside(
    agent: PlannedAgentSpec,
    agents: Sequence[PlannedAgentSpec],
    kind: type[T],
    objects: tuple[object, ...],
    options: ProcessOptions | None,
    context: RunContext,
) -> T:
    """Run an agent inside a run, and return the object of a type that it gives.

    Args:
        agent: the agent.
        agents: all agents with a goal of the type, for the reasons why none has a plan.
        kind: the type.
        objects: the objects that the agent begins with.
        options: the options of its process.
        context: the context of the run around it.

    Raises:
        ProcessStuckError: when no agent has a plan from these objects.
        ProcessFailedError: when an action raises.
        ConfigurationError: when it has to wait where the run around it cannot.
        OutputError: when it gives another type.
    """
    try:
        result = await PlannedAgent.of(agent).run(objects, options=options, context=context)
    except ProcessStuckError as stuck:
        if isinstance(stuck.process, AgentProcess):
            await raise_if_none_can(agents, stuck.process, objects, options, context)
        raise
    if isinstance(result.output, kind):
        return result.output
    if result.status is RunStatus.WAITING:
        raise ConfigurationError(f"{agent.name} waits for somebody, which the run around it cannot.")
    problem = f"{agent.name} gave a {type(result.output).__name__} and not a {kind.__name__}"
    failed = RunResult(None, RunStatus.FAILED, tally=result.tally, run_id=result.run_id)
    raise OutputError(problem, failed, as_text(result.output))


async def raise_if_none_can(
    agents: Sequence[PlannedAgentSpec],
    process: AgentProcess,
    objects: tuple[object, ...],
    options: ProcessOptions | None,
    context: RunContext,
) -> None:
    """Raise if there are several agents, and none of them has a plan: the process of the first is stuck at once.

    Raises:
        ProcessStuckError: with what each of them lacks.
    """
    if len(agents) < 2 or process.status is not ProcessStatus.STUCK or process.history:
        return
    others = [AgentProcess.create(agent, objects, context.child(agent.name), options) for agent in agents[1:]]
    reasons = " ".join([await _lack(other) for other in others])
    raise ProcessStuckError(
        f"{process.agent.name} is stuck: {process.failure} The others have no plan either. {reasons}", process
    )


async def _lack(process: AgentProcess) -> str:
    try:
        return f"{process.agent.name}: {await process.explain_stuck()}"
    except Exception as error:  # a condition that raises
        return f"{process.agent.name}: {type(error).__name__}: {error}."


async def _has_plan(
    agent: PlannedAgentSpec, objects: tuple[object, ...], options: ProcessOptions | None, context: RunContext
) -> bool:
    try:
        process = AgentProcess.create(agent, objects, context.child(agent.name), options)
        return await process.outlook() is not None
    except Exception:  # a condition that raises: not the agent to choose, where there is another
        _logger.debug("%s cannot plan", agent.name, exc_info=True)
        return False
