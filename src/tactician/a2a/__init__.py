"""Agents of other programs, by the protocol A2A. The SDK is loaded when the first such agent is created."""

from typing import TYPE_CHECKING

from tactician.a2a.errors import RemoteCardError, RemoteTaskError, RemoteUnavailableError
from tactician.a2a.events import RemoteTaskChanged
from tactician.a2a.messages import A2aData, A2aMessage, A2aPart, create_parts
from tactician.a2a.questions import IDEMPOTENCY_KEY, REQUEST_ID, REQUESTS, SKILL_ID
from tactician.a2a.remote_agent import RemoteAgent
from tactician.a2a.settings import RemoteOptions, RemoteSettings
from tactician.extras import require_extra

if TYPE_CHECKING:
    from tactician.a2a.cards import sign_card
    from tactician.a2a.connection import open_http
    from tactician.a2a.wire import (
        JsonObject,
        from_wire_message,
        from_wire_parts,
        restore_whole_numbers,
        to_json_object,
        to_wire_part,
    )

__all__ = [
    "RemoteAgent",
    "RemoteOptions",
    "RemoteSettings",
    "A2aMessage",
    "A2aPart",
    "A2aData",
    "create_parts",
    "RemoteTaskChanged",
    "RemoteTaskError",
    "RemoteUnavailableError",
    "RemoteCardError",
    "IDEMPOTENCY_KEY",
    "REQUEST_ID",
    "REQUESTS",
    "SKILL_ID",
    "JsonObject",
    "sign_card",
    "open_http",
    "to_json_object",
    "to_wire_part",
    "from_wire_message",
    "from_wire_parts",
    "restore_whole_numbers",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tactician.a2a' has no attribute {name!r}")
    with require_extra("a2a", "A2A needs"):
        from tactician.a2a import cards, connection, wire
    known: dict[str, object] = {**vars(connection), **vars(cards), **vars(wire)}
    value = known[name]
    globals()[name] = value
    return value
