"""Options of servers."""

from __future__ import annotations

from typing_extensions import TypedDict

from tactician.clock import Clock


class McpOptions(TypedDict, total=False):
    """Options of every server.

    Attributes:
        name: the name for messages, events and reports; the name of the program or the host by default.
        timeout: seconds that a call may take; 300 by default.
        connect_timeout: seconds that connecting may take; 60 by default.
        sampling: true when the model around a call may answer questions of the server; true by default.
        max_samples: number of answers of that model that a call may ask for; 10 by default.
        repeats_calls: true when a call of a server before 2026 may be made again that asked a person, and ended before
            the answer came; false by default. Tools that are read-only or idempotent, as the server says, always may.
        protocol: version of the protocol, or `"legacy"` for the one before 2026; `"auto"`, the default, asks.
        clock: the clock of restarts.
    """

    name: str
    timeout: float
    connect_timeout: float
    sampling: bool
    max_samples: int
    repeats_calls: bool
    protocol: str
    clock: Clock
