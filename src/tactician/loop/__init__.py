"""The turn loop: conversations with a model and tools."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.loop.answer_text import read_answer_text as read_answer_text
    from tactician.loop.autonomy import Autonomous as Autonomous
    from tactician.loop.events import HandedOff as HandedOff
    from tactician.loop.events import OutputRejected as OutputRejected
    from tactician.loop.events import PartialReceived as PartialReceived
    from tactician.loop.events import PieceReceived as PieceReceived
    from tactician.loop.events import TextReceived as TextReceived
    from tactician.loop.events import ThinkingReceived as ThinkingReceived
    from tactician.loop.events import ToolAnswered as ToolAnswered
    from tactician.loop.events import ToolCalled as ToolCalled
    from tactician.loop.events import ToolInterrupted as ToolInterrupted
    from tactician.loop.events import ToolRefused as ToolRefused
    from tactician.loop.events import ToolReturned as ToolReturned
    from tactician.loop.events import TurnCompleted as TurnCompleted
    from tactician.loop.events import TurnFailed as TurnFailed
    from tactician.loop.events import TurnStarted as TurnStarted
    from tactician.loop.handoffs import Handoff as Handoff
    from tactician.loop.handoffs import handoff as handoff
    from tactician.loop.handoffs import last_messages as last_messages
    from tactician.loop.handoffs import without_tools as without_tools
    from tactician.loop.output import output_type as output_type
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.loop.answer_text": "read_answer_text",
            "tactician.loop.autonomy": "Autonomous",
            "tactician.loop.events": (
                "HandedOff OutputRejected PartialReceived PieceReceived TextReceived ThinkingReceived "
                "ToolAnswered ToolCalled ToolInterrupted ToolRefused ToolReturned TurnCompleted TurnFailed TurnStarted"
            ),
            "tactician.loop.handoffs": "Handoff handoff last_messages without_tools",
            "tactician.loop.output": "output_type",
        },
    )
