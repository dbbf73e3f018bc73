"""The log of a process, at the level INFO."""

from __future__ import annotations

import logging

from tactician.events import Event, EventListener
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, UsageTally, text_of
from tactician.loop import PartialReceived, TextReceived, ThinkingReceived, TurnCompleted, TurnStarted
from tactician.process.events import ActionCompleted, ActionStarted, MessageSent, PlanMade, ProcessEnded, ProcessStarted
from tactician.process.options import Verbosity

_logger = logging.getLogger("tactician.process")


def create_log_sink(verbosity: Verbosity) -> EventListener:
    """Create a listener that writes events to the log."""

    def write(event: Event) -> None:
        if _logger.isEnabledFor(logging.INFO) and (line := _format_event(event, verbosity)) is not None:
            _logger.info("%s: %s", " / ".join(event.path), line)

    return write


def format_new_messages(request: ModelRequest) -> str:
    """Format the messages that are new to a model since its last answer: all, before its first."""
    messages = request.messages
    answers = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    return text_of(messages[answers[-1] + 1 :] if answers else messages)


def format_response(response: ModelResponse) -> str:
    """Format the answer of a model, with the tools that it called."""
    calls = (f"{call.name}({call.arguments})" for call in response.message.tool_calls)
    return "\n".join(filter(None, (response.message.text, *calls)))


def _format_event(event: Event, verbosity: Verbosity) -> str | None:
    """Format the event, or return `None` to skip it."""
    match event:
        case ProcessStarted():
            return f"starts towards {', '.join(event.goals) or 'whatever is worth most'}"
        case PlanMade():
            return f"plans {event.plan}" if verbosity.plans else None
        case ActionStarted():
            return f"{event.action} starts"
        case ActionCompleted():
            return f"{event.action} {_format_ending(event)}, {_format_usage(event.seconds, event.tally)}"
        case MessageSent():
            return f"says {event.message.text}"
        case ProcessEnded():
            why = "" if event.failure is None else f": {event.failure}"
            return f"is {event.status}, {_format_usage(event.seconds, event.tally)}{why}"
        case TurnStarted():
            return f"prompt to {event.model}\n{format_new_messages(event.request)}" if verbosity.prompts else None
        case TurnCompleted():
            answered = event.response.model or "the model"
            return f"response of {answered}\n{format_response(event.response)}" if verbosity.responses else None
        case TextReceived() | ThinkingReceived() | PartialReceived():
            return None
        case _:
            return str(event) if verbosity.debug else None


def _format_ending(event: ActionCompleted) -> str:
    if event.error is not None:
        return f"raised {event.error}"
    return f"gave {' and '.join(event.outputs) or 'nothing'}"


def _format_usage(seconds: float, tally: UsageTally) -> str:
    return f"{seconds:.2f} s, {tally.total.total_tokens} tokens"
