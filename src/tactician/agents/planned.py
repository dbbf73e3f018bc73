"""`@planned_agent`: a class whose typed actions plan themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from tactician.agents.base import BaseRunnable
from tactician.agents.compilation import ClassSpec, compile_class
from tactician.errors import DeclarationError, ProcessFailedError, ProcessStuckError
from tactician.llm import AssistantMessage, SystemMessage, ToolResult, UserMessage, text_of
from tactician.process import AgentProcess, AgentSpec, Blackboard, ProcessOptions, ProcessStatus, UserInput
from tactician.runs import Input, RunContext, RunResult, messages_of
from tactician.tools import caller_namespace

C = TypeVar("C", bound=type)
DECLARED: Final = "__tactician_planned__"
_MESSAGES = (UserMessage, AssistantMessage, SystemMessage, ToolResult)


@dataclass(slots=True)
class _Declared:
    """What `@planned_agent` says of a class. It is compiled when it is first needed."""

    owner: type
    name: str
    description: str
    namespace: Mapping[str, object]
    compiled: ClassSpec | None = None

    def spec(self, instance: object) -> AgentSpec:
        if self.compiled is None:
            self.compiled = compile_class(self.owner, self.namespace)
            self.namespace = {}
        return self.compiled.bind(instance, self.name, self.description)


def planned_agent(*, description: str, name: str | None = None) -> Callable[[C], C]:
    """Declares a class as a planned agent; its methods are declared with `@action` and `@condition`.

    Instances are Runnables: they also have `run`, `run_sync`, `stream` and `as_tool`, unless the class has
    a member of that name. `PlannedAgent(instance)` is the same with static types.

    Args:
        description: what the agent is for; people and models choose agents by it.
        name: the class's name by default.
    """
    namespace = caller_namespace(1)

    def mark(owner: C) -> C:
        setattr(owner, DECLARED, _Declared(owner, name or owner.__name__, description, namespace))
        members = {"name": name or owner.__name__, "description": description}
        for member, value in {**members, **_RUNNABLE_METHODS}.items():
            if not hasattr(owner, member):
                setattr(owner, member, value)
        return owner

    return mark


class PlannedAgent(BaseRunnable[object]):
    """An instance of a `@planned_agent` class as a Runnable.

    Raises:
        DeclarationError: when the class is not declared, or not declared correctly.
    """

    def __init__(self, instance: object) -> None:
        declared = getattr(type(instance), DECLARED, None)
        if not isinstance(declared, _Declared) or declared.owner is not type(instance):
            raise DeclarationError(type(instance).__name__, ["decorate the class with @planned_agent(description=...)"])
        self.instance = instance
        self.spec = declared.spec(instance)
        self.name = self.spec.name
        self.description = self.spec.description

    def __repr__(self) -> str:
        return f"PlannedAgent({self.name!r})"

    def process(
        self, *objects: object, context: RunContext | None = None, options: ProcessOptions | None = None
    ) -> AgentProcess:
        """A process that has not started, with the objects on its blackboard; text becomes a `UserInput`."""
        child = (context or RunContext.default()).child(self.name)
        return AgentProcess(self.spec, Blackboard(*map(_as_object, objects)), child, options)

    async def run(
        self, input: Input, *, context: RunContext | None = None, options: ProcessOptions | None = None
    ) -> RunResult[object]:
        """Runs a process with the input (a tuple is several objects) and returns what its goal gave.

        Raises:
            ProcessStuckError: when no plan reaches a goal.
            ProcessFailedError: when an action raises.
        """
        objects = input if isinstance(input, tuple) and not _is_conversation(input) else (input,)
        process = await self.process(*objects, context=context, options=options).run()
        raise_unless_completed(process)
        return RunResult(process.result, tally=process.tally, process_id=process.id)


def is_planned(value: object) -> bool:
    """Whether the value is an instance of a `@planned_agent` class."""
    return isinstance(getattr(type(value), DECLARED, None), _Declared)


def raise_unless_completed(process: AgentProcess) -> None:
    """Nothing, for a process that reached its goal.

    Raises:
        ProcessStuckError: when no plan reaches a goal.
        ProcessFailedError: when it ended in any other way; an action's exception is the cause.
    """
    if process.status is ProcessStatus.COMPLETED:
        return
    kind = ProcessStuckError if process.status is ProcessStatus.STUCK else ProcessFailedError
    raise kind(f"{process.agent.name} is {process.status}: {process.failure}", process) from process.error


def _as_object(value: object) -> object:
    if isinstance(value, str):
        return UserInput(value)
    if isinstance(value, _MESSAGES) or _is_conversation(value):
        return UserInput(text_of(messages_of(value)))
    return value


def _is_conversation(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, _MESSAGES) for one in value)


async def _run(
    self: object, input: Input, *, context: RunContext | None = None, options: ProcessOptions | None = None
) -> RunResult[object]:
    return await PlannedAgent(self).run(input, context=context, options=options)


_RUNNABLE_METHODS: Mapping[str, Callable[..., object]] = {
    "run": _run,
    "run_sync": BaseRunnable.run_sync,
    "stream": BaseRunnable.stream,
    "as_tool": BaseRunnable.as_tool,
}
