"""`Platform`: the models, the agents and the processes of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import cache, cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, overload

from typing_extensions import Unpack

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.config.defaults import REMEMBERED_MESSAGES, REMEMBERED_PROCESSES
from tactician.config.loading import find_settings
from tactician.errors import ConfigurationError
from tactician.events.bus import EventBus, EventListener
from tactician.llm import LanguageModel, UserMessage
from tactician.llm.model_sources import ModelSource, as_model_source
from tactician.planning import PlanningBudget
from tactician.platform.control import RunControl
from tactician.platform.lookup import RunLookup
from tactician.platform.registered_agents import RegisteredAgents
from tactician.platform.registry import GOALS, REQUESTS, Registry
from tactician.platform.runner import Runner
from tactician.process import AgentProcess, ProcessOptions
from tactician.process.deciding.deliberation import PlanningSettings
from tactician.process.objects import Named, with_named
from tactician.runs import RunContext, Runnable, RunResult, Services
from tactician.runs.context.telemetry import start_telemetry
from tactician.runs.context.threads import run_blocking
from tactician.stores import DocumentStore, MemoryStore
from tactician.suggestions import suggest_options
from tactician.tools import ToolGroup
from tactician.tools.groups import ToolSource, list_groups
from tactician.tools.provider import OpenProviders

if TYPE_CHECKING:
    from tactician.planning import Objective
    from tactician.planning.rules import Rule
    from tactician.platform.conversations.answering import Requests
    from tactician.platform.conversations.conversations import Conversations
    from tactician.platform.conversations.process_conversations import ProcessConversations
    from tactician.platform.enqueue_options import EnqueueOptions
    from tactician.platform.goal_tools import GoalTool
    from tactician.platform.memories import Memories
    from tactician.platform.running import RunOptions
    from tactician.process import PlanReview

T = TypeVar("T")
_GOALS = "What the planned agents of this platform can do"


@suggest_options
class Platform(RegisteredAgents, RunControl):
    """The front door of a program: its models, agents, tools, runs and conversations, and the store of these.

    `async with Platform(...) as platform:` closes all of it at the end.

    Args:
        models: a source of models, a single model for everything, or the name of the default model; the models of the
            environment by default.
        on_event: called with every event of every run.
        store: store of runs, processes and memories, which are saved after each step; this program only, by default.
        tool_groups: groups of tools that agents and actions may name; also as a mapping of names to what a
            `ToolGroup` is made of.
        retention: age at which workers delete runs that have ended; they stay for ever by default.
        planning: limits of each decision of a planner; by default, those in `tactician.toml`.
        objective: what plans are to save, where neither a process nor its agent says; as in `tactician.toml` by
            default.
        plan_review: terms under which a person decides on the plans of planned agents, wherever a run comes from, when
            the options of its process have none; no reviews by default.
        clock: time of runs, timeouts, deadlines, pauses and events; a `FakeClock` in tests.
        rules: rules of `tactician.planning.rules` that all agents keep. A rule holds for each agent that has an
            action, a tool or a task that the rule speaks of.

    Attributes:
        retention: the same.
    """

    def __init__(
        self,
        models: ModelSource | LanguageModel | str | None = None,
        *,
        on_event: EventListener | None = None,
        store: DocumentStore | None = None,
        tool_groups: Iterable[ToolGroup] | Mapping[str, ToolSource] = (),
        retention: timedelta | None = None,
        planning: PlanningBudget | None = None,
        objective: Objective | None = None,
        plan_review: PlanReview | None = None,
        clock: Clock = SYSTEM_CLOCK,
        rules: Sequence[Rule] = (),
    ) -> None:
        settings = {
            "store": store,
            "on_event": on_event,
            "clock": clock,
            "retention": retention,
            "planning": planning,
            "objective": objective,
            "plan_review": plan_review,
        }
        if any(value not in (None, SYSTEM_CLOCK) for value in settings.values()):  # else there is nothing to import
            from tactician.platform.settings import check_settings

            check_settings(settings)
        start_telemetry()
        services = Services(
            _load_default_models() if models is None else as_model_source(models),
            MemoryStore(clock=clock) if store is None else store,
            clock,
            EventBus(on_event),
            *_create_planning(planning, objective, plan_review),
        )
        services.is_durable = store is not None
        if rules:
            from tactician.platform.settings import read_rules

            services.rules = read_rules(rules)
        self._set_up(services, tool_groups, retention)

    def _set_up(
        self,
        services: Services,
        tool_groups: Iterable[ToolGroup] | Mapping[str, ToolSource] = (),
        retention: timedelta | None = None,
    ) -> None:
        if retention is not None and retention < timedelta(0):
            raise ConfigurationError(f"The retention is {retention}: it must be a time from 0 up.")
        self.services = services
        self.retention = retention
        own_goals = ToolGroup(GOALS, lambda: self.goal_tools(remote=False), description=_GOALS)
        self.tool_groups.add([own_goals, *list_groups(tool_groups)])
        services.find(PlanningSettings).read_experience = self.read_experience
        settings = find_settings()
        memory = None if settings is None else settings.platform.memory
        self._idle_messages = REMEMBERED_MESSAGES if memory is None else memory.messages
        remembered = REMEMBERED_PROCESSES if memory is None else memory.processes
        self._registry = Registry({REQUESTS: lambda: self.requests})
        self._lookup = RunLookup(self._registry, self.context, services, remembered)
        self._runner = Runner(self._lookup, services, lambda: self.process_conversations)

    # What only some programs use is imported and made when it is used, which is a fifth of the start of a program.

    @cached_property
    def conversations(self) -> Conversations:
        """Conversations by id, in the store."""
        from tactician.conversation import ConversationStore
        from tactician.platform.conversations.conversations import Conversations

        return Conversations(ConversationStore(self.services.store), self._idle_messages)

    @cached_property
    def requests(self) -> Requests:
        """Runner of requests to agents and models, alone or in conversations; see `AgentService`."""
        from tactician.platform.conversations.answering import Requests

        return Requests(self.conversations, self.find_agent, lambda: self.run_names)

    @cached_property
    def process_conversations(self) -> ProcessConversations:
        """The channels to the users of conversations; see `Chatbot`."""
        from tactician.platform.conversations.process_conversations import ProcessConversations

        return ProcessConversations(self.conversations, self.services.store)

    @cached_property
    def memories(self) -> Memories:
        """Findings of processes with a `memory_id`, by these ids."""
        from tactician.platform.memories import Memories

        return Memories(self.services.store)

    @staticmethod
    def default() -> Platform:
        """Return the platform of this process, with the models of `tactician.toml` and the environment.

        Runs without a platform of their own have its tool groups.
        """
        return _default()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Interrupt the processes that were spawned here and still run; close the store, and what tools have opened.

        With a store, a process that was interrupted can be resumed, here too: the store opens again when it is used.
        """
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self.services.store.aclose)
            closing.push_async_callback(self.services.find(OpenProviders).aclose)
            closing.push_async_callback(self._runner.aclose)

    @property
    def is_durable(self) -> bool:
        """True when every run is saved in the store after each step."""
        return self.services.is_durable

    @property
    def store(self) -> DocumentStore:
        """Store of runs, processes and memories."""
        return self.services.store

    def goal_tools(self, remote: bool | None = None) -> tuple[GoalTool, ...]:
        """Return the exported goals of the registered planned agents as tools, one for all that a goal can start from.

        Args:
            remote: only those exported to other programs, or, when `False`, to other agents; both, when `None`.

        Raises:
            DeclarationError: with all goals that are exported on purpose, to which no objects lead, or only objects
                without a JSON form.
        """
        from tactician.platform.goal_tools import goal_tools

        return goal_tools(self.agents, self.context, remote=remote)

    def context(self) -> RunContext:
        """Create a context for a run on this platform: `agent.stream(..., context=platform.context())`."""
        return RunContext.outermost(self.services)

    @overload
    async def run(self, agent: Runnable[T], *objects: object, **options: Unpack[RunOptions]) -> RunResult[T]: ...
    @overload
    async def run(self, agent: object, *objects: object, **options: Unpack[RunOptions]) -> RunResult[object]: ...
    async def run(self, agent: object, *objects: object, **options: Unpack[RunOptions]) -> RunResult[object]:
        """Run any Runnable on this platform, and return its result.

        In code that runs on this platform, it is a run inside the run around it.

        Args:
            agent: an agent, a planned agent, an ensemble or any other Runnable; or a registered name.
            *objects: its input: a text, messages, or the values of an ensemble; for a planned agent also several
                objects.
            **options: see `RunOptions`.

        Returns:
            The result. Its status is `WAITING` when the run needs somebody first: `respond` continues it.

        Raises:
            AgentNotFoundError: when nothing is registered with the name.
            DeclarationError: when the agent is not declared correctly.
            ConfigurationError: for an option that this Runnable does not take.
            RunError: when it fails; for a planned agent a `ProcessError`.
            StoredStateError: when the platform has a store, and the input cannot be kept there.
        """
        from tactician.platform.running import run_anything

        current = RunContext.find_current()
        is_inside = current is not None and current.services is self.services
        context = current if current is not None and is_inside else self.context()
        return await run_anything(self._registry.admit(agent), objects, context, options)

    @overload
    def run_sync(self, agent: Runnable[T], *objects: object, **options: Unpack[RunOptions]) -> RunResult[T]: ...
    @overload
    def run_sync(self, agent: object, *objects: object, **options: Unpack[RunOptions]) -> RunResult[object]: ...
    def run_sync(self, agent: object, *objects: object, **options: Unpack[RunOptions]) -> RunResult[object]:
        """Call `run` from a program without an event loop."""
        return run_blocking(self.run(agent, *objects, **options))

    @overload
    async def start(
        self, agent: Runnable[T], *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess[T]: ...
    @overload
    async def start(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess: ...
    @suggest_options
    async def start(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess:
        """Run a process of an agent, or of the agent with a name, as far as it can go, and return its handle.

        A planned agent plans its actions; the process of any other Runnable has a single action, which runs it.

        The objects go onto the blackboard first; text becomes a `UserInput`, and so do messages, unless the agent takes
        messages: then text becomes a message, if it takes no `UserInput`. Those in `named` go there as they are, under
        their names, for `by_name`. Look at `process.status`: this does not raise when the process fails or is stuck.

        Raises:
            AgentNotFoundError: when no agent has the name.
            DeclarationError: when the agent is not declared correctly.
            ConfigurationError: when a tool group is missing that an action uses; or when the platform has a store, and
                the options cannot be kept there. For an object that cannot, this is a `StoredStateError`.
        """
        return await self._runner.start(self._registry.admit_spec(agent), with_named(objects, named), options)

    @overload
    def start_sync(
        self, agent: Runnable[T], *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess[T]: ...
    @overload
    def start_sync(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess: ...
    @suggest_options
    def start_sync(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess:
        """Call `start` from a program without an event loop, as the other methods that end in `_sync` do.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .start(...)` there.
        """
        return run_blocking(self.start(agent, *objects, named=named, options=options))

    @overload
    async def spawn(
        self, agent: Runnable[T], *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess[T]: ...
    @overload
    async def spawn(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess: ...
    @suggest_options
    async def spawn(
        self, agent: object, *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess:
        """Start a process as `start` does, but return at once, while the process runs in the background.

        Raises:
            AgentNotFoundError: when no agent has the name.
            DeclarationError: when the agent is not declared correctly.
            ConfigurationError: when a tool group is missing that an action uses; or when the platform has a store, and
                the options cannot be kept there.
        """
        return await self._runner.spawn(self._registry.admit_spec(agent), with_named(objects, named), options)

    async def converse(
        self, agent: object, message: str | UserMessage, *, run_id: str, options: ProcessOptions
    ) -> AgentProcess:
        """Give a message to the process of an agent in a conversation, and run it as far as it can go.

        The first message begins the process. Where the process asks for a text, and for nothing else, the message is
        the answer. See `Chatbot`, which does this for many users.

        Args:
            agent: the agent, or its name.
            message: the message of the user.
            run_id: id of the process: any text that no other run has.
            options: settings of the process, with a `conversation_id`, for its first message.

        Raises:
            ConfigurationError: when the options have no `conversation_id`, and as `start`.
            RunConflictError: when the process has ended, or another worker is continuing it.
            AgentNotFoundError: as `start`.
            DeclarationError: as `start`.
        """
        if options.conversation_id is None:
            raise ConfigurationError("A conversation needs an id: write ProcessOptions(conversation_id=...).")
        said = UserMessage(message) if isinstance(message, str) else message
        return await self._runner.converse(self._registry.admit_spec(agent), said, run_id, options)

    async def enqueue(self, agent: object, *objects: object, **settings: Unpack[EnqueueOptions]) -> str:
        """Put a run of any registered Runnable into the store for a worker to start, and return its id.

        Args:
            agent: the Runnable, or its registered name.
            *objects: input; a planned agent may take several objects.
            **settings: see `EnqueueOptions`.

        Raises:
            ConfigurationError: when the platform has no store, or an option is unknown, of the wrong type, or cannot be
                kept there.
            AgentNotFoundError: when nothing is registered with the name.
            DeclarationError: when the agent is not declared correctly.
            StoredStateError: when the input has no JSON form.
        """
        from tactician.platform.enqueuing import Enqueuer

        return await Enqueuer(self._registry, self.context, self.services).enqueue(agent, objects, settings)

    async def assemble_for(self, agent: object, *objects: object) -> object:
        """Return the agent; where it has no plan from the objects by itself, one that also uses the actions of others.

        These are the actions of all registered planned agents and components.

        Args:
            agent: the planned agent, or its name.
            *objects: what the process would start with.

        Raises:
            AgentNotFoundError: when none has the name.
            DeclarationError: when it is not declared correctly.
        """
        from tactician.platform.invocation import Invocation

        return await Invocation(self._registry, self.context(), self._runner).assemble_for(agent, objects)

    @suggest_options
    async def invoke(
        self, kind: type[T], *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> T:
        """Return an object of the requested type, from the registered agent that has a goal and a plan for it.

        When no agent has a plan by itself, the actions of all of them are planned together, as for components.
        In code that runs for an agent, it is a run inside the run around it, as `agent.run(...)` is.

        Raises:
            AgentNotFoundError: when no registered agent yields the type.
            ProcessStuckError: when neither an agent nor all of them together have a plan from these objects.
            ProcessWaitingError: when it waits for somebody; `respond` continues it.
            ProcessFailedError: when an action raises, a budget is used up, or a goal that may give several
                types gives another type.
        """
        from tactician.platform.invocation import Invocation

        context = RunContext.find_current() or self.context()
        return await Invocation(self._registry, context, self._runner).invoke(kind, with_named(objects, named), options)

    @suggest_options
    def invoke_sync(
        self, kind: type[T], *objects: object, named: Named | None = None, options: ProcessOptions | None = None
    ) -> T:
        """Call `invoke` from a program without an event loop."""
        return run_blocking(self.invoke(kind, *objects, named=named, options=options))


def _create_planning(
    planning: PlanningBudget | None, objective: Objective | None, plan_review: PlanReview | None
) -> Sequence[PlanningSettings]:
    """Return the settings of planning; none, where all are the default."""
    settings = (planning, objective, plan_review)
    return () if settings == (None, None, None) else (PlanningSettings(*settings),)


@cache
def _default() -> Platform:
    platform = Platform.__new__(Platform)
    platform._set_up(Services.default())
    return platform


def _load_default_models() -> ModelSource:
    from tactician.llm.catalog import load_default_models

    return load_default_models()
