"""Events of conversations."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummarized(Event):
    """Event of a model that summarized the oldest `messages` of a long conversation; `error` if it failed."""

    messages: int
    summary: str = ""
    error: str | None = None
