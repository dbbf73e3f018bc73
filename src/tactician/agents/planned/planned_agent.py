"""`@planned_agent`: a class whose typed actions are planned."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self, cast

from typing_extensions import TypeVar, override

from tactician.agents.base import BaseRunnable
from tactician.agents.conversations import check_conversation, join_input, run_in_conversation
from tactician.agents.planned.compilation import compile_classes
from tactician.agents.planned.declarations import Planner
from tactician.agents.planned.methods import Source
from tactician.conversation import Conversation
from tactician.errors import DeclarationError
from tactician.planning import PlanningBudget
from tactician.process import (
    AgentProcess,
    ProcessFailedError,
    ProcessOptions,
    ProcessStatus,
    ProcessStuckError,
    ProcessWaitingError,
)
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.objects import Named, with_named
from tactician.process.saving.saved_state import check_options, read_origin
from tactician.process.state.errors import find_rejection
from tactician.runs import Budget, Input, RunContext, RunResult
from tactician.runs.context.threads import run_blocking
from tactician.runs.life.execution import start_run
from tactician.runs.life.inputs import InputTypes
from tactician.runs.outcomes.events import PROCESS_KIND
from tactician.runs.outcomes.suspension import Suspended
from tactician.runs.runnable import is_conversation, messages_of
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from tactician.diagrams.diagram import Diagram
    from tactician.planning import Objective, Plan
    from tactician.planning.rules import Rule
    from tactician.process.agent.what_if import Fallback

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=object)
DECLARED: Final = "__tactician_planned__"


@dataclass(slots=True)
class AgentDeclaration:
    """Declaration of `@planned_agent`. The class is compiled when its spec is first needed."""

    owner: type
    name: str
    description: str
    planner: Planner | str
    planning: PlanningBudget | None
    objective: Objective | None
    rules: tuple[Rule, ...]
    source: Source
    added: frozenset[str]
    result_type: type | None = None
    compiled: PlannedAgentSpec | None = None

    def spec(self, instance: object) -> PlannedAgentSpec:
        """Return the spec of an instance, compiled once for the class."""
        if self.compiled is None:
            needs_goal = self.planner in (Planner.GOAP, Planner.SUPERVISOR)
            self.compiled = compile_classes(
                [self.source],
                self.name,
                self.description,
                self.planner,
                planning=self.planning,
                objective=self.objective,
                rules=self.rules,
                needs_goal=needs_goal,
            )
            self._check_result_type(self.compiled)
        self.compiled = self.compiled.refresh()
        return self.compiled.of(instance)

    def _check_result_type(self, spec: PlannedAgentSpec) -> None:
        """Check that every goal gives the type that the class promises.

        Raises:
            DeclarationError: with all goals that do not.
        """
        if (promised := self.result_type) is None:
            return
        wrong = [goal for goal in spec.goals if not all(issubclass(kind, promised) for kind in goal.output_types)]
        if wrong:
            self.compiled = None
            problem = "the goal {} produces {}, which is not the {} of Planned[{}]"
            raise DeclarationError(
                self.name,
                [
                    problem.format(
                        repr(goal.name),
                        " or ".join(kind.__name__ for kind in goal.output_types) or "nothing",
                        promised.__name__,
                        promised.__name__,
                    )
                    for goal in wrong
                ],
            )


@suggest_options
class PlannedAgent(BaseRunnable[T_co]):
    """Instance of a `@planned_agent` class as a Runnable.

    Raises:
        DeclarationError: when the class is not declared, or not declared correctly.
    """

    def __init__(self, instance: object) -> None:
        declared = getattr(type(instance), DECLARED, None)
        if not isinstance(declared, AgentDeclaration) or declared.owner is not type(instance):
            raise DeclarationError(type(instance).__name__, ["decorate the class with @planned_agent(description=...)"])
        self.instance = instance
        self._spec = declared.spec(instance)
        self.name = self._spec.name
        self.description = self.own_description = self._spec.description

    @classmethod
    def of(cls, spec: PlannedAgentSpec) -> Self:
        """Return the agent of an existing spec."""
        agent = cls.__new__(cls)
        agent.instance, agent._spec = spec.instance, spec
        agent.name, agent.description = spec.name, spec.description
        return agent

    @property
    def spec(self) -> PlannedAgentSpec:
        """The spec for processes, with all subclasses of its types that are loaded now."""
        self._spec = self._spec.refresh()
        return self._spec

    def what_if(self, *assumptions: str) -> Sequence[Plan]:
        """Return the plans from the start under assumptions, the best first, without running anything.

        Args:
            *assumptions: `find_news=fails`, `find_news=nothing` for an action that gives nothing, or its cost, as in
                `find_news=2`.

        Raises:
            ConfigurationError: when an assumption cannot be read, or the agent has no such action.
        """
        from tactician.process.agent.what_if import Assumption, assume, plan_goals

        return plan_goals(assume(self.spec, map(Assumption.parse, assumptions)))

    def find_fallbacks(self, plan: Plan) -> Sequence[Fallback]:
        """Return for each step of a plan from the start what would be done if it failed, or that nothing would help."""
        from tactician.process.agent.what_if import find_fallbacks

        return find_fallbacks(self.spec, plan.goal, plan)

    @property
    def planned_spec(self) -> PlannedAgentSpec:
        """The spec, under the name that all Runnables share."""
        return self.spec

    def __repr__(self) -> str:
        return f"PlannedAgent({self.name!r})"

    @override
    def diagram(self) -> Diagram:
        from tactician.process import draw_agent

        return draw_agent(self.spec)

    @property
    @override
    def input_types(self) -> InputTypes:
        return InputTypes(tuple(self._spec.generics.get(kind, kind) for kind in self._spec.types.values()))

    def towards(self, kind: type) -> PlannedAgent | None:
        """Return the agent with only the goals that produce the type, or `None`."""
        if (spec := self.spec.towards(kind)) is None:
            return None
        aimed = copy(self)
        aimed._spec = spec
        return aimed

    def __towards__(self, kind: type) -> PlannedAgent | None:
        return self.towards(kind)

    def create_process(
        self,
        *objects: object,
        named: Named | None = None,
        context: RunContext | None = None,
        options: ProcessOptions | None = None,
    ) -> AgentProcess[T_co]:
        """Return a new process with the objects on its blackboard.

        Text becomes a `UserInput`, and so do messages, unless the agent takes messages: then text becomes a message, if
        it takes no `UserInput`. Those in `named` go there as they are, under their names.
        """
        child = (context or RunContext.current()).child(self.name)
        return AgentProcess.create(self.spec, with_named(objects, named), child, options)

    @suggest_options
    async def run(
        self,
        input: Input = (),
        *,
        named: Named | None = None,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        options: ProcessOptions | None = None,
    ) -> RunResult[T_co]:
        """Run a process with the input, and return the output of its goal.

        A tuple as input stands for several objects; named objects are bound by their names. With a conversation, the
        input is its last message, and the process begins with all messages.

        The result's status is `WAITING` when an action asks somebody: see `resume`.

        Raises:
            ProcessStuckError: when no plan reaches a goal.
            ProcessFailedError: when an action raises.
        """
        check_conversation(conversation)
        processes: list[AgentProcess[T_co]] = []

        def prepare(child: RunContext) -> None:
            value = input if conversation is None else join_input(conversation, input, child)
            objects = with_named(list_input_objects(value), named)
            if child.is_durable:
                check_options(options)
            processes.append(AgentProcess.create(self.spec, objects, child, options))

        async def work(_: Input, child: RunContext) -> RunResult[T_co]:
            return await _finish(processes.pop() if processes else self._restore(child, options))

        async def work_in(user_input: Input, child: RunContext) -> RunResult[T_co]:
            assert conversation is not None
            return await run_in_conversation(work, conversation, user_input, child)

        prepared, limits = self.prepare_context(context), self.budget if budget is None else budget
        messages, working = (None, work) if conversation is None else (messages_of(input), work_in)
        return await start_run(
            self.name, messages, prepared, limits, working, kind=PROCESS_KIND, prepare=prepare, runnable=self
        )

    @suggest_options
    def run_sync(
        self,
        input: Input = (),
        *,
        named: Named | None = None,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        options: ProcessOptions | None = None,
    ) -> RunResult[T_co]:
        """Run from a program without an event loop; see `run`.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(
            self.run(input, named=named, context=context, budget=budget, conversation=conversation, options=options)
        )

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        return await _finish(self._restore(context, None))

    def _restore(self, context: RunContext, options: ProcessOptions | None) -> AgentProcess[T_co]:
        """Restore the process from the checkpoint of a run."""
        assert context.checkpoint is not None
        same = replace(context, run_id=read_origin(context.checkpoint.data).id)
        return AgentProcess.restore(self.spec, same, options)


async def _finish(process: AgentProcess[T]) -> RunResult[T]:
    """Run a process as far as possible, and return the output of its goal.

    Raises:
        Suspended: when it has to wait.
        ProcessError: when it does not reach a goal.
    """
    await process.run()
    if process.status in (ProcessStatus.WAITING, ProcessStatus.PAUSED):
        raise Suspended(*process.pending)
    raise_unless_completed(process)
    result = cast("T", process.result)  # it has reached its goal
    return RunResult(result, tally=process.tally, process_id=process.id, run_id=process.id)


def list_input_objects(input: Input) -> tuple[object, ...]:
    """Return the objects of an input: a tuple is several objects, unless it is a conversation."""
    several = type(input) is tuple and not is_conversation(input)  # a NamedTuple is a single object
    return cast("tuple[object, ...]", input) if several else (input,)


def is_planned(value: object) -> bool:
    """Return whether the value is an instance of a `@planned_agent` class."""
    return isinstance(getattr(type(value), DECLARED, None), AgentDeclaration)


def is_planned_class(value: object) -> bool:
    """Return whether the value is a `@planned_agent` class."""
    return isinstance(value, type) and DECLARED in vars(value)


def find_declared_source(instance: object) -> Source | None:
    """Return the class of a planned agent as a source to combine with others; `None` for another object."""
    declared = getattr(type(instance), DECLARED, None)
    if not isinstance(declared, AgentDeclaration):
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
    verb = "failed" if process.status is ProcessStatus.FAILED else process.status.sentence
    raise ProcessFailedError(f"{process.agent.name} {verb}: {process.failure}", process) from process.error


def _describe_pending(process: AgentProcess) -> str:
    asked = "; ".join(f"{request.prompt!r} ({request.kind}, {request.id!r})" for request in process.pending)
    answer = f"await platform.respond({process.id!r}, {process.pending[0].id!r}, ...)"
    return f"{process.agent.name} waits for {asked}. Go on with `{answer}`."
