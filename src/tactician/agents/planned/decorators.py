"""Decorators of planned agents. They only record the declarations; `compilation` reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeGuard, TypeVar, overload

from tactician.agents.planned.declarations import (
    ACTION,
    CONDITION,
    COST,
    GOAL,
    ActionDeclaration,
    GoalDeclaration,
    MethodDeclaration,
)
from tactician.errors import DeclarationError
from tactician.grammar import add_article
from tactician.process import ActionRetryPolicy, Export
from tactician.process.objects import DEFAULT_BINDING, STATE, StateDeclaration
from tactician.prompts import LlmReference
from tactician.prompts.contributor_adapters import ContributorLike, as_contributor, check_reference

F = TypeVar("F", bound=Callable[..., object])
C = TypeVar("C", bound=type)


@overload
def action(function: F, /) -> F: ...


@overload
def action(
    *,
    description: str | None = None,
    pre: Sequence[str] = (),
    post: Sequence[str] = (),
    can_rerun: bool = False,
    clear_blackboard: bool = False,
    cost: float | Literal["measured"] = 0.0,
    value: float = 0.0,
    cost_method: str | None = None,
    value_method: str | None = None,
    tool_groups: Sequence[str] = (),
    references: Sequence[LlmReference] = (),
    contributors: Sequence[ContributorLike] = (),
    output_binding: str = DEFAULT_BINDING,
    trigger: type | None = None,
    retry: ActionRetryPolicy | None = None,
    blocking: bool = False,
) -> Callable[[F], F]: ...


def action(
    function: F | None = None,
    /,
    *,
    description: str | None = None,
    pre: Sequence[str] = (),
    post: Sequence[str] = (),
    can_rerun: bool = False,
    clear_blackboard: bool = False,
    cost: float | Literal["measured"] = 0.0,
    value: float = 0.0,
    cost_method: str | None = None,
    value_method: str | None = None,
    tool_groups: Sequence[str] = (),
    references: Sequence[LlmReference] = (),
    contributors: Sequence[ContributorLike] = (),
    output_binding: str = DEFAULT_BINDING,
    trigger: type | None = None,
    retry: ActionRetryPolicy | None = None,
    blocking: bool = False,
) -> F | Callable[[F], F]:
    """Declare a method as an action, with parameter types as inputs and the return type as output.

    Args:
        function: the method, when used without parentheses.
        description: the purpose; the docstring's first line by default.
        pre: conditions that must be true before it runs: names, or expressions such as `"expr: bill.total > 100"`
            over the objects on the blackboard, by the names of their classes (`bill` for a `Bill`) or their bindings.
        post: conditions that are true once it has run; not so when it returns `None` though it declares a type.
        can_rerun: allow several runs in a process.
        clear_blackboard: remove everything except the result from the blackboard; then other actions may run again.
        cost: relative cost, usually 0 to 1; `MEASURED` for what its earlier runs took, see `ProcessOptions.objective`.
        value: relative value of running it, usually 0 to 1.
        cost_method: the name of a `@cost` method, instead of `cost`.
        value_method: the name of a `@cost` method, instead of `value`.
        tool_groups: tool groups for the models of the action.
        references: references for the models of the action, after the agent's references.
        contributors: further parts of the instructions of these models, after the agent's parts.
        output_binding: name under which the result is bound.
        trigger: run only when the newest object on the blackboard is of this type.
        retry: retry policy of the action; the policy of the process by default.
        blocking: run the method in a thread, because it waits or computes without `await`.
    """
    declaration = ActionDeclaration(
        description,
        _as_names(pre),
        _as_names(post),
        can_rerun,
        clear_blackboard,
        cost,
        value,
        cost_method,
        value_method,
        _as_names(tool_groups),
        tuple(map(check_reference, references)),
        tuple(map(as_contributor, contributors)),
        output_binding,
        trigger,
        retry,
        blocking,
    )
    return _decorate(function, ACTION, declaration)


def _as_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names; a string is a single name."""
    return (names,) if _is_single_name(names) else tuple(names)


def _is_single_name(names: object) -> TypeGuard[str]:
    """Return whether the value is a single name, or an invalid value that a later check reports."""
    return isinstance(names, str) or not isinstance(names, Iterable)


def achieves_goal(description: str, *, value: float = 0.0, export: Export | None = None) -> Callable[[F], F]:
    """Declare that an action reaches a goal of the agent.

    Args:
        description: the purpose of the goal.
        value: the value of reaching the goal.
        export: settings for offering the goal to others.
    """

    def mark(function: F) -> F:
        return _goal(function, description, value, export)

    if callable(description):  # used without parentheses, which is reported when the agent is read
        return _goal(description, "", value, export)
    return mark


def _goal(function: F, description: str, value: float, export: Export | None) -> F:
    return _attach_declaration(function, GOAL, GoalDeclaration(description, value, export or Export()))


@overload
def condition(function: F, /) -> F: ...


@overload
def condition(*, name: str) -> Callable[[F], F]: ...


def condition(function: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
    """Declare a method as a condition, which `pre` names by `name` or by the name of the method.

    It is false while any of its arguments is missing. It is evaluated at most once for each plan, so it must not
    have side effects.
    """
    return _decorate(function, CONDITION, MethodDeclaration(name))


@overload
def cost(function: F, /) -> F: ...


@overload
def cost(*, name: str) -> Callable[[F], F]: ...


def cost(function: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
    """Declare a method as a cost or a value for `cost_method` and `value_method`.

    They name it by `name`, or by the name of the method.

    It returns a number, usually 0 to 1, and is evaluated once for each plan. An argument that is not on the blackboard
    is `None`.
    """
    return _decorate(function, COST, MethodDeclaration(name))


@overload
def state(owner: C, /) -> C: ...


@overload
def state(*, preserve: bool) -> Callable[[C], C]: ...


def state(owner: C | None = None, /, *, preserve: bool = False) -> C | Callable[[C], C]:
    """Declare a class and its subclasses as states. An action that returns an instance enters the state.

    Then nothing but the state stays on the blackboard, and the actions, conditions and goals that its class declares
    are there to plan with. They may run again each time that a state is entered.

    Args:
        owner: the class, when used without parentheses.
        preserve: remove only older states from the blackboard, and let only actions of states run again.
    """

    def mark(marked: C) -> C:
        if not isinstance(marked, type):
            raise _create_usage_error(STATE, marked, "class")
        setattr(marked, STATE, StateDeclaration(preserve))
        return marked

    return mark if owner is None else mark(owner)


def _decorate(function: F | None, attribute: str, declaration: object) -> F | Callable[[F], F]:
    def mark(wrapped: F) -> F:
        return _attach_declaration(wrapped, attribute, declaration)

    return mark if function is None else mark(function)


def _attach_declaration(wrapped: F, attribute: str, declaration: object) -> F:
    method: object = getattr(wrapped, "__func__", wrapped)  # also below a @staticmethod
    if isinstance(method, type) or not callable(method) or not hasattr(method, "__dict__"):
        raise _create_usage_error("achieves_goal" if attribute == GOAL else attribute, wrapped, "method")
    setattr(method, attribute, declaration)
    return wrapped


def _create_usage_error(attribute: str, value: object, expected: str) -> DeclarationError:
    """Return the error for a decorator on an object of the wrong kind."""
    decorator = "@" + attribute.strip("_").removeprefix("tactician_")
    return DeclarationError(
        decorator,
        [
            f"it received {value!r}, which is not {add_article(expected)}; "
            f"write {decorator} above {add_article(expected)}, and settings by name"
        ],
    )
