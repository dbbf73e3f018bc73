"""Decorators of guardrails, and the conversion of everything that an agent accepts as a guardrail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TypeAlias, TypeVar, overload

from tactician.errors import DeclarationError
from tactician.grammar import format_count
from tactician.guardrails.callables import GuardrailCallable, GuardrailLike, inspect_callable
from tactician.guardrails.guardrail import (
    AnyGuardrail,
    Guardrail,
    GuardrailKind,
    GuardrailSettings,
    InputGuardrail,
    OutputGuardrail,
    ToolInputGuardrail,
    ToolOutputGuardrail,
    describe_guardrail,
)
from tactician.guardrails.registration import registry

F = TypeVar("F", bound=GuardrailLike)
G = TypeVar("G", bound=AnyGuardrail)
_Mark: TypeAlias = tuple[object, str | None, GuardrailSettings]
_MARK = "__guardrails__"
_DEFAULT = GuardrailSettings()


@overload
def input_guardrail(name: F, /) -> F: ...


@overload
def input_guardrail(
    name: str | None = None, *, concurrent: bool = False, whole_conversation: bool = False
) -> Callable[[F], F]: ...


def input_guardrail(
    name: F | str | None = None, *, concurrent: bool = False, whole_conversation: bool = False
) -> F | Callable[[F], F]:
    """Declare an input guardrail: a function `(text)` or `(text, context)`, or a class with such a `check`.

    Args:
        name: registers it, so that `guardrails.input(name)` finds it.
        concurrent: run beside the first model call, and stop it on failure, instead of running before it.
        whole_conversation: see the text of all messages, not only of the new ones.

    Raises:
        DeclarationError: when it cannot be called so.
        ConfigurationError: when another guardrail has this name.
    """
    return _decorate(
        InputGuardrail, name, GuardrailSettings(concurrent=concurrent, whole_conversation=whole_conversation)
    )


@overload
def output_guardrail(name: F, /) -> F: ...


@overload
def output_guardrail(name: str | None = None) -> Callable[[F], F]: ...


def output_guardrail(name: F | str | None = None) -> F | Callable[[F], F]:
    """Declare an output guardrail: a function `(output)` or `(output, context)`, or a class with such a `check`.

    It gets the text of the answer when its first parameter is annotated with `str`, else the object.

    Args:
        name: registers it, so that `guardrails.output(name)` finds it.

    Raises:
        DeclarationError: when it cannot be called so.
        ConfigurationError: when another guardrail has this name.
    """
    return _decorate(OutputGuardrail, name, _DEFAULT)


@overload
def tool_input_guardrail(name: F, /) -> F: ...


@overload
def tool_input_guardrail(name: str | None = None, *, tools: Iterable[str] | None = None) -> Callable[[F], F]: ...


def tool_input_guardrail(name: F | str | None = None, *, tools: Iterable[str] | None = None) -> F | Callable[[F], F]:
    """Declare a tool input guardrail: a function `(call)` or `(call, context)`, or a class with such a `check`.

    Args:
        name: registers it, so that `guardrails.tool_input(name)` finds it.
        tools: the names of the tools that it checks; all by default.

    Raises:
        DeclarationError: when it cannot be called so.
        ConfigurationError: when another guardrail has this name.
    """
    return _decorate(ToolInputGuardrail, name, _create_tool_settings(tools))


@overload
def tool_output_guardrail(name: F, /) -> F: ...


@overload
def tool_output_guardrail(name: str | None = None, *, tools: Iterable[str] | None = None) -> Callable[[F], F]: ...


def tool_output_guardrail(name: F | str | None = None, *, tools: Iterable[str] | None = None) -> F | Callable[[F], F]:
    """Declare a tool output guardrail: a function `(call, content)`, or with a third `context`.

    Args:
        name: registers it, so that `guardrails.tool_output(name)` finds it.
        tools: the names of the tools that it checks; all by default.

    Raises:
        DeclarationError: when it cannot be called so.
        ConfigurationError: when another guardrail has this name.
    """
    return _decorate(ToolOutputGuardrail, name, _create_tool_settings(tools))


def as_input_guardrail(thing: GuardrailLike) -> InputGuardrail:
    """Return the value as an input guardrail: a guardrail, a function, or an object or class with `check`.

    Raises:
        DeclarationError: when it is none of them, or declared as another kind.
    """
    return _convert(InputGuardrail, thing)


def as_output_guardrail(thing: GuardrailLike) -> OutputGuardrail:
    """Return the value as an output guardrail; see `as_input_guardrail`."""
    return _convert(OutputGuardrail, thing)


def as_tool_input_guardrail(thing: GuardrailLike) -> ToolInputGuardrail:
    """Return the value as a tool input guardrail; see `as_input_guardrail`."""
    return _convert(ToolInputGuardrail, thing)


def as_tool_output_guardrail(thing: GuardrailLike) -> ToolOutputGuardrail:
    """Return the value as a tool output guardrail; see `as_input_guardrail`."""
    return _convert(ToolOutputGuardrail, thing)


def _create_tool_settings(tools: Iterable[str] | None) -> GuardrailSettings:
    return GuardrailSettings(tools=None if tools is None else frozenset((tools,) if isinstance(tools, str) else tools))


def _decorate(kind: type[G], name: F | str | None, settings: GuardrailSettings) -> F | Callable[[F], F]:
    if name is not None and not isinstance(name, str):
        return _declare(kind, name, None, settings)

    def declare(thing: F) -> F:
        return _declare(kind, thing, name, settings)

    return declare


def _declare(kind: type[G], thing: F, name: str | None, settings: GuardrailSettings) -> F:
    if not isinstance(thing, FunctionType | type):
        problem = "only functions and classes can be decorated; use guardrails.registry.register for an object"
        raise DeclarationError(_format_label(kind, thing), [problem])
    if name is not None:
        registry.register(name, _build(kind, thing, settings))
    elif isinstance(thing, FunctionType):
        _build(kind, thing, settings)  # so that mistakes show where it is declared
    setattr(thing, _MARK, {**getattr(thing, _MARK, {}), kind.kind: (thing, name, settings)})
    return thing


def _convert(kind: type[G], thing: object) -> G:
    if isinstance(thing, kind):
        return thing
    marks = _find_marks(thing)
    if isinstance(thing, Guardrail) or (marks and kind.kind not in marks):
        others = [thing.kind] if isinstance(thing, Guardrail) else list(marks)
        raise DeclarationError(_format_label(kind, thing), [f"it is declared as {' and '.join(others)} guardrail"])
    declared, name, settings = marks.get(kind.kind, (None, None, _DEFAULT))
    # A subclass or an instance of its own has the settings, but is not what the registry holds.
    return _build(kind, thing, settings, name if declared is thing else None)


def _find_marks(thing: object) -> Mapping[GuardrailKind, _Mark]:
    owner = thing if isinstance(thing, FunctionType | type) else type(thing)
    marks: Mapping[GuardrailKind, _Mark] = getattr(owner, _MARK, {})
    return marks


def _build(kind: type[G], thing: object, settings: GuardrailSettings, registered: str | None = None) -> G:
    call = inspect_callable(_create_instance(kind, thing) if isinstance(thing, type) else thing)
    if call is None:
        raise DeclarationError(
            _format_label(kind, thing), [f"pass a function, an object with check(), or guardrails.{kind.kind}(name)"]
        )
    if problems := _find_problems(kind, call):
        raise DeclarationError(_format_label(kind, thing), problems)
    name = registered or _find_name(thing)
    return kind(name=name, registered=registered, source=thing, call=call, settings=settings)


def _create_instance(kind: type[G], owner: type) -> object:
    try:
        return owner()
    except TypeError as error:
        raise DeclarationError(
            _format_label(kind, owner), [f"it cannot be created: {error}; pass an instance"]
        ) from error


def _find_problems(kind: type[G], call: GuardrailCallable) -> Sequence[str]:
    if call.problems or call.parameters in (len(kind.sees), len(kind.sees) + 1):
        return call.problems
    plain, full = ", ".join(kind.sees), ", ".join((*kind.sees, "context"))
    return [f"it has to take ({plain}) or ({full}), not {format_count(call.parameters, 'value')}"]


def _format_label(kind: type[G], thing: object) -> str:
    return describe_guardrail(kind.kind, thing if isinstance(thing, str) else _find_name(thing))


def _find_name(thing: object) -> str:
    return str(getattr(thing, "__name__", type(thing).__name__))
