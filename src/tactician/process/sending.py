"""Messages to the people outside, which nobody has to answer."""

from __future__ import annotations

from pydantic import JsonValue

from tactician.llm import AssistantMessage, Text
from tactician.process.events import MessageSent
from tactician.runs import RunContext


def send(run: RunContext, message: str | AssistantMessage) -> None:
    """Tells whoever listens, unless that was done before the run had to wait."""
    frame = None if run.frame is None else run.frame.child("sent")
    is_new = frame is None or (frame.saved is None and frame.progress is None)
    if frame is not None:
        frame.progress = _Sent()
    if is_new:
        run.emit(MessageSent, message=AssistantMessage((Text(message),)) if isinstance(message, str) else message)


class _Sent:
    """That a message was sent."""

    def saved(self) -> JsonValue:
        """It, as JSON."""
        return True
