"""Banner of the server."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import datetime

from tactician import __version__

_RULE = "~" * 50


@dataclass(frozen=True)
class Banner:
    """Name and version of a server, and since when it runs."""

    name: str
    started: datetime

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the banner."""
        return (
            _RULE,
            f"{self.name} MCP ASYNC Server",
            f"Version: {__version__}",
            f"Python: {platform.python_version()}",
            f"Started: {self.started.isoformat(timespec='milliseconds').replace('+00:00', 'Z')}",
            _RULE,
        )

    def describe(self) -> dict[str, object]:
        """Return the banner as JSON."""
        return {"type": "banner", "mode": "ASYNC", "lines": list(self.lines)}
