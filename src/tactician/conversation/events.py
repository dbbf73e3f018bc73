"""The events of conversations."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummarized(Event):
    """A model was asked to sum up the oldest `messages` of a long conversation; `error` says why it did not."""

    messages: int
    summary: str = ""
    error: str | None = None
