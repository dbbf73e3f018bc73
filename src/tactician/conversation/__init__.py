"""What was said, where it is kept, and what of it a model is shown."""

from tactician.conversation.compaction import CompactToolResults
from tactician.conversation.conversation import Conversation, Messages
from tactician.conversation.events import ContextSummarized
from tactician.conversation.exchanges import count_equal
from tactician.conversation.mending import mended
from tactician.conversation.run_part import RunPart
from tactician.conversation.sliding import SlidingWindow
from tactician.conversation.store import ConversationStore
from tactician.conversation.strategy import Chain, ContextStrategy, Window, chain
from tactician.conversation.summarization import Summarization
from tactician.conversation.tokens import ESTIMATE, TextCounter, TokenCounter, counter_for

__all__ = [
    "Conversation",
    "Messages",
    "RunPart",
    "count_equal",
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
    "ContextSummarized",
]
