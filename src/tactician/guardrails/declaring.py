"""What users write: the decorators, and whatever an agent accepts as a guardrail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TypeAlias, TypeVar, overload

from tactician.errors import DeclarationError
from tactician.guardrails.calling import Call, GuardrailLike, call_of
from tactician.guardrails.guardrail import (
    AnyGuardrail,
    Guardrail,
    GuardrailKind,
    GuardrailSettings,
    InputGuardrail,
    OutputGuardrail,
    ToolInputGuardrail,
    ToolOutputGuardrail,
    in_words,
)
from tactician.guardrails.registry import registry

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
    """Declares a function `(text)` or `(text, context)`, or a class with such a `check`, as an input guardrail.

    Args:
        name: registers it, so that `guardrails.input(name)` finds it.
        concurrent: run beside the first model call, and stop it on failure, instead of running before it.
        whole_conversation: see the text of all messages, not only of the new ones.

    Raises:
        DeclarationError: when it cannot be called so.
        ConfigurationError: when another one is registered by this name.
    """
    return _decorator(
        InputGuardrail, name, GuardrailSettings(concurrent=concurrent, whole_conversation=whole_conversation)
    )


@overload
def output_guardrail(name: F, /) -> F: ...


@overload
def output_guardrail(name: str | None = None) -> Callable[[F], F]: ...


def output_guardrail(name: F | str | None = None) -> F | Callable[[F], F]:
    """Declares a function `(output)` or `(output, context)`, or a class with such a `check`, as an output guardrail.

    It sees the text of the answer when its first parameter is declared as `str`, else the object.

    Args:
        name: registers it, so that `guardrails.output(name)` finds it.

    Raises:
        DeclarationError: when it cannot be called so.
        ConfigurationError: when another one is registered by this name.
    """
    return _decorator(OutputGuardrail, name, _DEFAULT)


@overload
def tool_input_guardrail(name: F, /) -> F: ...


@overload
def tool_input_guardrail(name: str | None = None, *, tools: Iterable[str] | None = None) -> Callable[[F], F]: ...


def tool_input_guardrail(name: F | str | None = None, *, tools: Iterable[str] | None = None) -> F | Callable[[F], F]:
    """Declares a function `(call)` or `(call, context)`, or a class with such a `check`, as a tool input guardrail.

    Args:
        name: registers it, so that `guardrails.tool_input(name)` finds it.
        tools: the names of the tools that it checks; all by default.

    Raises:
        DeclarationError: when it cannot be called so.
        ConfigurationError: when another one is registered by this name.
    """
    return _decorator(ToolInputGuardrail, name, _for_tools(tools))


@overload
def tool_output_guardrail(name: F, /) -> F: ...


@overload
def tool_output_guardrail(name: str | None = None, *, tools: Iterable[str] | None = None) -> Callable[[F], F]: ...


def tool_output_guardrail(name: F | str | None = None, *, tools: Iterable[str] | None = None) -> F | Callable[[F], F]:
    """Declares a function `(call, content)`, or with a third `context`, as a tool output guardrail.

    Args:
        name: registers it, so that `guardrails.tool_output(name)` finds it.
        tools: the names of the tools that it checks; all by default.

    Raises:
        DeclarationError: when it cannot be called so.
        ConfigurationError: when another one is registered by this name.
    """
    return _decorator(ToolOutputGuardrail, name, _for_tools(tools))


def as_input_guardrail(thing: GuardrailLike) -> InputGuardrail:
    """The input guardrail itself, or one made of a function, an object with `check`, or a class of such objects.

    Raises:
        DeclarationError: when it is none of them, or declared as another kind.
    """
    return _made(InputGuardrail, thing)


def as_output_guardrail(thing: GuardrailLike) -> OutputGuardrail:
    """The output guardrail itself, or one made of what a user gave; see `as_input_guardrail`."""
    return _made(OutputGuardrail, thing)


def as_tool_input_guardrail(thing: GuardrailLike) -> ToolInputGuardrail:
    """The tool input guardrail itself, or one made of what a user gave; see `as_input_guardrail`."""
    return _made(ToolInputGuardrail, thing)


def as_tool_output_guardrail(thing: GuardrailLike) -> ToolOutputGuardrail:
    """The tool output guardrail itself, or one made of what a user gave; see `as_input_guardrail`."""
    return _made(ToolOutputGuardrail, thing)


def _for_tools(tools: Iterable[str] | None) -> GuardrailSettings:
    return GuardrailSettings(tools=None if tools is None else frozenset((tools,) if isinstance(tools, str) else tools))


def _decorator(kind: type[G], name: F | str | None, settings: GuardrailSettings) -> F | Callable[[F], F]:
    if name is not None and not isinstance(name, str):
        return _declared(kind, name, None, settings)

    def declare(thing: F) -> F:
        return _declared(kind, thing, name, settings)

    return declare


def _declared(kind: type[G], thing: F, name: str | None, settings: GuardrailSettings) -> F:
    if not isinstance(thing, FunctionType | type):
        problem = "only functions and classes can be decorated; use guardrails.registry.register for an object"
        raise DeclarationError(_label(kind, thing), [problem])
    if name is not None:
        registry.register(name, _built(kind, thing, settings))
    elif isinstance(thing, FunctionType):
        _built(kind, thing, settings)  # so that mistakes show where it is declared
    setattr(thing, _MARK, {**getattr(thing, _MARK, {}), kind.kind: (thing, name, settings)})
    return thing


def _made(kind: type[G], thing: object) -> G:
    if isinstance(thing, kind):
        return thing
    marks = _marks_of(thing)
    if isinstance(thing, Guardrail) or (marks and kind.kind not in marks):
        others = [thing.kind] if isinstance(thing, Guardrail) else list(marks)
        raise DeclarationError(_label(kind, thing), [f"it is declared as {' and '.join(others)} guardrail"])
    declared, name, settings = marks.get(kind.kind, (None, None, _DEFAULT))
    # A subclass or an instance of its own has the settings, but is not what the registry holds.
    return _built(kind, thing, settings, name if declared is thing else None)


def _marks_of(thing: object) -> Mapping[GuardrailKind, _Mark]:
    owner = thing if isinstance(thing, FunctionType | type) else type(thing)
    marks: Mapping[GuardrailKind, _Mark] = getattr(owner, _MARK, {})
    return marks


def _built(kind: type[G], thing: object, settings: GuardrailSettings, registered: str | None = None) -> G:
    call = call_of(_instance(kind, thing) if isinstance(thing, type) else thing)
    if call is None:
        raise DeclarationError(
            _label(kind, thing), [f"give a function, an object with check(), or guardrails.{kind.kind}(name)"]
        )
    if problems := _problems(kind, call):
        raise DeclarationError(_label(kind, thing), problems)
    name = registered or _name_of(thing)
    return kind(name=name, registered=registered, source=thing, call=call, settings=settings)


def _instance(kind: type[G], owner: type) -> object:
    try:
        return owner()
    except TypeError as error:
        raise DeclarationError(_label(kind, owner), [f"it cannot be made: {error}; give an object of it"]) from error


def _problems(kind: type[G], call: Call) -> Sequence[str]:
    if call.problems or call.parameters in (len(kind.sees), len(kind.sees) + 1):
        return call.problems
    plain, full = ", ".join(kind.sees), ", ".join((*kind.sees, "context"))
    return [f"it has to take ({plain}) or ({full}), not {call.parameters} values"]


def _label(kind: type[G], thing: object) -> str:
    return in_words(kind.kind, thing if isinstance(thing, str) else _name_of(thing))


def _name_of(thing: object) -> str:
    return str(getattr(thing, "__name__", type(thing).__name__))
