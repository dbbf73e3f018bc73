"""Invocation of agents by the type of their result: the first agent with a plan from the present objects to it runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from tactician.agents import PlannedAgent
from tactician.agents.planned.planned_agent import raise_unless_completed
from tactician.errors import ConfigurationError
from tactician.grammar import add_article
from tactician.loggers import get_logger
from tactician.platform.registry import Registry
from tactician.platform.runner import Objects, Runner
from tactician.process import AgentProcess, ProcessFailedError, ProcessOptions, ProcessStatus, ProcessStuckError
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.runs import OutputError, RunContext, RunResult, RunStatus
from tactician.tools.tool import as_text

T = TypeVar("T")
_logger = get_logger(__name__)


class Invocation:
    """Invocation of the agents of a platform.

    Args:
        registry: registered agents.
        context: context of the runs; of code that runs for an agent, the context of the run around it.
        runner: work on them.
    """

    def __init__(self, registry: Registry, context: RunContext, runner: Runner) -> None:
        self._registry = registry
        self._context = context
        self._runner = runner

    async def invoke(self, kind: type[T], objects: Objects, options: ProcessOptions | None) -> T:
        """Return an object of the requested type; see `Platform.invoke`."""
        if not isinstance(kind, type):
            raise ConfigurationError(f"invoke needs a class first, and {kind!r} is none: invoke(Report, 'a text')")
        agents = self._registry.find_producers(kind)
        together = self._registry.assemble_towards(kind)
        is_only = len(agents) + len(together) == 1
        chosen = None if is_only else await self._find_able((*agents, *together), objects, options)
        if RunContext.find_current() is not None:
            return await self._run_inside(chosen or agents[0], agents, kind, objects, options)
        process = await self._runner.start(chosen or agents[0], objects, options)
        await self._raise_if_none_can(agents, process, objects, options)
        raise_unless_completed(process)
        if isinstance(result := process.result, kind):
            return result
        actual = type(result).__name__
        raise ProcessFailedError(
            f"{process.agent.name} gave {add_article(actual)} and not {add_article(kind.__name__)}", process
        )

    async def assemble_for(self, agent: object, objects: Objects) -> object:
        """Return an agent with a plan from the objects towards a goal of this agent; see `Platform.assemble_for`."""
        spec = self._registry.get_spec(agent)
        kinds = dict.fromkeys(kind for goal in spec.goals for kind in goal.output_types)
        goals = [assembled for kind in kinds for assembled in self._registry.assemble_towards(kind)]
        together = [assembled for assembled in goals if _has_goal(spec, assembled.goals[0].name)]
        if not together or await self._has_plan(spec, objects, None):
            return agent
        able = await self._find_able(together, objects, None)
        return agent if able is None else PlannedAgent.of(able)

    async def _run_inside(
        self,
        agent: PlannedAgentSpec,
        agents: Sequence[PlannedAgentSpec],
        kind: type[T],
        objects: Objects,
        options: ProcessOptions | None,
    ) -> T:
        """Run an agent inside the run whose code asks, and return the object that it gives."""
        try:
            result = await PlannedAgent.of(agent).run(tuple(objects), options=options, context=self._context)
        except ProcessStuckError as stuck:
            if isinstance(stuck.process, AgentProcess):
                await self._raise_if_none_can(agents, stuck.process, objects, options)
            raise
        if isinstance(result.output, kind):
            return result.output
        if result.status is RunStatus.WAITING:
            raise ConfigurationError(f"{agent.name} waits for somebody, which the run around it cannot.")
        problem = f"{agent.name} gave {add_article(type(result.output).__name__)} and not {add_article(kind.__name__)}"
        failed = RunResult(None, RunStatus.FAILED, tally=result.tally, run_id=result.run_id)
        raise OutputError(problem, failed, as_text(result.output))

    async def _find_able(
        self, agents: Iterable[PlannedAgentSpec], objects: Objects, options: ProcessOptions | None
    ) -> PlannedAgentSpec | None:
        """Return the first agent that has a plan from the objects; `None` when none has."""
        for agent in agents:
            if await self._has_plan(agent, objects, options):
                return agent
        return None

    async def _has_plan(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> bool:
        try:
            return await self._create(agent, objects, options).outlook() is not None
        except Exception:  # a condition that raises: not the agent to choose, where there is another
            _logger.debug("%s cannot plan", agent.name, exc_info=True)
            return False

    async def _raise_if_none_can(
        self,
        agents: Sequence[PlannedAgentSpec],
        process: AgentProcess,
        objects: Objects,
        options: ProcessOptions | None,
    ) -> None:
        """Raise if there are several agents, and none of them has a plan: the process of the first is stuck at once.

        Raises:
            ProcessStuckError: with what each of them lacks.
        """
        if len(agents) < 2 or process.status is not ProcessStatus.STUCK or process.history:
            return
        others = [self._create(agent, objects, options) for agent in agents[1:]]
        reasons = " ".join([await _explain_lack(other) for other in others])
        raise ProcessStuckError(
            f"{process.agent.name} is stuck: {process.failure} The others have no plan either. {reasons}", process
        )

    def _create(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> AgentProcess:
        return AgentProcess.create(agent, objects, self._context.child(agent.name), options)


async def _explain_lack(process: AgentProcess) -> str:
    try:
        return f"{process.agent.name}: {await process.explain_stuck()}"
    except Exception as error:  # a condition that raises
        return f"{process.agent.name}: {type(error).__name__}: {error}."


def _has_goal(spec: PlannedAgentSpec, assembled_goal: str) -> bool:
    """Return whether a goal of an assembled agent, which is named after its class, is a goal of this agent.

    Goals of other agents may give the same type.
    """
    kind = type(spec.instance).__name__
    return any(
        assembled_goal == goal.name or f".{assembled_goal}".endswith(f".{kind}.{goal.name}") for goal in spec.goals
    )
