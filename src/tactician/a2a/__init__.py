"""Agents of other programs, by the protocol A2A. The SDK is loaded when the first such agent is created."""

from tactician.a2a.errors import RemoteCardError, RemoteTaskError, RemoteUnavailableError
from tactician.a2a.events import RemoteTaskChanged
from tactician.a2a.messages import A2aMessage
from tactician.a2a.remote_agent import RemoteAgent

__all__ = [
    "A2aMessage",
    "RemoteAgent",
    "RemoteCardError",
    "RemoteTaskChanged",
    "RemoteTaskError",
    "RemoteUnavailableError",
]
