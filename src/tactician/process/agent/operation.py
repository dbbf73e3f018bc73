"""The context of an action: its process, models, other agents, work on several items, messages to people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Final, TypeVar, cast

from typing_extensions import TypeForm

from tactician.ai import Ai
from tactician.conversation import ChatUser
from tactician.errors import ConfigurationError
from tactician.flow.scheduler import gather_or_suspend
from tactician.frozen import frozen
from tactician.llm import AssistantMessage, Text
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput
from tactician.process.board.blackboard import Blackboard
from tactician.process.objects import Bound, Named, with_named
from tactician.process.people.questions import allow_questions
from tactician.process.state.conversation import ProcessConversation
from tactician.process.state.events import MessageSent, ProgressReported
from tactician.process.state.handle import ProcessHandle
from tactician.process.state.options import ProcessOptions
from tactician.process.state.state import ChildRun
from tactician.prompts import PromptContributor
from tactician.runs import OutputError, RunContext, Runnable, RunResult, RunStatus
from tactician.runs.outcomes.budget import BudgetMeter
from tactician.runs.progress.checkpoint import Checkpoint
from tactician.tools.tool import as_text

T = TypeVar("T")
V = TypeVar("V")
TOWARDS: Final = "__towards__"
"""The name of a method that gives the same agent with only those goals that give an object of a type."""


@frozen
class OperationContext:
    """Context of an action or a condition, for its parameter of this type."""

    process: ProcessHandle
    _run: RunContext
    idempotency_key: str = ""
    """Idempotency key for external services: the same for every attempt of this run of the action, on any machine.

    The key of a condition is the same when it is evaluated again for the same step, and changes with a later step.
    """
    tool_groups: tuple[str, ...] = ()
    """Names of the tool groups that its models may use."""
    contributors: tuple[PromptContributor, ...] = ()
    """Parts of the instructions of its models, and references that these may use."""
    _inside: list[ProcessHandle] = field(default_factory=list, repr=False, compare=False)

    @property
    def run(self) -> RunContext:
        """The context of the code that runs in the action: of a tool in it, say, or of the action itself.

        Runs inside the action find it by themselves.
        """
        current = RunContext.find_current()
        is_inside = current is not None and current.find(OperationContext) is self
        return current if current is not None and is_inside else self._enclosed

    @property
    def _enclosed(self) -> RunContext:
        """The context of the action, in which all that runs finds the action and its models."""
        process, run = self.process, self._run
        board = process.blackboard
        ai: dict[type, object] = {}
        if self.tool_groups or self.contributors:
            ai[Ai] = Ai(run).with_tool_groups(*self.tool_groups).with_prompt_contributors(*self.contributors)
        surroundings = {OperationContext: self, ProcessHandle: process, Blackboard: board, **ai}
        return run.inside(surroundings, receive=board.add)

    @classmethod
    def __from_run__(cls, run: RunContext) -> OperationContext:
        """Return the context of the action around a run.

        Raises:
            ConfigurationError: outside of actions.
        """
        return run.get(OperationContext)

    def at(self, key: str) -> OperationContext:
        """Return the context of a part, such as a condition among several: it has keys of its own."""
        return replace(self, _run=self._run.at(key), idempotency_key=f"{self.idempotency_key}/{key}", _inside=[])

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint of the action."""
        return self._run.checkpoint

    @property
    def blackboard(self) -> Blackboard:
        """All that the process knows so far."""
        return self.process.blackboard

    @property
    def ai(self) -> Ai:
        """The models of the platform; their usage is counted for this action."""
        return Ai.__from_run__(self.run)

    @property
    def children(self) -> tuple[ChildRun, ...]:
        """The processes that have run inside the action so far, as they are now."""
        return tuple([process.summarize() for process in self._inside])

    async def run_agent(self, agent: object, kind: TypeForm[T], *inputs: object, named: Named | None = None) -> T:
        """Run another agent, and return its result as an object of a type. A planned agent runs as a process inside.

        Args:
            agent: any Runnable, such as an instance of a `@planned_agent` class. Of its goals, only those that give the
                type are pursued.
            kind: the type.
            inputs: objects that the agent begins with; by default, all that is visible on the blackboard. The agent
                has a blackboard of its own, and only its result comes back.
            named: further objects for a planned agent, by their names.

        Raises:
            ConfigurationError: when the agent is not a Runnable, has no goal that gives the type, or has to wait
                outside of actions.
            RunError: when it fails, is stuck, or gives something else.
        """
        objects = inputs if inputs or named else self.blackboard.objects
        return await _run_agent(agent, kind, with_named(objects, named), self.run)

    async def parallel_map(
        self, items: Iterable[T], function: Callable[[T], Awaitable[V]], *, max_concurrency: int = 4
    ) -> list[V]:
        """Call a function for each item, several at once, and return the results in the order of the items.

        When the function raises for an item, the others are cancelled. When it has to wait for somebody, the others
        are finished first.

        Args:
            items: the items.
            function: called once for each item; it may use the context of the action as if it were alone.
            max_concurrency: number of items that are worked on at once.

        Raises:
            ConfigurationError: when `max_concurrency` is less than 1.
        """
        return await _map_items(self.run, items, function, max_concurrency)

    def send(self, message: str | AssistantMessage) -> None:
        """Send a message to the people outside, by an event `MessageSent`, and in the conversation of the process.

        When the action waits, and is run again from its beginning, a message that was sent before is not sent again.
        """
        _send(self.run, message)

    def report_progress(self, text: str) -> None:
        """Tell the people outside what is being done, by an event `ProgressReported`: no conversation has it."""
        run = self.run
        run.emit(ProgressReported, text=text)
        if (conversation := run.find(ProcessConversation)) is not None:
            conversation.report(text)

    def add_child(self, process: ProcessHandle) -> None:
        """Note a process that begins inside the action, once."""
        if all(process is not other for other in (self.process, *self._inside)):
            self._inside.append(process)
            self.process.add_child(process)


async def _map_items(
    run: RunContext, items: Iterable[T], function: Callable[[T], Awaitable[V]], max_concurrency: int
) -> list[V]:
    if max_concurrency < 1:
        raise ConfigurationError(f"max_concurrency is {max_concurrency}; it must be at least 1")
    step = run.step("map")

    async def work(number: int, item: T) -> V:
        with allow_questions(step.at(str(number))):
            return await function(item)

    runs = (work(number, item) for number, item in enumerate(items, start=1))
    return await gather_or_suspend(*runs, max_concurrency=max_concurrency)


async def _run_agent(agent: object, expected: TypeForm[T], inputs: Sequence[object], context: RunContext) -> T:
    runnable = _aim(agent, expected)
    if not hasattr(agent, TOWARDS) and any(isinstance(value, Bound) for value in inputs):
        raise ConfigurationError(f"{runnable.name} is not a planned agent: named objects need one.")
    result = await runnable.run(inputs[0] if len(inputs) == 1 else tuple(inputs), context=context)
    if result.status is RunStatus.WAITING:  # inside an action, it would have been on its way out
        raise ConfigurationError(
            f"{runnable.name} waits for somebody, which can be waited for in an action of a process only: not in a "
            "condition, a cost or a test."
        )
    kind: object = expected  # a union or a generic type, too
    if isinstance(kind, type) and isinstance(result.output, kind):
        return cast("T", result.output)
    try:
        return output_type(expected).accept(result.output)
    except InvalidOutput as error:
        failed = RunResult(None, RunStatus.FAILED, tally=result.tally, run_id=result.run_id)
        message = f"{runnable.name}: its answer is not a valid {_name_of(expected)}: {error}"
        raise OutputError(message, failed, as_text(result.output)) from error


def _name_of(kind: object) -> object:
    return getattr(kind, "__name__", kind)


def _aim(agent: object, kind: object) -> Runnable:
    towards = cast("Callable[[type], object] | None", getattr(agent, TOWARDS, None))
    aimed = agent if towards is None else towards(kind) if isinstance(kind, type) else None
    if aimed is None:
        raise ConfigurationError(f"{getattr(agent, 'name', agent)!r} has no goal that produces {_name_of(kind)}.")
    if not isinstance(aimed, Runnable):
        raise ConfigurationError(
            f"{type(agent).__name__} is not an agent: pass a Runnable, or an instance of a @planned_agent class."
        )
    return aimed


def _send(run: RunContext, message: str | AssistantMessage) -> None:
    """Send a message to those who listen, unless it was sent before the run had to wait."""
    sent = None if run.checkpoint is None else run.checkpoint.child("sent")
    if sent is not None and sent.data:
        return
    if sent is not None:
        sent.set(sent=True)
    message = AssistantMessage((Text(message),)) if isinstance(message, str) else message
    run.emit(MessageSent, message=message)
    if (conversation := run.find(ProcessConversation)) is not None:
        conversation.say(message)


def create_process_context(context: RunContext, options: ProcessOptions, meter: BudgetMeter) -> RunContext:
    """Return the context of a process, with the budget, the listeners and the pace of its options."""
    log = None
    if options.verbosity is not None:
        from tactician.process.state.event_log import create_log_sink

        log = create_log_sink(options.verbosity)
    pace = context.pace
    if options.tool_delay:
        from tactician.resilience.pace import Pace

        pace = Pace(options.tool_delay, context.clock)
    inside = context if options.user is None else context.inside({ChatUser: options.user})
    return replace(
        inside.as_internal(),
        meter=meter,
        services=context.services.with_bus(context.bus.create_child(options.on_event, log)),
        pace=pace,
        parent_id=context.process_id,
        process_id=context.run_id,
    )
