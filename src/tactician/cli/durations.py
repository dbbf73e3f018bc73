"""Durations as people write them: `30d`, `12h`, `90m`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

import typer

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION: Final = re.compile(r"(\d{1,6})\s*([smhdw])", re.ASCII | re.IGNORECASE)


def parse_duration(text: str) -> timedelta:
    """Parse a duration.

    Raises:
        BadParameter: when it means none.
    """
    if (match := _DURATION.fullmatch(text.strip())) is None:
        raise typer.BadParameter(f"{text!r} is not a duration: write 30d, 12h, 90m or 45s.")
    return timedelta(**{_UNITS[match[2].lower()]: int(match[1])})
