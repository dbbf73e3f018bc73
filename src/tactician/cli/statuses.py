"""Statuses of runs in their colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.markup import escape

_COLOURS: Final[Mapping[str, str]] = {
    "completed": "green",
    "waiting": "yellow",
    "resting": "cyan",
    "interrupted": "yellow",
    "running": "cyan",
    "failed": "red",
    "stuck": "red",
}


def format_status(status: str, *, was_interrupted: bool) -> str:
    """Return the status of a run in its colour, with a note when its worker died or was interrupted."""
    shown = "interrupted" if was_interrupted else status
    colour = _COLOURS.get(shown, "bold")
    return f"[{colour}]{escape(shown)}[/{colour}]"
