"""`Platform`: what is registered, which models there are, and the processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from typing import TypeVar

from tactician.agents import (
    BaseRunnable,
    PlannedAgent,
    component_agent,
    is_component,
    is_planned,
    raise_unless_completed,
)
from tactician.errors import (
    AgentNotFoundError,
    ConfigurationError,
    DeclarationError,
    ProcessFailedError,
    RunConflictError,
    RunNotFoundError,
)
from tactician.events import EventSink
from tactician.llm import LanguageModel, ModelSource, source_of
from tactician.platform.assembling import assembled
from tactician.platform.contexts import keep_context, objects_of
from tactician.process import DEFAULT_LEASE, AgentProcess, ProcessOptions, ProcessStatus, StoreKeeper, kill_in
from tactician.runs import (
    Lease,
    MemoryRuns,
    Response,
    RunContext,
    Runnable,
    RunRecord,
    RunResult,
    RunStatus,
    RunStore,
    default_models,
    new_id,
)

T = TypeVar("T")
_logger = logging.getLogger(__name__)


class Platform:
    """Holds the models, the registered agents, the listeners and the processes of a program.

    Args:
        models: a source of models, or one model for everything; those of the environment by default.
        on_event: called with every event of every run.
        store: where runs and processes are kept, after each of their steps. Without one, they are in this process only.
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
        self._is_durable = store is not None
        self._owner = f"platform-{new_id()}"
        self._spawned: set[asyncio.Task[AgentProcess]] = set()
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
        return await self._begun(self._planned(agent), objects, options)

    async def spawn(self, agent: object, *objects: object, options: ProcessOptions | None = None) -> AgentProcess:
        """`start`, but returns at once, and the process runs on beside.

        Raises:
            AgentNotFoundError: when no planned agent has the name.
            DeclarationError: when the agent is not declared correctly.
        """
        process, keeper = await self._made(self._planned(agent), objects, options)
        task = asyncio.create_task(self._run(process, keeper))
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)
        return process

    async def enqueue(self, agent: object, *objects: object, options: ProcessOptions | None = None) -> str:
        """Puts a process into the store for a worker to run; its id.

        Raises:
            ConfigurationError: when the platform has no store.
            AgentNotFoundError: when no planned agent has the name.
            DeclarationError: when the agent is not declared correctly.
        """
        if not self._is_durable:
            raise ConfigurationError("A platform needs a store for workers to find processes: Platform(store=...)")
        process, _ = await self._made(self._planned(agent), objects, options)
        del self._processes[process.id]
        name, text = process.agent.name, process.snapshot()
        await self._store.save(RunRecord(process.id, name, "not started", text, 0, "process", process.parent_id))
        return process.id

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

    @property
    def store(self) -> RunStore:
        """Where runs and processes are kept."""
        return self._store

    async def process(self, process_id: str) -> AgentProcess:
        """A process that was started here, or is kept in the store.

        Raises:
            RunNotFoundError: when there is none with the id.
            StoredStateError: when what is kept cannot be read.
        """
        if not self._is_durable and (found := self._processes.get(process_id)) is not None:
            return found
        return self._restored(await self._record(process_id), None)

    async def respond(self, process_id: str, request_id: str, response: Response) -> AgentProcess:
        """Answers a request of a process that waits, and goes on with it as far as it can.

        Raises:
            RunNotFoundError: when there is no such process.
            RunConflictError: when somebody else is going on with it.
            ResponseError: when it does not wait for that, or the answer does not fit; then it still waits.
        """
        process, keeper = await self._taken(process_id)
        async with _held(keeper, process):
            await process.respond(request_id, response)
        return await self._stopped(process)

    async def resume(self, process_id: str) -> AgentProcess:
        """Goes on with a process that was paused, is stuck, or whose worker has died, as far as it can.

        Raises:
            RunNotFoundError: when there is no such process.
            RunConflictError: when somebody else is going on with it.
        """
        process, keeper = await self._taken(process_id)
        return await self._run(process, keeper)

    async def kill(self, process_id: str, reason: str = "killed") -> None:
        """Ends a process for good, and interrupts what it does, wherever it runs.

        Raises:
            RunNotFoundError: when there is no such process.
        """
        if (running := self._processes.get(process_id)) is not None:
            await running.kill(reason)
        if not self._is_durable:
            if running is None:
                raise RunNotFoundError(f"There is no process with the id {process_id!r}")
            return
        await kill_in(self._store, process_id, reason)

    async def go_on(self, record: RunRecord, lease: Lease, *, seconds: float = DEFAULT_LEASE) -> AgentProcess:
        """Goes on with a process that a worker has claimed.

        Raises:
            AgentNotFoundError: when its agent is not registered here.
            StoredStateError: when what is kept cannot be read.
            LeaseLostError: when another worker has taken it over.
        """
        keeper = StoreKeeper(self._store, record, lease.owner, lease=lease, seconds=seconds)
        return await self._run(self._restored(record, keeper), keeper)

    async def waiting(self) -> list[RunRecord]:
        """The agent runs and processes that wait for somebody, oldest first."""
        return await self._store.records(statuses=(RunStatus.WAITING.value,))

    async def resume_run(self, run_id: str, responses: Mapping[str, Response]) -> RunResult[object]:
        """Goes on with a run of a registered agent, which waits: see `Agent.resume`.

        Raises:
            RunNotFoundError: when no run waits with the id.
            AgentNotFoundError: when what ran is not registered here.
            RunError: when it fails; then it still waits.
        """
        record = await self._record(run_id)
        agent = self._found(record.name)
        if not isinstance(agent, BaseRunnable):
            raise AgentNotFoundError(f"{record.name!r} ({type(agent).__name__}) cannot go on with a run")
        return await agent.resume(run_id, responses, context=self.context())

    async def _begun(
        self, agent: PlannedAgent, objects: tuple[object, ...], options: ProcessOptions | None
    ) -> AgentProcess:
        return await self._run(*await self._made(agent, objects, options))

    async def _made(
        self, agent: PlannedAgent, objects: tuple[object, ...], options: ProcessOptions | None
    ) -> tuple[AgentProcess, StoreKeeper | None]:
        """A process, which is not started yet, with what its context knows."""
        context = self.context().child(agent.name)
        keeper = None
        if self._is_durable:
            record = RunRecord(context.run_id, agent.name, "not started", "", 0, "process", context.parent_id)
            keeper = StoreKeeper(self._store, record, self._owner)
        process = agent.process_in(context, objects, options, keeper)
        if options is not None and options.context_id is not None:
            for value, binding in await objects_of(self._store, options.context_id, agent.spec):
                process.blackboard.add(value, binding)
        self._processes[process.id] = process
        return process, keeper

    async def _run(self, process: AgentProcess, keeper: StoreKeeper | None) -> AgentProcess:
        async with _held(keeper, process):
            await process.run()
        return await self._stopped(process)

    async def _stopped(self, process: AgentProcess) -> AgentProcess:
        """Keeps what a process that has completed has found out, for those that come after it."""
        context_id = process.options.context_id
        if context_id is not None and process.status is ProcessStatus.COMPLETED:
            await keep_context(self._store, context_id, process)
        return process

    async def _taken(self, process_id: str) -> tuple[AgentProcess, StoreKeeper | None]:
        """A process, which nobody else goes on with meanwhile."""
        if not self._is_durable:
            return await self.process(process_id), None
        claimed = await self._store.claim(self._owner, DEFAULT_LEASE, run_id=process_id)
        if claimed is None:
            record = await self._record(process_id)
            raise RunConflictError(
                f"The process {process_id} is {record.status}, or somebody else is going on with it."
            )
        record, lease = claimed
        keeper = StoreKeeper(self._store, record, self._owner, lease=lease)
        return self._restored(record, keeper), keeper

    def _restored(self, record: RunRecord, keeper: StoreKeeper | None) -> AgentProcess:
        agent = self._planned(record.name)
        context = replace(self.context().child(agent.name), run_id=record.run_id, parent_id=record.parent_id)
        process = AgentProcess.restored(agent.spec, record.state, context, keeper=keeper)
        self._processes[process.id] = process
        return process

    async def _record(self, run_id: str) -> RunRecord:
        record = await self._store.load(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        return record

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
        if (found := self._agents.get(name) or assembled(name, self._agents)) is not None:
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
    if is_component(agent):
        return component_agent(agent)
    if isinstance(agent, Runnable):
        return agent
    raise DeclarationError(
        type(agent).__name__, ["it is no Runnable; decorate the class with @planned_agent(description=...)"]
    )


@asynccontextmanager
async def _held(keeper: StoreKeeper | None, process: AgentProcess) -> AsyncIterator[None]:
    if keeper is None:
        yield
        return
    async with keeper.holding(process):
        yield


@cache
def _default() -> Platform:
    return Platform()
