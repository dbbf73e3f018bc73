"""Conversations, their stores, and windows on the part that a model sees."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.conversation.compaction import CompactToolResults as CompactToolResults
    from tactician.conversation.conversation import Conversation as Conversation
    from tactician.conversation.conversation import Messages as Messages
    from tactician.conversation.events import ConversationSummarized as ConversationSummarized
    from tactician.conversation.exchanges import count_equal as count_equal
    from tactician.conversation.history_repair import repair_history as repair_history
    from tactician.conversation.run_part import RunPart as RunPart
    from tactician.conversation.sliding_window import SlidingWindow as SlidingWindow
    from tactician.conversation.store import ConversationStore as ConversationStore
    from tactician.conversation.summarization import Summarization as Summarization
    from tactician.conversation.summary import ConversationSummary as ConversationSummary
    from tactician.conversation.summary import find_run_id as find_run_id
    from tactician.conversation.tokens import ESTIMATE as ESTIMATE
    from tactician.conversation.tokens import TextCounter as TextCounter
    from tactician.conversation.tokens import TokenCounter as TokenCounter
    from tactician.conversation.tokens import find_token_counter as find_token_counter
    from tactician.conversation.window_strategy import Chain as Chain
    from tactician.conversation.window_strategy import MessageWindow as MessageWindow
    from tactician.conversation.window_strategy import WindowStrategy as WindowStrategy
    from tactician.conversation.window_strategy import chain as chain
    from tactician.runs import ChatUser as ChatUser
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.conversation.compaction": "CompactToolResults",
            "tactician.conversation.conversation": "Conversation Messages",
            "tactician.conversation.events": "ConversationSummarized",
            "tactician.conversation.exchanges": "count_equal",
            "tactician.conversation.history_repair": "repair_history",
            "tactician.conversation.run_part": "RunPart",
            "tactician.conversation.sliding_window": "SlidingWindow",
            "tactician.conversation.store": "ConversationStore",
            "tactician.conversation.summarization": "Summarization",
            "tactician.conversation.summary": "ConversationSummary find_run_id",
            "tactician.conversation.tokens": "ESTIMATE TextCounter TokenCounter find_token_counter",
            "tactician.conversation.window_strategy": "Chain MessageWindow WindowStrategy chain",
            "tactician.runs": "ChatUser",
        },
    )
