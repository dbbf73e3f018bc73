"""`Platform`: the models, the agents and the processes of a program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from functools import cache
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

from typing_extensions import Unpack

from tactician.agents import PlannedAgent, raise_unless_completed
from tactician.clock import SYSTEM_CLOCK
from tactician.conversation import ConversationStore
from tactician.errors import ConfigurationError
from tactician.events import EventBus, EventListener
from tactician.llm import LanguageModel, ModelSource, default_models, source_of
from tactician.platform.choosing import find_able, raise_if_none_can
from tactician.platform.forking import Forker
from tactician.platform.publishing import goal_tools, local_goals
from tactician.platform.read_model import RunReader
from tactician.platform.registry import Registry
from tactician.platform.requests import Conversations, Requests, find_model_agent
from tactician.platform.run_views import RunTree, RunView
from tactician.platform.running import EnqueueOptions, Runner
from tactician.platform.step_views import RunComparison, StepView
from tactician.process import (
    AgentProcess,
    Named,
    ProcessFailedError,
    ProcessOptions,
    with_named,
)
from tactician.runs import (
    DEFAULT_LEASE,
    ForkOptions,
    Input,
    Response,
    RunContext,
    Runnable,
    RunRecord,
    RunResult,
    RunStatus,
    RunStore,
    Services,
    run_blocking,
)
from tactician.stores import DocumentStore, Lease, MemoryStore
from tactician.tools import Tool, ToolGroup, ToolGroups

T = TypeVar("T")
_NOTHING: Mapping[str, Response] = MappingProxyType({})


class Platform:
    """The front door of a program: its models, agents, tools, runs and conversations, and the store of these.

    `async with Platform(...) as platform:` closes all of it at the end.

    Args:
        models: a source of models, or one model for everything; those of the environment by default.
        on_event: called with every event of every run.
        store: store of runs, processes and memories, which are saved after each step; this program only, by default.
        tool_groups: groups of tools that agents and actions may name.
        retention: age at which workers delete runs that have ended; they stay for ever by default.

    Attributes:
        retention: the same.
        conversations: conversations by id, in the store.
        requests: runner of requests to agents and models, alone or in conversations; see `AgentService`.
    """

    def __init__(
        self,
        models: ModelSource | LanguageModel | None = None,
        *,
        on_event: EventListener | None = None,
        store: DocumentStore | None = None,
        tool_groups: Iterable[ToolGroup] = (),
        retention: timedelta | None = None,
    ) -> None:
        services = Services(
            default_models() if models is None else source_of(models),
            MemoryStore() if store is None else store,
            SYSTEM_CLOCK,
            EventBus(on_event),
        )
        services.is_durable = store is not None
        self._set_up(services, tool_groups, retention)

    def _set_up(
        self, services: Services, tool_groups: Iterable[ToolGroup] = (), retention: timedelta | None = None
    ) -> None:
        if retention is not None and retention < timedelta(0):
            raise ConfigurationError(f"The retention is {retention}: it has to be a time from 0 up.")
        self.services = services
        self.retention = retention
        self.tool_groups.add([local_goals(lambda: self.goal_tools(remote=False)), *tool_groups])
        self.conversations = Conversations(ConversationStore(services.store))
        self.requests = Requests(self.conversations, self.find_agent)
        self._registry = Registry(self.requests)
        self._runner = Runner(self._registry, self.context, services)
        self._forker = Forker(self._runner, self.context)

    @staticmethod
    def default() -> Platform:
        """The platform of this process, with the models of `tactician.toml` and the environment. What is run without
        a platform has its tool groups."""
        return _default()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Interrupt the processes that were spawned here and still run, and close the store.

        With a store, a process that was interrupted can be resumed, here too: the store opens again when it is used.
        """
        try:
            await self._runner.aclose()
        finally:
            await self.services.store.aclose()

    @property
    def agents(self) -> Mapping[str, Runnable]:
        """What is registered, by name; several of the same name by id."""
        return self._registry.agents

    @property
    def agents_by_id(self) -> Mapping[str, Runnable]:
        """What is registered, by id: its own, else its name in snake case."""
        return self._registry.by_id

    def find_agent(self, name: str) -> Runnable:
        """Return what is registered by an id or a name, or an agent that stands for the model of this name.

        Raises:
            AgentNotFoundError: when there is neither.
            ConfigurationError: when the key for the model is not set.
        """
        found = self._registry.find(name) or find_model_agent(name, self.services.models)
        if found is None:
            raise self._registry.not_found(name)
        return found

    @property
    def run_names(self) -> tuple[str, ...]:
        """The names of all runs that can be continued here: of what is registered, and what can be made of it."""
        return self._registry.run_names

    @property
    def is_durable(self) -> bool:
        """True when every run is saved in the store after each step."""
        return self.services.is_durable

    @property
    def store(self) -> DocumentStore:
        """Store of runs, processes and memories."""
        return self.services.store

    @property
    def tool_groups(self) -> ToolGroups:
        """The tool groups by name: those registered, those of `tactician.toml`, and the group `goals`."""
        return self.services.find(ToolGroups)

    def goal_tools(self, remote: bool | None = None) -> tuple[Tool, ...]:
        """The exported goals of the registered planned agents as tools, one for each type that they can start from.

        Args:
            remote: only those exported to other programs, or, when `False`, to other agents; both, when `None`.

        Raises:
            DeclarationError: with all goals that are exported on purpose, to which no single object leads, or only one
                of a type that has no JSON form.
        """
        return goal_tools(self.agents, self.context, remote=remote)

    def as_agent(self) -> PlannedAgent:
        """Return an agent with the actions of all registered planned agents and components.

        It does whatever is worth most, step by step, as in `await platform.start(platform.as_agent(), issue)`.

        Raises:
            DeclarationError: when nothing is registered that has actions, or they do not go together.
        """
        return self._registry.assemble_everything()

    def context(self) -> RunContext:
        """A context for a run on this platform: `await agent.run(..., context=platform.context())`."""
        return RunContext(self.services)

    def register(self, *agents: object, replace: bool = False) -> Platform:
        """Register Runnables, instances of `@planned_agent` and `@component` classes, and tool groups.

        Args:
            *agents: what to register. An id belongs to one of them: its own, else its name in snake case.
            replace: True when an agent takes the place of the one with its id. What that has begun it finishes.

        Returns:
            The platform.

        Raises:
            DeclarationError: when one is not declared correctly, is nothing of these, or an id is taken; with every
                mistake of all of them. Then none is registered.
        """
        groups = [one for one in agents if isinstance(one, ToolGroup)]
        self.tool_groups.check(groups)
        self._registry.register([one for one in agents if not isinstance(one, ToolGroup)], replace=replace)
        self.tool_groups.add(groups)
        return self

    def unregister(self, name: str) -> None:
        """Forget an agent, given by its name or id. What it has begun it finishes.

        Raises:
            AgentNotFoundError: when there is none.
        """
        self._registry.unregister(name)

    async def start(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess:
        """Runs a process of a planned agent, given itself or by its registered name, as far as it can go.

        The objects go onto the blackboard first; text becomes a `UserInput`, and so do messages, unless the agent takes
        messages: then text becomes one, if it takes no `UserInput`. Those in `named` go there as they are, under their
        names, for `by_name`. Look at `process.status`: this does not raise when the process fails or is stuck.

        Raises:
            AgentNotFoundError: when no planned agent has the name.
            DeclarationError: when the agent is not declared correctly.
            ConfigurationError: when a tool group is missing that an action uses; or when the platform has a store, and
                the options cannot be kept there. For an object that cannot, this is a `StoredStateError`.
        """
        return await self._runner.start(self._registry.met(agent), with_named(objects, named), options)

    def start_sync(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess:
        """`start`, for programs without an event loop; so are the other methods that end in `_sync`.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .start(...)` there.
        """
        return run_blocking(self.start(agent, *objects, named=named, options=options))

    async def spawn(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess:
        """`start`, but returns at once, and the process runs on beside.

        Raises:
            AgentNotFoundError: when no planned agent has the name.
            DeclarationError: when the agent is not declared correctly.
            ConfigurationError: when a tool group is missing that an action uses; or when the platform has a store, and
                the options cannot be kept there.
        """
        return await self._runner.spawn(self._registry.met(agent), with_named(objects, named), options)

    async def enqueue(self, agent: object, *objects: object, **settings: Unpack[EnqueueOptions]) -> str:
        """Put a run of any registered Runnable into the store for a worker to start, and return its id.

        Args:
            agent: the Runnable, or its registered name.
            *objects: input; a planned agent may take several objects.
            **settings: see `EnqueueOptions`.

        Raises:
            ConfigurationError: when the platform has no store, or the options cannot be kept there.
            AgentNotFoundError: when nothing is registered with the name.
            DeclarationError: when the agent is not declared correctly.
            StoredStateError: when the input has no JSON form.
        """
        return await self._runner.enqueue(agent, objects, settings)

    async def invoke(
        self, wanted: type[T], *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> T:
        """Return an object of the wanted type, from the registered agent that has a goal and a plan for it.

        When no agent has a plan by itself, the actions of all of them are planned together, as those of components.

        Raises:
            AgentNotFoundError: when no registered agent yields the type.
            ProcessStuckError: when neither an agent nor all of them together have a plan from these objects.
            ProcessWaitingError: when it waits for somebody; it goes on with `respond`.
            ProcessFailedError: when an action raises, a budget is used up, or a goal that may give one of several
                types gives another one.
        """
        objects = with_named(objects, named)
        agents, context = self._registry.yielding(wanted), self.context()
        together = self._registry.assemble_towards(wanted)
        is_only = len(agents) + len(together) == 1
        chosen = None if is_only else await find_able((*agents, *together), objects, options, context)
        process = await self._runner.start(chosen or agents[0], objects, options)
        await raise_if_none_can(agents, process, objects, options, context)
        raise_unless_completed(process)
        if isinstance(result := process.result, wanted):
            return result
        given = type(result).__name__
        raise ProcessFailedError(f"{process.agent.name} gave a {given} and not a {wanted.__name__}", process)

    def invoke_sync(
        self, wanted: type[T], *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> T:
        """`invoke`, for programs without an event loop."""
        return run_blocking(self.invoke(wanted, *objects, named=named, options=options))

    async def processes(self) -> list[AgentProcess]:
        """The processes that run here or wait, and the last 1000 of those that have ended or are stuck; oldest first.

        With a store, those that wait are among the last 1000 too (see `waiting`), and one that has gone on elsewhere is
        given as it is kept there. Others are in the list as long as the program holds them.

        Raises:
            StoredStateError: when what is kept cannot be read.
        """
        return await self._runner.all()

    async def process(self, process_id: str) -> AgentProcess:
        """A process of those that `processes` lists, or one that is kept in the store.

        Raises:
            RunNotFoundError: when there is none with the id.
            StoredStateError: when what is kept cannot be read.
        """
        return await self._runner.process(process_id)

    async def runs(
        self, *, status: str | Collection[str] = (), names: Collection[str] = (), limit: int = 1000
    ) -> list[RunView]:
        """Return the runs in the store and the processes of this program, oldest first.

        Args:
            status: one status, such as `"waiting"`, or several; all by default.
            names: names of agents; all by default.
            limit: how many runs of the store are read.
        """
        statuses = (status,) if isinstance(status, str) else status
        return await self._reader.list(statuses=statuses, names=names, limit=limit)

    async def steps(self, run_id: str) -> tuple[StepView, ...]:
        """Return the steps of a run, oldest first. `fork` starts a new run from one of them.

        Raises:
            RunNotFoundError: when the store has no such run.
            StoredStateError: when a step cannot be read.
        """
        return await self._reader.steps(run_id)

    async def compare(self, run_id: str, other_id: str) -> RunComparison:
        """Return two runs side by side: the steps that both begin with, and those in which they differ.

        Raises:
            RunNotFoundError: when the store has no such run.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._reader.compare(run_id, other_id)

    async def tree(self, run_id: str) -> RunTree:
        """Return a run and all runs inside it.

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._reader.tree(run_id)

    async def respond(self, run_id: str, request_id: str, response: Response) -> AgentProcess | RunResult[object]:
        """Answer a request of a run that waits, and continue the run as far as it can go.

        Returns:
            The process, for a run of a planned agent; the result, for any other.

        Raises:
            RunNotFoundError: when there is no such run, or it does not wait for that.
            RunConflictError: when somebody else is continuing it.
            AgentNotFoundError: when what ran is not registered here.
            ResponseError: when a process does not wait for that, or the answer does not fit; then it still waits. Or
                when it has ended.
        """
        return await self._runner.respond(run_id, {request_id: response})

    def respond_sync(self, run_id: str, request_id: str, response: Response) -> AgentProcess | RunResult[object]:
        """`respond`, for programs without an event loop."""
        return run_blocking(self.respond(run_id, request_id, response))

    async def resume(
        self, run_id: str, *objects: object, named: Named | None = None
    ) -> AgentProcess | RunResult[object]:
        """Continue a run that was paused or interrupted, is stuck, or whose worker has died, as far as it can go.

        The objects go onto the blackboard of a process first, as those of `start` do: what one that is stuck lacks.

        Raises:
            RunNotFoundError: when there is no such run.
            RunConflictError: when it has ended, or somebody else is continuing it.
            AgentNotFoundError: when what ran is not registered here.
            StoredStateError: when an object cannot be kept in the store; then nothing has changed.
        """
        return await self._runner.resume(run_id, with_named(objects, named))

    def resume_sync(
        self, run_id: str, *objects: object, named: Named | None = None
    ) -> AgentProcess | RunResult[object]:
        """`resume`, for programs without an event loop."""
        return run_blocking(self.resume(run_id, *objects, named=named))

    async def fork(
        self,
        run_id: str,
        *objects: object,
        at: int | None = None,
        model: str | None = None,
        input: Input = None,
        responses: Mapping[str, Response] = _NOTHING,
        named: Named | None = None,
    ) -> AgentProcess | RunResult[object]:
        """Start a new run from a past step of another one, and run it as far as it can go.

        The other run stays as it is, and may have ended, in whatever way. Its steps up to that one are those of the
        fork, too; so `compare` shows what another model, input, answer or object would have done.

        Args:
            run_id: id of the other run.
            *objects: what goes onto the blackboard of a process first, as with `resume`.
            at: number of the step after which the fork begins, see `steps`; 0 is the start. By default the last step;
                with another input, the start; with answers, the last step after which the run waited for them.
            model: name of the model that the fork uses wherever it calls one, whatever its agents name.
            input: another input, for a fork from the start; for a process what it begins with, where a tuple is
                several objects. The same one by default.
            responses: answers to requests for which the other run waited after that step, by the ids of the requests.
            named: further objects for a process, by their names.

        Returns:
            The process, for a run of a planned agent; the result, for any other.

        Raises:
            ConfigurationError: when the platform has no store, or there is no such step or model; for another input
                after the start; for objects where there is no process.
            RunNotFoundError: when there is no such run.
            ResponseError: when the run did not wait for one of the answers after that step.
            AgentNotFoundError: when what ran is not registered here.
            StoredStateError: when what is stored cannot be read, or an object, an input or an answer cannot be kept in
                the store; then there is no fork.
            RunError: when the fork fails, and is no process.
        """
        options = ForkOptions(at=at, model=model, input=input, responses=responses)
        return await self._forker.fork(run_id, with_named(objects, named), options)

    async def kill(self, run_id: str, reason: str = "killed") -> RunStatus:
        """End a run for good, and interrupt what it does, wherever it runs. One that has ended stays as it is.

        Returns:
            Its status: `KILLED`, unless it had ended before.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        return await self._runner.kill(run_id, reason)

    async def continue_claimed(
        self, record: RunRecord, lease: Lease, *, seconds: float = DEFAULT_LEASE
    ) -> AgentProcess | RunResult[object]:
        """Continue a run that a worker has claimed, as far as it can go.

        Raises:
            AgentNotFoundError: when what ran, or what it is made of, is not registered here.
            StoredStateError: when what is kept cannot be read.
            LeaseLostError: when another worker has claimed it.
        """
        return await self._runner.continue_claimed(record, lease, seconds)

    async def step_claimed(
        self, record: RunRecord, lease: Lease, *, seconds: float = DEFAULT_LEASE
    ) -> AgentProcess | RunResult[object]:
        """Continue a claimed run by one step: a process by one action, any other run as far as it can go.

        A process is `PAUSED` then, unless it waits or has ended. Any other run cannot be cut between two of its steps:
        it continues by running the same code again from the beginning, so each cut would run what users wrote around
        its steps, such as a tool that runs an agent, once more. Its steps are saved on the way all the same.

        Raises:
            AgentNotFoundError: when what ran, or what it is made of, is not registered here.
            StoredStateError: when what is kept cannot be read.
            LeaseLostError: when another worker has claimed it.
        """
        return await self._runner.step_claimed(record, lease, seconds)

    async def waiting(self, limit: int = 1000) -> list[RunView]:
        """Return the runs that wait for somebody, or of which a part does while others go on; the oldest is the first.

        These are the runs in the store and the processes of this program, one entry for each.

        Args:
            limit: how many runs of the store are read.
        """
        return await self._reader.list_waiting(limit)

    async def prune(self, age: timedelta | None = None) -> int:
        """Delete the runs that ended longer ago than an age, with their steps, and return how many.

        Args:
            age: time since the end of a run; the `retention` by default.

        Raises:
            ConfigurationError: when neither is given.
        """
        oldest = self.retention if age is None else age
        if oldest is None:
            raise ConfigurationError("Say which runs are to be deleted, as in prune(timedelta(days=30)).")
        return await RunStore(self.services.store).prune(oldest.total_seconds())

    @property
    def _reader(self) -> RunReader:
        return RunReader(self.services.store, self._runner.processes.all())


@cache
def _default() -> Platform:
    platform = Platform.__new__(Platform)
    platform._set_up(Services.default())
    return platform
