"""Conversations, their stores, and windows on the part that a model sees."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.conversation.compaction import CompactToolResults as CompactToolResults
    from tactician.conversation.conversation import Conversation as Conversation
    from tactician.conversation.events import ConversationSummarized as ConversationSummarized
    from tactician.conversation.sliding_window import SlidingWindow as SlidingWindow
    from tactician.conversation.store import ConversationStore as ConversationStore
    from tactician.conversation.summarization import Summarization as Summarization
    from tactician.conversation.tokens import find_token_counter as find_token_counter
    from tactician.conversation.window_strategy import MessageWindow as MessageWindow
    from tactician.conversation.window_strategy import WindowStrategy as WindowStrategy
    from tactician.conversation.window_strategy import chain as chain
    from tactician.runs import ChatUser as ChatUser
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.conversation.compaction": "CompactToolResults",
            "tactician.conversation.conversation": "Conversation",
            "tactician.conversation.events": "ConversationSummarized",
            "tactician.conversation.sliding_window": "SlidingWindow",
            "tactician.conversation.store": "ConversationStore",
            "tactician.conversation.summarization": "Summarization",
            "tactician.conversation.tokens": "find_token_counter",
            "tactician.conversation.window_strategy": "MessageWindow WindowStrategy chain",
            "tactician.runs": "ChatUser",
        },
    )
