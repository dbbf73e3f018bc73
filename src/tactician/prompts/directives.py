"""Directives: guidance of people for everything that starts while it holds, as a part of all instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from tactician.frozen import frozen

_HEADING: Final = "## Active Directives"


@frozen
class Directive:
    """Guidance for agents.

    Attributes:
        id: id of the directive.
        sender: the person or rule that directs.
        text: the guidance.
        created_at: time of the directive, in seconds since the epoch.
        expires_at: time from which it no longer holds; never, when `None`.
        target: what it is for.
    """

    id: str
    sender: str
    text: str
    created_at: float
    expires_at: float | None
    target: str

    def describe(self) -> str:
        """Return the directive in a single line, so that its text cannot pass for another section."""
        moment = datetime.fromtimestamp(self.created_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return f"[{self.sender} | {moment}] {' '.join(self.text.split())}"


@frozen
class ActiveDirectives:
    """Source of the directives for a run and all runs inside it, in the surroundings of the run.

    Attributes:
        find: returns the directives that hold now.
    """

    find: Callable[[], Sequence[Directive]]

    def write_section(self) -> str:
        """Return the section of instructions; empty when no directive holds."""
        lines = [directive.describe() for directive in self.find()]
        return "\n".join((_HEADING, *lines)) if lines else ""
