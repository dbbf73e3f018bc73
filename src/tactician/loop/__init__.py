"""The turn loop: conversations with a model and tools."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.loop.answer_text import AnswerReader as AnswerReader
    from tactician.loop.answer_text import read_answer_text as read_answer_text
    from tactician.loop.autonomy import TASK_OVER as TASK_OVER
    from tactician.loop.autonomy import Autonomous as Autonomous
    from tactician.loop.endings import Answer as Answer
    from tactician.loop.events import HandedOff as HandedOff
    from tactician.loop.events import OutputRejected as OutputRejected
    from tactician.loop.events import PartialReceived as PartialReceived
    from tactician.loop.events import PieceReceived as PieceReceived
    from tactician.loop.events import TextReceived as TextReceived
    from tactician.loop.events import ThinkingReceived as ThinkingReceived
    from tactician.loop.events import ToolAnswered as ToolAnswered
    from tactician.loop.events import ToolCalled as ToolCalled
    from tactician.loop.events import ToolInterrupted as ToolInterrupted
    from tactician.loop.events import ToolReturned as ToolReturned
    from tactician.loop.events import TurnCompleted as TurnCompleted
    from tactician.loop.events import TurnFailed as TurnFailed
    from tactician.loop.events import TurnStarted as TurnStarted
    from tactician.loop.handoffs import Handoff as Handoff
    from tactician.loop.handoffs import HistoryFilter as HistoryFilter
    from tactician.loop.handoffs import handoff as handoff
    from tactician.loop.handoffs import last_messages as last_messages
    from tactician.loop.handoffs import without_tools as without_tools
    from tactician.loop.output import InvalidOutput as InvalidOutput
    from tactician.loop.output import OutputType as OutputType
    from tactician.loop.output import output_type as output_type
    from tactician.loop.policy import DEFAULT_MAX_TURNS as DEFAULT_MAX_TURNS
    from tactician.loop.policy import DEFAULT_POLICY as DEFAULT_POLICY
    from tactician.loop.policy import NO_GUARDS as NO_GUARDS
    from tactician.loop.policy import AnswerAttempts as AnswerAttempts
    from tactician.loop.policy import Guards as Guards
    from tactician.loop.policy import TurnPolicy as TurnPolicy
    from tactician.loop.saved_state import read_added_messages as read_added_messages
    from tactician.loop.saved_state import read_messages as read_messages
    from tactician.loop.turns import NO_TOOLS as NO_TOOLS
    from tactician.loop.turns import TurnLoop as TurnLoop
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.loop.answer_text": "AnswerReader read_answer_text",
            "tactician.loop.autonomy": "TASK_OVER Autonomous",
            "tactician.loop.endings": "Answer",
            "tactician.loop.events": (
                "HandedOff OutputRejected PartialReceived PieceReceived TextReceived ThinkingReceived "
                "ToolAnswered ToolCalled ToolInterrupted ToolReturned TurnCompleted TurnFailed TurnStarted"
            ),
            "tactician.loop.handoffs": "Handoff HistoryFilter handoff last_messages without_tools",
            "tactician.loop.output": "InvalidOutput OutputType output_type",
            "tactician.loop.policy": "DEFAULT_MAX_TURNS DEFAULT_POLICY NO_GUARDS AnswerAttempts Guards TurnPolicy",
            "tactician.loop.saved_state": "read_added_messages read_messages",
            "tactician.loop.turns": "NO_TOOLS TurnLoop",
        },
    )
