"""What was said, where it is kept, and what of it a model is shown."""

from tactician.context.compaction import CompactToolResults
from tactician.context.conversation import Conversation, Messages
from tactician.context.mending import mended
from tactician.context.sliding import SlidingWindow
from tactician.context.sqlite import SqliteConversations
from tactician.context.store import ConversationStore, MemoryConversations
from tactician.context.strategy import Chain, ContextStrategy, Window, chain
from tactician.context.summarization import Summarization
from tactician.context.tokens import ESTIMATE, TextCounter, TokenCounter, counter_for

__all__ = [
    "Conversation",
    "Messages",
    "mended",
    "ContextStrategy",
    "Window",
    "SlidingWindow",
    "Summarization",
    "CompactToolResults",
    "Chain",
    "chain",
    "TokenCounter",
    "TextCounter",
    "ESTIMATE",
    "counter_for",
    "ConversationStore",
    "MemoryConversations",
    "SqliteConversations",
]
