"""The decorators of a planned agent. They only write down what was declared; `compilation` reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, overload

from tactician.process import DEFAULT_BINDING

F = TypeVar("F", bound=Callable[..., object])

ACTION: Final = "__tactician_action__"
GOAL: Final = "__tactician_goal__"
CONDITION: Final = "__tactician_condition__"


class _ByName:
    """The type of `by_name`."""

    def __repr__(self) -> str:
        return "by_name"


by_name: Final = _ByName()
"""`Annotated[Draft, by_name]`: the parameter takes the object that is bound to the parameter's own name."""


@dataclass(frozen=True, slots=True)
class ActionDeclaration:
    """What `@action` says."""

    description: str | None
    pre: tuple[str, ...]
    post: tuple[str, ...]
    can_rerun: bool
    cost: float
    value: float
    output_binding: str


@dataclass(frozen=True, slots=True)
class ConditionDeclaration:
    """What `@condition` says."""

    name: str | None


@dataclass(frozen=True, slots=True)
class GoalDeclaration:
    """What `@achieves_goal` says."""

    description: str
    value: float


@overload
def action(function: F, /) -> F: ...


@overload
def action(
    *,
    description: str | None = None,
    pre: Sequence[str] = (),
    post: Sequence[str] = (),
    can_rerun: bool = False,
    cost: float = 0.0,
    value: float = 0.0,
    output_binding: str = DEFAULT_BINDING,
) -> Callable[[F], F]: ...


def action(
    function: F | None = None,
    /,
    *,
    description: str | None = None,
    pre: Sequence[str] = (),
    post: Sequence[str] = (),
    can_rerun: bool = False,
    cost: float = 0.0,
    value: float = 0.0,
    output_binding: str = DEFAULT_BINDING,
) -> F | Callable[[F], F]:
    """Declares a method as an action. Its parameter types are what it needs, its return type what it gives.

    Args:
        function: the method, when used without parentheses.
        description: what it does; the docstring's first line by default.
        pre: conditions that must be true before it runs.
        post: conditions that are true once it has run; not so when it gives nothing though it declares a type.
        can_rerun: whether it may run more than once in a process.
        cost: relative cost, usually 0 to 1.
        value: relative value of running it, usually 0 to 1.
        output_binding: bind what it returns to this name.
    """
    declaration = ActionDeclaration(description, _names(pre), _names(post), can_rerun, cost, value, output_binding)
    return _marked(function, ACTION, declaration)


def _names(names: Sequence[str]) -> tuple[str, ...]:
    """The names; a string is one name, not its letters."""
    return (names,) if isinstance(names, str) else tuple(names)


def achieves_goal(description: str, *, value: float = 0.0) -> Callable[[F], F]:
    """Declares that an action reaches a goal of the agent. `value` is what reaching it is worth."""

    def mark(function: F) -> F:
        setattr(function, GOAL, GoalDeclaration(description, value))
        return function

    return mark


@overload
def condition(function: F, /) -> F: ...


@overload
def condition(*, name: str) -> Callable[[F], F]: ...


def condition(function: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
    """Declares a method as a condition, which `pre` can name: by `name`, else by the method's own name.

    It is false while one of its arguments is missing. It is evaluated once for each plan, so it must not have
    side effects.
    """
    return _marked(function, CONDITION, ConditionDeclaration(name))


def _marked(function: F | None, attribute: str, declaration: object) -> F | Callable[[F], F]:
    def mark(wrapped: F) -> F:
        setattr(wrapped, attribute, declaration)
        return wrapped

    return mark if function is None else mark(function)
