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
from tactician.process.mapping import mapped, run_of
from tactician.process.nesting import output_of
from tactician.process.sending import send
from tactician.runs import RunContext

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

    async def run_agent(self, agent: object, wanted: type[T], *inputs: object) -> T:
        """What another agent gives, as an object of a type. A planned agent runs as a process inside this one.

        Args:
            agent: any Runnable, such as an instance of a `@planned_agent` class. Of its goals, only those that give the
                type are pursued.
            wanted: the type.
            inputs: what it begins with; by default, all that is visible on the blackboard. It has a blackboard of its
                own, and only its result comes back.

        Raises:
            ConfigurationError: when it is no Runnable, or has no goal that gives the type.
            RunError: when it fails, is stuck, or gives something else.
        """
        return await output_of(agent, wanted, inputs or self.blackboard.objects, self.run)

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
    operation = _current.get(None)
    if operation is None or operation.process is process:
        return
    path = operation._run.path
    if context.path[: len(path)] == path and all(process is not one for one in operation._inside):
        operation._inside.append(process)


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
