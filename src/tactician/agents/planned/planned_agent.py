"""`@planned_agent`: a class whose typed actions are planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import wraps
from typing import Final, TypeVar, cast

from typing_extensions import override

from tactician.agents.base import BaseRunnable
from tactician.agents.planned.compilation import compile_classes
from tactician.agents.planned.declarations import Planner
from tactician.agents.planned.methods import Source
from tactician.agents.planned.signatures import Provide
from tactician.diagrams import Diagram
from tactician.errors import DeclarationError
from tactician.planning import PlanningBudget
from tactician.process import (
    TOWARDS,
    AgentProcess,
    Named,
    PlannedAgentSpec,
    ProcessFailedError,
    ProcessOptions,
    ProcessStatus,
    ProcessStuckError,
    ProcessWaitingError,
    check_options,
    draw_agent,
    find_rejection,
    read_origin,
    with_named,
)
from tactician.runs import Budget, Input, InputTypes, RunContext, RunResult, Suspended, is_conversation, start_run
from tactician.tools import find_caller_namespace

C = TypeVar("C", bound=type)
DECLARED: Final = "__tactician_planned__"


@dataclass(slots=True)
class _AgentDeclaration:
    """Declaration of `@planned_agent`. The class is compiled when its spec is first needed."""

    owner: type
    name: str
    description: str
    planner: Planner | str
    planning: PlanningBudget | None
    source: Source
    added: frozenset[str]
    compiled: PlannedAgentSpec | None = None

    def spec(self, instance: object) -> PlannedAgentSpec:
        if self.compiled is None:
            needs_goal = self.planner in (Planner.GOAP, Planner.SUPERVISOR)
            self.compiled = compile_classes(
                [self.source],
                self.name,
                self.description,
                self.planner,
                planning=self.planning,
                needs_goal=needs_goal,
            )
        self.compiled = self.compiled.refresh()
        return self.compiled.of(instance)


def planned_agent(
    *,
    description: str,
    name: str | None = None,
    planner: Planner | str = Planner.GOAP,
    planning: PlanningBudget | None = None,
    resolvers: Mapping[type, Provide] | None = None,
) -> Callable[[C], C]:
    """Declare a class as a planned agent; its methods are declared with `@action` and `@condition`.

    Instances are Runnables: they also have `run`, `run_sync`, `stream` and `as_tool`, unless the class has
    a member of that name. `PlannedAgent(instance)` is the same with static types.

    Args:
        description: the purpose of the agent, by which people and models choose agents.
        name: the class's name by default.
        planner: the planning algorithm: a `Planner`, or its value, as in `"utility"`.
        planning: limits of each decision of the planner; those of the platform by default.
        resolvers: functions that fill parameters of these types, instead of the blackboard.
    """
    namespace = find_caller_namespace(1)

    def mark(owner: C) -> C:
        label = name or owner.__name__
        members = {"name": label, "description": description, **_RUNNABLE_METHODS}
        added = frozenset(member for member in members if not _is_users(owner, member))
        for member in added:
            setattr(owner, member, members[member])
        source = Source(owner, namespace, resolvers or {})
        setattr(owner, DECLARED, _AgentDeclaration(owner, label, description, planner, planning, source, added))
        return owner

    return mark


def _is_users(owner: type, member: str) -> bool:
    """Return whether the user wrote the member, here or on a base class, instead of `@planned_agent`."""
    home = next((kind for kind in owner.__mro__ if member in vars(kind)), None)
    declared = vars(home).get(DECLARED) if home is not None else None
    return home is not None and not (isinstance(declared, _AgentDeclaration) and member in declared.added)


class PlannedAgent(BaseRunnable[object]):
    """Instance of a `@planned_agent` class as a Runnable.

    Raises:
        DeclarationError: when the class is not declared, or not declared correctly.
    """

    def __init__(self, instance: object) -> None:
        declared = getattr(type(instance), DECLARED, None)
        if not isinstance(declared, _AgentDeclaration) or declared.owner is not type(instance):
            raise DeclarationError(type(instance).__name__, ["decorate the class with @planned_agent(description=...)"])
        self.instance = instance
        self._spec = declared.spec(instance)
        self.name = self._spec.name
        self.description = self._spec.description

    @classmethod
    def of(cls, spec: PlannedAgentSpec) -> PlannedAgent:
        """Return the agent of an existing spec."""
        made = cls.__new__(cls)
        made.instance, made._spec = spec.instance, spec
        made.name, made.description = spec.name, spec.description
        return made

    @property
    def spec(self) -> PlannedAgentSpec:
        """The spec for processes, with all subclasses of its types that are loaded now."""
        self._spec = self._spec.refresh()
        return self._spec

    @property
    def planned_spec(self) -> PlannedAgentSpec:
        """The spec, under the name that all Runnables share."""
        return self.spec

    def __repr__(self) -> str:
        return f"PlannedAgent({self.name!r})"

    @override
    def diagram(self) -> Diagram:
        return draw_agent(self.spec)

    @property
    @override
    def input_types(self) -> InputTypes:
        return InputTypes(tuple(self._spec.generics.get(kind, kind) for kind in self._spec.types.values()))

    def towards(self, wanted: type) -> PlannedAgent | None:
        """Return the agent with only the goals that produce the type; `None` when there is none."""
        if (spec := self.spec.towards(wanted)) is None:
            return None
        aimed = copy(self)
        aimed._spec = spec
        return aimed

    def __towards__(self, wanted: type) -> PlannedAgent | None:
        return self.towards(wanted)

    def create_process(
        self,
        *objects: object,
        named: Named | None = None,
        context: RunContext | None = None,
        options: ProcessOptions | None = None,
    ) -> AgentProcess:
        """Return a new process with the objects on its blackboard.

        Text becomes a `UserInput`, and so do messages, unless the agent takes messages: then text becomes one, if it
        takes no `UserInput`. Those in `named` go there as they are, under their names.
        """
        child = (context or RunContext.current()).child(self.name)
        return AgentProcess.create(self.spec, with_named(objects, named), child, options)

    async def run(
        self,
        input: Input = (),
        *,
        named: Named | None = None,
        context: RunContext | None = None,
        budget: Budget | None = None,
        options: ProcessOptions | None = None,
    ) -> RunResult[object]:
        """Run a process with the input, and return the output of its goal.

        A tuple as input stands for several objects; named objects are bound by their names.

        The result's status is `WAITING` when an action asks somebody: see `resume`.

        Raises:
            ProcessStuckError: when no plan reaches a goal.
            ProcessFailedError: when an action raises.
        """
        made: list[AgentProcess] = []

        def prepare(child: RunContext) -> None:
            objects = with_named(list_input_objects(input), named)
            if child.is_durable:
                check_options(options)
            made.append(AgentProcess.create(self.spec, objects, child, options))

        async def work(_: Input, child: RunContext) -> RunResult[object]:
            return await _finish(made.pop() if made else self._restore(child, options))

        traced = self._with_trace(context)
        return await start_run(self.name, None, traced, budget, work, kind="process", prepare=prepare)

    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        return await _finish(self._restore(context, None))

    def _restore(self, context: RunContext, options: ProcessOptions | None) -> AgentProcess:
        """Restore the process from the checkpoint of a run."""
        assert context.checkpoint is not None
        same = replace(context, run_id=read_origin(context.checkpoint.data).id)
        return AgentProcess.restore(self.spec, same, options)


async def _finish(process: AgentProcess) -> RunResult[object]:
    """Run a process as far as possible, and return the output of its goal.

    Raises:
        Suspended: when it has to wait.
        ProcessError: when it does not reach a goal.
    """
    await process.run()
    if process.status in (ProcessStatus.WAITING, ProcessStatus.PAUSED):
        raise Suspended(*process.pending)
    raise_unless_completed(process)
    return RunResult(process.result, tally=process.tally, process_id=process.id, run_id=process.id)


def list_input_objects(input: Input) -> tuple[object, ...]:
    """Return the objects of an input: a tuple is several objects, unless it is a conversation."""
    several = type(input) is tuple and not is_conversation(input)  # a NamedTuple is one object
    return cast("tuple[object, ...]", input) if several else (input,)


def is_planned(value: object) -> bool:
    """Return whether the value is an instance of a `@planned_agent` class."""
    return isinstance(getattr(type(value), DECLARED, None), _AgentDeclaration)


def is_planned_class(value: object) -> bool:
    """Return whether the value is a `@planned_agent` class."""
    return isinstance(value, type) and DECLARED in vars(value)


def find_declared_source(instance: object) -> Source | None:
    """Return the class of a planned agent as a source to combine with others; `None` for another object."""
    declared = getattr(type(instance), DECLARED, None)
    if not isinstance(declared, _AgentDeclaration):
        return None
    return replace(declared.source, prefix=f"{declared.owner.__name__}.", instance=instance)


def raise_unless_completed(process: AgentProcess) -> None:
    """Raise the error of a process that has not reached its goal.

    Raises:
        ProcessWaitingError: when it waits for somebody.
        ProcessStuckError: when no plan reaches a goal; a rejection because of which it is so is the cause.
        ProcessFailedError: when it ended in any other way; an action's exception is the cause.
    """
    if process.status is ProcessStatus.COMPLETED:
        return
    if process.pending:
        raise ProcessWaitingError(_describe_pending(process), process)
    if process.status is ProcessStatus.STUCK:
        message = f"{process.agent.name} is stuck: {process.failure}"
        raise ProcessStuckError(message, process) from find_rejection(process)
    verb = "failed" if process.status is ProcessStatus.FAILED else f"is {process.status}"
    raise ProcessFailedError(f"{process.agent.name} {verb}: {process.failure}", process) from process.error


def _describe_pending(process: AgentProcess) -> str:
    asked = "; ".join(f"{request.prompt!r} ({request.kind}, {request.id!r})" for request in process.pending)
    answer = f"await platform.respond({process.id!r}, {process.pending[0].id!r}, ...)"
    return f"{process.agent.name} waits for {asked}. Go on with `{answer}`."


def _delegate_to_planned_agent(method: Callable[..., object]) -> Callable[..., object]:
    """Return the method for instances of the user's class."""

    @wraps(method)
    def call(self: object, /, *args: object, **kwargs: object) -> object:
        return method(PlannedAgent(self), *args, **kwargs)

    return call


_RUNNABLE_METHODS: Mapping[str, Callable[..., object]] = {
    "run": _delegate_to_planned_agent(PlannedAgent.run),
    "run_sync": _delegate_to_planned_agent(PlannedAgent.run_sync),
    "stream": _delegate_to_planned_agent(PlannedAgent.stream),
    "as_tool": _delegate_to_planned_agent(PlannedAgent.as_tool),
    "with_output_type": _delegate_to_planned_agent(PlannedAgent.with_output_type),
    "to_blueprint": _delegate_to_planned_agent(PlannedAgent.to_blueprint),
    "diagram": _delegate_to_planned_agent(PlannedAgent.diagram),
    "to_mermaid": _delegate_to_planned_agent(PlannedAgent.to_mermaid),
    "_repr_mimebundle_": _delegate_to_planned_agent(PlannedAgent._repr_mimebundle_),
    "resume": _delegate_to_planned_agent(PlannedAgent.resume),
    "list_pending": _delegate_to_planned_agent(PlannedAgent.list_pending),
    TOWARDS: _delegate_to_planned_agent(PlannedAgent.towards),
}
