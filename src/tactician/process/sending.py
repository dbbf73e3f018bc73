"""Messages to the people outside, which nobody has to answer."""

from __future__ import annotations

from pydantic import JsonValue

from tactician.events import MessageSent
from tactician.llm import AssistantMessage, Text
from tactician.runs import RunContext


def send(run: RunContext, message: str | AssistantMessage) -> None:
    """Tells whoever listens, unless that was done before the run had to wait."""
    frame = None if run.frame is None else run.frame.child("sent")
    is_new = frame is None or (frame.saved is None and frame.progress is None)
    if frame is not None:
        frame.progress = _Sent()
    if is_new and run.sink is not None:
        said = AssistantMessage((Text(message),)) if isinstance(message, str) else message
        run.sink(MessageSent(run_id=run.run_id, path=run.path, message=said))


class _Sent:
    """That a message was sent."""

    def saved(self) -> JsonValue:
        """It, as JSON."""
        return True
