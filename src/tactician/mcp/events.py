"""Events of MCP servers."""

from __future__ import annotations

from typing import ClassVar

from tactician.events import Event
from tactician.frozen import frozen


@frozen(kw_only=True)
class McpProgress(Event):
    """Event when a tool of an MCP server reports progress.

    Attributes:
        server: name of the server.
        tool: name of the tool on the server.
        progress: amount that is done.
        total: amount of all, if the server knows it.
        message: what is done now, if the server says it.
    """

    content_fields: ClassVar[tuple[str, ...]] = ("message",)

    server: str
    tool: str
    progress: float
    total: float | None = None
    message: str | None = None

    def describe(self) -> str:
        """Return how far the tool is."""
        done = f"{self.progress:g}" if self.total is None else f"{self.progress:g} of {self.total:g}"
        return f"{self.server}: {self.tool}: {done}" + (f", {self.message}" if self.message else "")
