"""Callables as guardrails: a function, an object with `check`, or a class of such objects."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import MethodType
from typing import Annotated, Protocol, TypeAlias, get_args, get_origin
from weakref import WeakKeyDictionary

from tactician.frozen import frozen
from tactician.guardrails.result import GuardrailResult

Check: TypeAlias = Callable[..., GuardrailResult | Awaitable[GuardrailResult]]


class Checker(Protocol):
    """Object whose method `check` is a guardrail."""

    @property
    def check(self) -> Check:
        """The guardrail function."""
        ...


GuardrailLike: TypeAlias = Check | Checker | type[Checker]


@frozen
class GuardrailCallable:
    """Function with the arguments that it takes.

    Attributes:
        function: the function.
        parameters: number of positional arguments.
        reads_text: true when the first parameter is annotated with `str`.
        problems: reasons why it cannot be a guardrail.
    """

    function: Callable[..., object]
    parameters: int
    reads_text: bool
    problems: tuple[str, ...]


@frozen
class _Signature:
    parameters: int = 0
    reads_text: bool = False
    problems: tuple[str, ...] = ()


# They hold no function, so that a function made for a single run can be freed with it.
_functions: WeakKeyDictionary[Callable[..., object], _Signature] = WeakKeyDictionary()
_methods: WeakKeyDictionary[Callable[..., object], _Signature] = WeakKeyDictionary()


def inspect_callable(thing: object) -> GuardrailCallable | None:
    """Return the callable of an object; `None` when it is not callable and has no `check`."""
    target = getattr(thing, "check", thing)
    if isinstance(method := getattr(target, "__call__", None), MethodType):  # noqa: B004 - for its signature
        target = method
    if not callable(target):
        return None
    signature = _read_signature(target)
    return GuardrailCallable(target, signature.parameters, signature.reads_text, signature.problems)


def _read_signature(target: Callable[..., object]) -> _Signature:
    cache, key = (_methods, target.__func__) if isinstance(target, MethodType) else (_functions, target)
    cached = cache.get(key)
    if cached is None:
        cached = cache[key] = _inspect(target)
    return cached


def _inspect(target: Callable[..., object]) -> _Signature:
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return _Signature(problems=("its parameters cannot be read; wrap it in a function",))
    required = [p for p in signature.parameters.values() if p.default is p.empty or p.name == "context"]
    problems = [
        f"parameter {parameter.name!r}: it is called with values by position; give it plain parameters"
        for parameter in required
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if required and required[0].name == "self":
        problems.append("it is a method that belongs to no object; decorate a function, or a class with check()")
    names = getattr(inspect.unwrap(target), "__globals__", {})
    if _resolve_annotation(signature.return_annotation, names) in (bool, None):
        problems.append("it has to return guardrails.passed() or guardrails.failed(reason)")
    reads_text = bool(required) and _resolve_annotation(required[0].annotation, names) is str
    return _Signature(len(required), reads_text, tuple(problems))


def _resolve_annotation(annotation: object, names: Mapping[str, object]) -> object:
    """Return the annotation, also of a quoted plain name; nothing is evaluated."""
    if isinstance(annotation, str):
        annotation = names.get(annotation, vars(builtins).get(annotation, annotation))
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
