"""Servers that publish the agents, goals and tools of a platform to other programs.

The names are loaded when they are first used, as each of them needs an extra.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tactician.extras import require_extra

if TYPE_CHECKING:
    from tactician.people import Person, load_people
    from tactician.serve.a2a import A2aSettings, GrpcSettings, a2a_app
    from tactician.serve.ag_ui import ag_ui_app
    from tactician.serve.api import RequestLimits
    from tactician.serve.application import app
    from tactician.serve.mcp import ClientModel, ClientRoot, McpPublisher, McpResource, ServedPrompt, list_client_roots

__all__ = [
    "app",
    "Person",
    "load_people",
    "RequestLimits",
    "ServedPrompt",
    "ClientModel",
    "ClientRoot",
    "list_client_roots",
    "McpPublisher",
    "McpResource",
    "A2aSettings",
    "GrpcSettings",
    "a2a_app",
    "ag_ui_app",
]


def _load_app(name: str) -> object:
    from tactician.serve import application

    return getattr(application, name)


def _load_api(name: str) -> object:
    from tactician.serve import api

    return getattr(api, name)


def _load_people(name: str) -> object:
    from tactician import people

    return getattr(people, name)


def _load_mcp(name: str) -> object:
    from tactician.serve import mcp

    return getattr(mcp, name)


def _load_a2a(name: str) -> object:
    from tactician.serve import a2a

    return getattr(a2a, name)


def _load_ag_ui(name: str) -> object:
    from tactician.serve import ag_ui

    return getattr(ag_ui, name)


_LOADERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "app": ("serve", _load_app),
    "Person": ("serve", _load_people),
    "load_people": ("serve", _load_people),
    "RequestLimits": ("serve", _load_api),
    "ServedPrompt": ("mcp", _load_mcp),
    "ClientModel": ("mcp", _load_mcp),
    "ClientRoot": ("mcp", _load_mcp),
    "list_client_roots": ("mcp", _load_mcp),
    "McpPublisher": ("mcp", _load_mcp),
    "McpResource": ("mcp", _load_mcp),
    "A2aSettings": ("a2a", _load_a2a),
    "GrpcSettings": ("a2a", _load_a2a),
    "a2a_app": ("a2a", _load_a2a),
    "ag_ui_app": ("ag-ui", _load_ag_ui),
}
"""The extra that each name needs, and the function that loads it."""


def __getattr__(name: str) -> object:
    if name not in _LOADERS:
        raise AttributeError(f"module 'tactician.serve' has no attribute {name!r}")
    extra, load = _LOADERS[name]
    with require_extra(extra, f"tactician.serve.{name} needs"):
        value = load(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LOADERS})
