"""Log of the events of a process, and the texts of requests and responses in it."""

from __future__ import annotations

import logging

from tactician.events import Event
from tactician.events.bus import EventListener
from tactician.llm import ModelRequest, ModelResponse
from tactician.llm.messages import join_text
from tactician.llm.transcript import find_new_messages
from tactician.loggers import get_logger
from tactician.loop import PartialReceived, TextReceived, ThinkingReceived, TurnCompleted, TurnStarted
from tactician.process.state.events import (
    ActionCompleted,
    ActionStarted,
    MessageSent,
    PlanMade,
    ProcessEnded,
    ProcessStarted,
)
from tactician.process.state.options import Verbosity

_logger = get_logger("tactician.process")


def create_log_sink(verbosity: Verbosity) -> EventListener:
    """Create a listener that writes events to the log."""

    def write(event: Event) -> None:
        if _logger.isEnabledFor(logging.INFO) and (line := _format_event(event, verbosity)) is not None:
            _logger.info("%s: %s", " / ".join(event.path), line)

    return write


def format_new_messages(request: ModelRequest) -> str:
    """Format the messages that are new to a model since its last answer: all, before its first."""
    return join_text(find_new_messages(request.messages))


def format_response(response: ModelResponse) -> str:
    """Format the answer of a model, with the tools that it called."""
    calls = (f"{call.name}({call.arguments})" for call in response.message.tool_calls)
    return "\n".join(filter(None, (response.message.text, *calls)))


def _format_event(event: Event, verbosity: Verbosity) -> str | None:
    """Format the event, or return `None` to skip it."""
    match event:
        case ProcessStarted() | ActionStarted() | ActionCompleted() | ProcessEnded():
            return event.describe()
        case PlanMade():
            return event.describe() if verbosity.plans else None
        case MessageSent():
            return f"says {event.message.text}"
        case TurnStarted():
            return f"prompt to {event.model}\n{format_new_messages(event.request)}" if verbosity.prompts else None
        case TurnCompleted():
            answered = event.response.model or "the model"
            return f"response of {answered}\n{format_response(event.response)}" if verbosity.responses else None
        case TextReceived() | ThinkingReceived() | PartialReceived():
            return None
        case _:
            return str(event) if verbosity.debug else None
