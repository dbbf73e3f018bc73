"""Events of constellations."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChosen(Event):
    """Event of a router that sends its input to `target`; `fallback` when no route fits."""

    target: str
    description: str
    fallback: bool = False
