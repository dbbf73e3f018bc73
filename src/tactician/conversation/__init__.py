"""Conversations, their stores, and windows on the part that a model sees."""

from tactician.conversation.compaction import CompactToolResults
from tactician.conversation.conversation import Conversation, Messages
from tactician.conversation.events import ConversationSummarized
from tactician.conversation.exchanges import count_equal
from tactician.conversation.history_repair import repair_history
from tactician.conversation.run_part import RunPart
from tactician.conversation.sliding_window import SlidingWindow
from tactician.conversation.store import ConversationStore
from tactician.conversation.summarization import Summarization
from tactician.conversation.tokens import ESTIMATE, TextCounter, TokenCounter, find_token_counter
from tactician.conversation.window_strategy import Chain, MessageWindow, WindowStrategy, chain

__all__ = [
    "Conversation",
    "Messages",
    "RunPart",
    "count_equal",
    "repair_history",
    "WindowStrategy",
    "MessageWindow",
    "SlidingWindow",
    "Summarization",
    "CompactToolResults",
    "Chain",
    "chain",
    "TokenCounter",
    "TextCounter",
    "ESTIMATE",
    "find_token_counter",
    "ConversationStore",
    "ConversationSummarized",
]
