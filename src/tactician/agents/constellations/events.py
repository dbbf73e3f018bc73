"""Events of constellations."""

from __future__ import annotations

import logging
from typing import ClassVar

from tactician.events import Event
from tactician.frozen import frozen


@frozen(kw_only=True)
class RouteChosen(Event):
    """Event of a router that sends its input to `target`; `fallback` when no route fits."""

    usual_level: ClassVar[int] = logging.INFO

    target: str
    description: str
    fallback: bool = False

    def describe(self) -> str:
        """Return the target."""
        return f"chooses {self.target}{' as no route fits' if self.fallback else ''}"
