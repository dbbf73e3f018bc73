"""Transports of a mesh, which a URL chooses."""

from tactician.mesh.transports.addresses import SCHEMES, hide_credentials, open_transport
from tactician.mesh.transports.transport import (
    PRIVATE,
    LeasedMessage,
    Transport,
    TransportError,
    escape_name,
    match_topic,
)

__all__ = [
    "Transport",
    "TransportError",
    "LeasedMessage",
    "PRIVATE",
    "SCHEMES",
    "open_transport",
    "hide_credentials",
    "escape_name",
    "match_topic",
]
