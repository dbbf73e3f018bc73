"""The decorator `@planned_agent`, and the base class that gives its classes types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, cast, get_args, get_origin, overload

from typing_extensions import TypeVar

from tactician.agents.planned.declarations import Planner
from tactician.agents.planned.methods import Source
from tactician.agents.planned.planned_agent import DECLARED, AgentDeclaration, PlannedAgent
from tactician.agents.planned.signatures import Provide
from tactician.conversation import Conversation
from tactician.errors import DeclarationError
from tactician.planning import PlanningBudget
from tactician.process import ProcessOptions
from tactician.process.agent.operation import TOWARDS
from tactician.process.objects import Named
from tactician.prompts import LlmReference
from tactician.prompts.contributor_adapters import ContributorLike, as_contributor, check_reference
from tactician.runs import Budget, Input, RunContext, RunResult
from tactician.runs.outcomes.suspension import Response
from tactician.suggestions import suggest_options
from tactician.tools.signature import find_caller_namespace

if TYPE_CHECKING:
    from tactician.planning import Objective
    from tactician.planning.rules import Rule

C = TypeVar("C", bound=type)
T_co = TypeVar("T_co", covariant=True, default=object)
P = ParamSpec("P")
R = TypeVar("R")


def _delegate(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return a method of a `@planned_agent` class that calls the method of its `PlannedAgent`, with its signature."""

    @wraps(method)
    def call(self: object, *args: P.args, **options: P.kwargs) -> R:
        return method(PlannedAgent(self), *args, **options)

    return cast("Callable[Concatenate[Any, P], R]", call)


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

    # These do not depend on the result's type, which pyright would lose in the other methods.
    stream = _delegate(PlannedAgent.stream)
    stream_text = _delegate(PlannedAgent.stream_text)
    list_pending = _delegate(PlannedAgent.list_pending)
    as_tool = _delegate(PlannedAgent.as_tool)
    with_output_type = _delegate(PlannedAgent.with_output_type)
    to_blueprint = _delegate(PlannedAgent.to_blueprint)
    diagram = _delegate(PlannedAgent.diagram)
    to_mermaid = _delegate(PlannedAgent.to_mermaid)
    _repr_mimebundle_ = _delegate(PlannedAgent._repr_mimebundle_)


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
    objective: Objective | None = None,
    rules: Sequence[Rule] = (),
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
    objective: Objective | None = None,
    rules: Sequence[Rule] = (),
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
        planning: limits of each decision of the planner; the limits of the platform by default.
        objective: what its plans are to save: `Objective.TIME`, `DOLLARS`, `COST` or weights; the declared costs by
            default.
        rules: rules that each run keeps, and preferences, of `tactician.planning.rules`.
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
        checked = _check_rules(rules, label)
        declared = AgentDeclaration(
            owner, label, purpose, planner, planning, objective, checked, source, added, _find_result_type(owner)
        )
        setattr(owner, DECLARED, declared)
        return owner

    return mark if owner is None else mark(owner)


def _check_rules(rules: object, label: str) -> tuple[Rule, ...]:
    if not rules:
        return ()
    from tactician.planning.rules import Rule

    values = tuple(rules) if isinstance(rules, Iterable) and not isinstance(rules, str) else (rules,)
    checked = tuple(rule for rule in values if isinstance(rule, Rule))
    if len(checked) < len(values) or isinstance(rules, Rule):
        shown = ", ".join(str(rule) if isinstance(rule, Rule) else repr(rule) for rule in values)
        raise DeclarationError(label, [f"rules is {shown}; write a list, as in rules=[rules.before('a', 'b')]"])
    return checked


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
