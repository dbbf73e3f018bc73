"""Tools in blueprints that a provider lists when a run needs them, such as the capabilities of a mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.schema_base import Part
from tactician.tools.provider import ToolProvider

R = TypeVar("R", bound=ToolProvider)
E = TypeVar("E", bound="ProvidedToolsPart | None")
_EXPORTS: dict[type, Callable[..., ProvidedToolsPart | None]] = {}


class ProvidedToolsPart(Part):
    """Part of which a provider of tools is built. A layer above registers the kinds of such parts."""

    def build_tools(self, builder: Builder) -> ToolProvider | None:
        """Return the provider; `None` when there was a problem."""
        raise NotImplementedError


def provided_tools_exporter(kind: type[R]) -> Callable[[Callable[[R, Exporter], E]], Callable[[R, Exporter], E]]:
    """Register the function that exports providers of a class; it returns `None` when it has added a problem."""

    def register(export: Callable[[R, Exporter], E]) -> Callable[[R, Exporter], E]:
        _EXPORTS[kind] = export
        return export

    return register


def find_provider_export(provider: ToolProvider) -> Callable[..., ProvidedToolsPart | None] | None:
    """Return the function that exports a provider, if its class has one."""
    return _EXPORTS.get(type(provider))
