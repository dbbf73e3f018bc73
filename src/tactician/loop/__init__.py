"""The turn loop: conversations with a model and tools."""

from tactician.loop.answer_text import read_answer_text
from tactician.loop.attempts import AnswerAttempts
from tactician.loop.autonomy import TASK_OVER, Autonomous
from tactician.loop.endings import Answer
from tactician.loop.events import (
    HandedOff,
    OutputRejected,
    PartialReceived,
    PieceReceived,
    TextReceived,
    ThinkingReceived,
    ToolCalled,
    ToolInterrupted,
    ToolReturned,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from tactician.loop.guards import NO_GUARDS, Guards
from tactician.loop.handoff import Handoff, HistoryFilter, handoff, last_messages, without_tools
from tactician.loop.output import InvalidOutput, OutputType, output_type
from tactician.loop.policy import DEFAULT_MAX_TURNS, DEFAULT_POLICY, TurnPolicy
from tactician.loop.state import read_added_messages, read_messages
from tactician.loop.turns import NO_TOOLS, TurnLoop

__all__ = [
    "TurnLoop",
    "read_messages",
    "read_added_messages",
    "TurnPolicy",
    "DEFAULT_POLICY",
    "DEFAULT_MAX_TURNS",
    "AnswerAttempts",
    "NO_TOOLS",
    "Autonomous",
    "TASK_OVER",
    "Guards",
    "NO_GUARDS",
    "Handoff",
    "HistoryFilter",
    "handoff",
    "last_messages",
    "without_tools",
    "OutputType",
    "output_type",
    "InvalidOutput",
    "Answer",
    "TurnStarted",
    "TurnCompleted",
    "TurnFailed",
    "PieceReceived",
    "TextReceived",
    "ThinkingReceived",
    "PartialReceived",
    "OutputRejected",
    "ToolCalled",
    "ToolReturned",
    "ToolInterrupted",
    "HandedOff",
    "read_answer_text",
]
