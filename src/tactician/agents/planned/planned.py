"""The decorator `@planned_agent`, and the base class that gives its classes types."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, get_args, get_origin, overload

from typing_extensions import TypeForm, TypeVar

from tactician.agents.base import BaseRunnable, TypedRunnable
from tactician.agents.blueprint_port import BlueprintLike
from tactician.agents.planned.declarations import Planner
from tactician.agents.planned.methods import Source
from tactician.agents.planned.planned_agent import DECLARED, AgentDeclaration, PlannedAgent
from tactician.agents.planned.signatures import Provide
from tactician.conversation import Conversation
from tactician.errors import DeclarationError
from tactician.events import Event
from tactician.planning import PlanningBudget
from tactician.process import TOWARDS, Named, ProcessOptions
from tactician.prompts import ContributorLike, LlmReference, as_contributor, check_reference
from tactician.runs import Budget, Input, PendingRequest, Response, RunContext, RunResult
from tactician.suggestions import suggest_options
from tactician.tools import Tool, ToolRequest, find_caller_namespace

if TYPE_CHECKING:
    from tactician.diagrams import Diagram

A = TypeVar("A", default=ToolRequest)
C = TypeVar("C", bound=type)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=object)


class Planned(Generic[T_co]):
    """Base class of a planned agent whose result has a type, as in `class Reporter(Planned[Report])`.

    It has the methods that `@planned_agent` adds to every class, for type checkers and editors to know them. Every goal
    of the class has to give the type. See `PlannedAgent` for what the methods do.
    """

    if TYPE_CHECKING:
        name: str
        description: str

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
        """Run a process with the input, and return the output of its goal: see `PlannedAgent.run`."""
        agent: PlannedAgent[T_co] = PlannedAgent(self)
        return await agent.run(
            input, named=named, context=context, budget=budget, conversation=conversation, options=options
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
        """Do the same as `run`, in a program without an event loop."""
        agent: PlannedAgent[T_co] = PlannedAgent(self)
        return agent.run_sync(
            input, named=named, context=context, budget=budget, conversation=conversation, options=options
        )

    @suggest_options
    def stream(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        timeout: float | None = None,
    ) -> AsyncGenerator[Event]:
        """Return the events of a run as they happen; the last is `RunCompleted`."""
        agent = PlannedAgent(self)
        return agent.stream(input, context=context, budget=budget, conversation=conversation, timeout=timeout)

    @suggest_options
    def stream_text(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        timeout: float | None = None,
    ) -> AsyncGenerator[str]:
        """Return the text of the answer, which comes when the goal is reached."""
        agent = PlannedAgent(self)
        return agent.stream_text(input, context=context, budget=budget, conversation=conversation, timeout=timeout)

    async def resume(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        context: RunContext | None = None,
        conversation: Conversation | None = None,
    ) -> RunResult[T_co]:
        """Resume a run that waits, in this process or another."""
        agent: PlannedAgent[T_co] = PlannedAgent(self)
        return await agent.resume(run_id, responses, context=context, conversation=conversation)

    async def list_pending(self, run_id: str, *, context: RunContext | None = None) -> tuple[PendingRequest, ...]:
        """Return the requests that a run waits for."""
        return await PlannedAgent(self).list_pending(run_id, context=context)

    def as_tool(
        self,
        name: str | None = None,
        description: str | None = None,
        *,
        arguments: type[A] | None = None,
        prompt: Callable[[A], Input] | None = None,
    ) -> Tool:
        """Return a tool that runs the agent; by default with a single argument, `request`."""
        return PlannedAgent(self).as_tool(name, description, arguments=arguments, prompt=prompt)

    def with_output_type(self, kind: TypeForm[T]) -> TypedRunnable[T]:
        """Return the agent with its output validated as `kind`."""
        return PlannedAgent(self).with_output_type(kind)

    def to_blueprint(self, *, strict: bool = False) -> BlueprintLike[BaseRunnable[object]]:
        """Return the blueprint of the agent."""
        return PlannedAgent(self).to_blueprint(strict=strict)

    def diagram(self) -> Diagram:
        """Return a drawing of the agent: its actions, and what flows between them."""
        return PlannedAgent(self).diagram()

    def to_mermaid(self) -> str:
        """Return the drawing as a Mermaid flowchart."""
        return PlannedAgent(self).to_mermaid()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return PlannedAgent(self)._repr_mimebundle_(include, exclude)


def _aim(self: object, kind: type) -> PlannedAgent | None:
    """Return the agent with only those goals that give an object of the type, or `None`."""
    return PlannedAgent(self).towards(kind)


_METHODS: Final[Mapping[str, object]] = {
    **{name: method for name, method in vars(Planned).items() if inspect.isfunction(method)},
    TOWARDS: _aim,
}


@overload
def planned_agent(owner: C, /) -> C: ...
@overload
def planned_agent(
    *,
    description: str | None = None,
    name: str | None = None,
    planner: Planner | str = Planner.GOAP,
    planning: PlanningBudget | None = None,
    resolvers: Mapping[type, Provide] | None = None,
    references: Sequence[LlmReference] = (),
    contributors: Sequence[ContributorLike] = (),
) -> Callable[[C], C]: ...
def planned_agent(
    owner: C | None = None,
    /,
    *,
    description: str | None = None,
    name: str | None = None,
    planner: Planner | str = Planner.GOAP,
    planning: PlanningBudget | None = None,
    resolvers: Mapping[type, Provide] | None = None,
    references: Sequence[LlmReference] = (),
    contributors: Sequence[ContributorLike] = (),
) -> C | Callable[[C], C]:
    """Declare a class as a planned agent; its methods are declared with `@action` and `@condition`.

    Instances are Runnables: they also have `run`, `run_sync`, `stream` and `as_tool`, unless the class has a member of
    that name. For type checkers to know these, let the class inherit `Planned[...]` with the type of its result.

    Args:
        owner: the class, where the decorator has no arguments.
        description: the purpose of the agent, by which people and models choose agents; the first paragraph of the
            docstring of the class by default.
        name: the class's name by default.
        planner: the planning algorithm: a `Planner`, or its value, as in `"utility"`.
        planning: limits of each decision of the planner; those of the platform by default.
        resolvers: functions that fill parameters of these types, instead of the blackboard.
        references: references for the models of all actions.
        contributors: further parts of the instructions of these models.

    Raises:
        DeclarationError: when the class has neither a description nor a docstring.
    """
    namespace = find_caller_namespace(1)
    parts = (*map(as_contributor, contributors), *map(check_reference, references))

    def mark(owner: C) -> C:
        if not isinstance(owner, type):
            problem = f"it received {owner!r}; write @planned_agent, or @planned_agent(description=...), above a class"
            raise DeclarationError("@planned_agent", [problem])
        label = name or owner.__name__
        purpose = description or _read_purpose(owner)
        members = {"name": label, "description": purpose, **_METHODS}
        added = frozenset(member for member in members if not _is_users(owner, member))
        for member in added:
            setattr(owner, member, members[member])
        source = Source(owner, namespace, resolvers or {}, contributors=parts)
        declared = AgentDeclaration(owner, label, purpose, planner, planning, source, added, _find_result_type(owner))
        setattr(owner, DECLARED, declared)
        return owner

    return mark if owner is None else mark(owner)


def _read_purpose(owner: type) -> str:
    text = inspect.cleandoc(owner.__doc__ or "").partition("\n\n")[0]
    if not text:
        problem = "give it a docstring, or @planned_agent(description=...): people and models choose agents by that"
        raise DeclarationError(owner.__name__, [problem])
    return " ".join(text.split())


def _is_users(owner: type, member: str) -> bool:
    """Return whether the user wrote the member, here or on a base class, instead of `@planned_agent`."""
    home = next((kind for kind in owner.__mro__ if member in vars(kind)), None)
    declared = vars(home).get(DECLARED) if home is not None else None
    is_added = isinstance(declared, AgentDeclaration) and member in declared.added
    return home is not None and home is not Planned and not is_added


def _find_result_type(owner: type) -> type | None:
    """Return `T` of `Planned[T]` among the bases of a class; `None` if `T` is not a class."""
    bases = (base for kind in owner.__mro__ for base in vars(kind).get("__orig_bases__", ()))
    named = (get_args(base)[0] for base in bases if get_origin(base) is Planned)
    return next((kind for kind in named if isinstance(kind, type)), None)
