"""What an action can reach."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from tactician.ai import Ai
from tactician.errors import ConfigurationError
from tactician.llm import AssistantMessage
from tactician.process.blackboard import Blackboard
from tactician.process.history import ChildRun
from tactician.process.inputs import Named, with_named
from tactician.process.mapping import mapped, run_of
from tactician.process.nesting import output_of
from tactician.process.options import ProcessOptions
from tactician.process.sending import send
from tactician.runs import Budget, RunContext

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class OperationContext:
    """Passed to an action or a condition that has a parameter of this type."""

    process: AgentProcess
    _run: RunContext
    idempotency_key: str = ""
    """The same for every attempt of this run of the action, also in another process: for services that take one."""
    tool_groups: tuple[str, ...] = ()
    """What its models may use."""
    _inside: list[AgentProcess] = field(default_factory=list, repr=False, compare=False)

    @property
    def run(self) -> RunContext:
        """To be passed on to what is run: `await agent.run(..., context=context.run)`."""
        return run_of(self._run)

    @property
    def blackboard(self) -> Blackboard:
        """All that the process knows so far."""
        return self.process.blackboard

    @property
    def ai(self) -> Ai:
        """The models of the platform; what they use is counted for this action."""
        return Ai(self.run).with_tool_groups(*self.tool_groups) if self.tool_groups else Ai(self.run)

    @property
    def children(self) -> tuple[ChildRun, ...]:
        """The processes that have run inside the action so far, as they are now."""
        return tuple(ChildRun.of(process) for process in self._inside)

    async def run_agent(self, agent: object, wanted: type[T], *inputs: object, named: Named | None = None) -> T:
        """What another agent gives, as an object of a type. A planned agent runs as a process inside this one.

        Args:
            agent: any Runnable, such as an instance of a `@planned_agent` class. Of its goals, only those that give the
                type are pursued.
            wanted: the type.
            inputs: what it begins with; by default, all that is visible on the blackboard. It has a blackboard of its
                own, and only its result comes back.
            named: what a planned agent begins with too, under names.

        Raises:
            ConfigurationError: when it is no Runnable, has no goal that gives the type, or has to wait outside of
                actions.
            RunError: when it fails, is stuck, or gives something else.
        """
        given = inputs if inputs or named else self.blackboard.objects
        return await output_of(agent, wanted, with_named(given, named), self.run)

    async def parallel_map(
        self, items: Iterable[T], function: Callable[[T], Awaitable[V]], *, max_concurrency: int = 4
    ) -> list[V]:
        """What a function gives for each item, in their order; several are worked on at once.

        When it raises for one item, the others are cancelled. When it has to wait for somebody, the others are finished
        first.

        Args:
            items: for each, the function is called once.
            function: may use the context of the action, as if it were alone.
            max_concurrency: how many items are worked on at once.

        Raises:
            ConfigurationError: when `max_concurrency` is less than 1.
        """
        return await mapped(self._run, items, function, max_concurrency)

    def send(self, message: str | AssistantMessage) -> None:
        """Tells the people outside something, by an event `MessageSent`, and goes on.

        When the action waits, and is run again from its beginning, what was sent before is not sent again.
        """
        send(self.run, message)


_current: ContextVar[OperationContext] = ContextVar("the action that runs")


@contextmanager
def operating(operation: OperationContext) -> Iterator[None]:
    """Lets what an action runs know of the action."""
    token = _current.set(operation)
    try:
        yield
    finally:
        _current.reset(token)


def begin_inside(process: AgentProcess, context: RunContext) -> None:
    """Has the action that runs now remember the process, if that runs in a context inside the action's."""
    operation = _around(context)
    if operation is not None and all(process is not one for one in (operation.process, *operation._inside)):
        operation._inside.append(process)
        operation.process.note(process)


def options_inside(context: RunContext) -> ProcessOptions | None:
    """The options of a process that has none of its own: inside an action, those of the process around it.

    Its budget is that of the process around it, which holds for both. `None` outside of actions.
    """
    if (operation := _around(context)) is None:
        return None
    outer = operation.process.options
    return ProcessOptions(budget=Budget(), max_parallel=outer.max_parallel, retry=outer.retry, delay=outer.delay)


def _around(context: RunContext) -> OperationContext | None:
    """The action that runs now, if the context is inside that of the action."""
    operation = _current.get(None)
    if operation is None or context.path[: len(operation._run.path)] != operation._run.path:
        return None
    return operation


def ai_in(run: RunContext) -> Ai:
    """The models, in the context of a run; inside an action with the tools that the action has."""
    operation = _current.get(None)
    return Ai(run) if operation is None else replace(operation, _run=run).ai


def operation_in(run: RunContext) -> OperationContext:
    """The action that runs now, in the context of a run inside it.

    Raises:
        ConfigurationError: outside of actions.
    """
    operation = _current.get(None)
    if operation is None:
        raise ConfigurationError("There is an OperationContext only inside an action of a planned agent.")
    return replace(operation, _run=run)
