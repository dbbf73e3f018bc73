"""Registry of guardrails by name, for configuration, blueprints and models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType
from typing import TypeVar

from tactician.errors import ConfigurationError
from tactician.guardrails.guardrail import (
    AnyGuardrail,
    GuardrailKind,
    InputGuardrail,
    OutputGuardrail,
    ToolInputGuardrail,
    ToolOutputGuardrail,
    describe_guardrail,
)
from tactician.suggestions import did_you_mean

G = TypeVar("G", bound=AnyGuardrail)


class GuardrailRegistry:
    """Named guardrails of this process; each kind has its own names."""

    def __init__(self) -> None:
        self._guardrails: dict[tuple[GuardrailKind, str], AnyGuardrail] = {}

    def register(self, name: str, guardrail: G) -> G:
        """Register a guardrail by name.

        Raises:
            ConfigurationError: when another guardrail has it. The same function, loaded again, takes its own place.
        """
        registered = self._guardrails.get((guardrail.kind, name))
        if registered is not None and not _is_same(registered.source, guardrail.source):
            raise ConfigurationError(
                f"The {describe_guardrail(guardrail.kind, name)} is registered already, with "
                f"{_format_location(registered.source)}; choose "
                f"another name for {_format_location(guardrail.source)}."
            )
        named = replace(guardrail, name=name, registered=name)
        self._guardrails[guardrail.kind, name] = named
        return named

    def find(self, kind: type[G], name: str) -> G:
        """Return the guardrail with a name.

        Raises:
            ConfigurationError: when no guardrail has the name.
        """
        guardrail = self._guardrails.get((kind.kind, name))
        if isinstance(guardrail, kind):
            return guardrail
        names = self.names(kind.kind)
        hint = did_you_mean(name, names)
        raise ConfigurationError(
            f"There is no {describe_guardrail(kind.kind, name)}.{hint} Known: {', '.join(names) or 'none'}. "
            f"Import the module "
            f"that declares it with @guardrails.{kind.kind}_guardrail({name!r}) first."
        )

    def names(self, kind: GuardrailKind) -> tuple[str, ...]:
        """Return the names of all guardrails of a kind, sorted."""
        return tuple(sorted(name for registered_kind, name in self._guardrails if registered_kind == kind))

    def unregister(self, kind: GuardrailKind, name: str) -> None:
        """Remove a name; agents that have the guardrail keep it."""
        self._guardrails.pop((kind, name), None)

    @contextmanager
    def isolate(self) -> Iterator[None]:
        """Start with an empty registry, and restore the previous names at the end, for tests."""
        saved_guardrails, self._guardrails = self._guardrails, {}
        try:
            yield
        finally:
            self._guardrails = saved_guardrails


registry = GuardrailRegistry()


def input(name: str) -> InputGuardrail:  # noqa: A001 - users say guardrails.input("max_length")
    """Return the registered input guardrail with this name.

    Raises:
        ConfigurationError: when no guardrail has the name.
    """
    return registry.find(InputGuardrail, name)


def output(name: str) -> OutputGuardrail:
    """Return the registered output guardrail with this name.

    Raises:
        ConfigurationError: when no guardrail has the name.
    """
    return registry.find(OutputGuardrail, name)


def tool_input(name: str) -> ToolInputGuardrail:
    """Return the registered tool input guardrail with this name.

    Raises:
        ConfigurationError: when no guardrail has the name.
    """
    return registry.find(ToolInputGuardrail, name)


def tool_output(name: str) -> ToolOutputGuardrail:
    """Return the registered tool output guardrail with this name.

    Raises:
        ConfigurationError: when no guardrail has the name.
    """
    return registry.find(ToolOutputGuardrail, name)


def _is_same(registered: object, new: object) -> bool:
    """Return whether two guardrails are the same, or the same definition in a module that was loaded again."""
    if registered is new:
        return True
    if not isinstance(new, FunctionType | type) or _format_location(registered) != _format_location(new):
        return False
    if isinstance(registered, FunctionType) and isinstance(new, FunctionType) and "<" in new.__qualname__:
        # What an inner function closes over makes it another: max_length(10) is not max_length(20).
        return _get_closure(registered) == _get_closure(new)
    return type(registered) is type(new)


def _format_location(source: object) -> str:
    definition = source if isinstance(source, FunctionType | type) else type(source)
    return f"{definition.__module__}.{definition.__qualname__}"


def _get_closure(function: FunctionType) -> tuple[object, ...]:
    return function.__code__, function.__defaults__, function.__closure__
