"""Events of conversations."""

from __future__ import annotations

import logging
from typing import ClassVar

from tactician.events import Event
from tactician.frozen import frozen
from tactician.grammar import format_count


@frozen(kw_only=True)
class ConversationSummarized(Event):
    """Event of a model that summarized the oldest `messages` of a long conversation; `error` if it failed."""

    content_fields: ClassVar[tuple[str, ...]] = ("summary",)

    messages: int
    summary: str = ""
    error: str | None = None

    @property
    def level(self) -> int:
        """Level `WARNING` of a model that failed, else `INFO`."""
        return logging.INFO if self.error is None else logging.WARNING

    def describe(self) -> str:
        """Return how much was summarized, or why it was not."""
        did = "summarized" if self.error is None else "could not summarize"
        return f"{did} {format_count(self.messages, 'message')}{'' if self.error is None else f': {self.error}'}"
