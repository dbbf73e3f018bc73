"""`Platform`: what is registered, which models there are, and the processes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import TypeVar

from tactician.agents import BaseRunnable, PlannedAgent, is_planned, raise_unless_completed
from tactician.errors import AgentNotFoundError, DeclarationError, ProcessFailedError, RunNotFoundError
from tactician.events import EventSink
from tactician.llm import LanguageModel, ModelSource, source_of
from tactician.process import AgentProcess, ProcessOptions
from tactician.runs import (
    MemoryRuns,
    Response,
    RunContext,
    Runnable,
    RunRecord,
    RunResult,
    RunStore,
    default_models,
)

T = TypeVar("T")
_logger = logging.getLogger(__name__)


class Platform:
    """Holds the models, the registered agents, the listeners and the processes of a program.

    Args:
        models: a source of models, or one model for everything; those of the environment by default.
        on_event: called with every event of every run.
        store: where runs that wait are kept; in this process by default.
    """

    def __init__(
        self,
        models: ModelSource | LanguageModel | None = None,
        *,
        on_event: EventSink | None = None,
        store: RunStore | None = None,
    ) -> None:
        self._models = source_of(models) if models is not None else default_models()
        self._on_event = on_event
        self._store = store if store is not None else MemoryRuns()
        self._agents: dict[str, Runnable] = {}
        self._processes: dict[str, AgentProcess] = {}

    @staticmethod
    def default() -> Platform:
        """The platform of this process, with the models of `tactician.toml` and the environment."""
        return _default()

    @property
    def agents(self) -> Mapping[str, Runnable]:
        """What is registered, by name."""
        return self._agents

    def context(self) -> RunContext:
        """A context for a run on this platform: `await agent.run(..., context=platform.context())`."""
        return RunContext(self._models, sink=self._on_event, store=self._store)

    def register(self, *agents: object) -> Platform:
        """Registers Runnables and instances of `@planned_agent` classes. Returns the platform.

        Raises:
            DeclarationError: when one is not declared correctly, is neither, or a name is taken; with every mistake
                of all of them. Then none is registered.
        """
        fresh: dict[str, Runnable] = {}
        errors: list[DeclarationError] = []
        for agent in agents:
            try:
                registered = _as_runnable(agent)
                if registered.name in self._agents or registered.name in fresh:
                    raise DeclarationError(registered.name, ["another agent has this name; give one of them another"])
                fresh[registered.name] = registered
            except DeclarationError as error:
                errors.append(error)
        if len(errors) == 1:
            raise errors[0]
        if errors:
            problems = [f"{error.subject}: {problem}" for error in errors for problem in error.problems]
            raise DeclarationError(", ".join(error.subject for error in errors), problems)
        self._agents.update(fresh)
        return self

    async def start(self, agent: object, *objects: object, options: ProcessOptions | None = None) -> AgentProcess:
        """Runs a process of a planned agent, given itself or by its registered name, as far as it can go.

        The objects go onto the blackboard first; text becomes a `UserInput`. Look at `process.status`: this does
        not raise when the process fails or is stuck.

        Raises:
            AgentNotFoundError: when no planned agent has the name.
            DeclarationError: when the agent is not declared correctly.
        """
        process = self._planned(agent).process(*objects, context=self.context(), options=options)
        self._processes[process.id] = process
        return await process.run()

    async def invoke(self, wanted: type[T], *objects: object, options: ProcessOptions | None = None) -> T:
        """An object of the wanted type, from the registered agent that has a goal and a plan for it.

        Raises:
            AgentNotFoundError: when no registered agent yields the type.
            ProcessStuckError: when the agent that does has no plan from these objects.
            ProcessFailedError: when an action raises, a budget is used up, or a goal that may give one of several
                types gives another one.
        """
        candidates = [agent for agent in self._agents.values() if isinstance(agent, PlannedAgent)]
        yielding = [aimed for agent in candidates if (aimed := agent.towards(wanted)) is not None]
        if not yielding:
            kinds = {kind.__name__ for agent in candidates for goal in agent.spec.goals for kind in goal.output_types}
            known = ", ".join(sorted(kinds)) or "nothing"
            raise AgentNotFoundError(
                f"No registered agent yields a {wanted.__name__}. The registered goals yield: {known}."
            )
        process = await self.start(await self._able(yielding, objects), *objects, options=options)
        raise_unless_completed(process)
        if isinstance(result := process.result, wanted):
            return result
        given = type(result).__name__
        raise ProcessFailedError(f"{process.agent.name} gave a {given} and not a {wanted.__name__}", process)

    async def processes(self) -> list[AgentProcess]:
        """The processes that were started here, oldest first."""
        return list(self._processes.values())

    async def waiting(self) -> list[RunRecord]:
        """The runs that wait for somebody, oldest first."""
        return await self._store.waiting()

    async def resume(self, run_id: str, responses: Mapping[str, Response]) -> RunResult[object]:
        """Goes on with a run of a registered agent, which waits: see `Agent.resume`.

        Raises:
            RunNotFoundError: when no run waits with the id.
            AgentNotFoundError: when what ran is not registered here.
            RunError: when it fails; then it still waits.
        """
        record = await self._store.load(run_id)
        if record is None:
            raise RunNotFoundError(f"No run waits with the id {run_id!r}")
        agent = self._found(record.name)
        if not isinstance(agent, BaseRunnable):
            raise AgentNotFoundError(f"{record.name!r} ({type(agent).__name__}) cannot go on with a run")
        return await agent.resume(run_id, responses, context=self.context())

    async def _able(self, agents: list[PlannedAgent], objects: tuple[object, ...]) -> PlannedAgent:
        """The first agent that has a plan from the objects; the first of all, when none has."""
        if len(agents) > 1:
            for agent in agents:
                if await self._has_plan(agent, objects):
                    return agent
        return agents[0]

    async def _has_plan(self, agent: PlannedAgent, objects: tuple[object, ...]) -> bool:
        try:
            return await agent.process(*objects, context=self.context()).outlook() is not None
        except Exception:  # a condition that raises: not the agent to choose, where there is another
            _logger.debug("%r cannot plan", agent, exc_info=True)
            return False

    def _planned(self, agent: object) -> PlannedAgent:
        given = self._found(agent) if isinstance(agent, str) else agent
        if not isinstance(found := _as_runnable(given), PlannedAgent):
            kind = type(found).__name__
            raise AgentNotFoundError(f"{found.name!r} ({kind}) is no planned agent: call its `run`.")
        return found

    def _found(self, name: str) -> Runnable:
        if (found := self._agents.get(name)) is not None:
            return found
        close = get_close_matches(name, self._agents, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        known = ", ".join(self._agents) or "none"
        raise AgentNotFoundError(f"No agent is registered as {name!r}.{hint} Registered: {known}.")


def _as_runnable(agent: object) -> Runnable:
    if isinstance(agent, type):
        raise DeclarationError(agent.__name__, [f"this is the class; make an instance: {agent.__name__}(...)"])
    if isinstance(agent, PlannedAgent):
        return agent
    if is_planned(agent):
        return PlannedAgent(agent)
    if isinstance(agent, Runnable):
        return agent
    raise DeclarationError(
        type(agent).__name__, ["it is no Runnable; decorate the class with @planned_agent(description=...)"]
    )


@cache
def _default() -> Platform:
    return Platform()
