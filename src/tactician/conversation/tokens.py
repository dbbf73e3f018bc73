"""Token counters of messages: exact where the tokenizer of the model is available, estimated elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Protocol, TypeAlias

from tactician.conversation.media_tokens import estimate_document_tokens, estimate_image_tokens
from tactician.llm import AssistantMessage, Document, Image, Message, Text, Thinking, ToolResult, UserMessage
from tactician.llm.messages import AssistantPart, ProviderItem, UserPart
from tactician.suggestions import suggest_options

CountText: TypeAlias = Callable[[str], int]
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_RESULT = 10
_CHARACTERS_PER_TOKEN = 4

# OpenAI: tiktoken's table of models. What is newer than GPT-4o has its vocabulary, the first GPT-4s had another.
_O200K = re.compile(r"(ft:)?(chatgpt-|gpt-4o|gpt-4\.|gpt-(?!35)([5-9]|\d\d)|gpt-chat-|gpt-oss|codex-|o\d)")
_CL100K = re.compile(r"(ft:)?(gpt-4|gpt-3\.5|gpt-35)")


class TokenCounter(Protocol):
    """Token counter of messages, called once for each message; windows cache the result."""

    def count(self, message: Message) -> int:
        """Return the number of tokens of the message for the model; at least one."""
        ...


@suggest_options
class TextCounter:
    """Token counter of messages by their texts.

    A message takes 4 tokens besides, a tool result 10; pictures and documents are estimated by their size.

    Args:
        count_text: function that counts the tokens of a text.
    """

    def __init__(self, count_text: CountText) -> None:
        self._count_text = count_text

    def count(self, message: Message) -> int:
        """Return the number of tokens of the message for the model; at least one."""
        if isinstance(message, ToolResult):
            pictures = sum(map(estimate_image_tokens, message.images))
            return _TOKENS_PER_RESULT + max(1, self._count_text(message.content)) + pictures
        if isinstance(message, (AssistantMessage, UserMessage)):  # a union is built anew each time
            tokens = sum(map(self._count_part, message.parts))
        else:
            tokens = self._count_text(message.text)
        return _TOKENS_PER_MESSAGE + max(1, tokens)

    def _count_part(self, part: UserPart | AssistantPart) -> int:
        if isinstance(part, (Text, Thinking)):
            return self._count_text(part.text)
        if isinstance(part, Image):
            return estimate_image_tokens(part)
        if isinstance(part, Document):
            return estimate_document_tokens(part)
        if isinstance(part, ProviderItem):
            return estimate_tokens(part.data)  # mostly encrypted: it is not read letter by letter
        return self._count_text(part.id) + self._count_text(part.name) + self._count_text(part.arguments)


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: a quarter of its characters."""
    return len(text) // _CHARACTERS_PER_TOKEN


ESTIMATE = TextCounter(estimate_tokens)
"""The counter for models whose tokenizer is not at hand."""


@lru_cache(maxsize=256)
def find_token_counter(model: str) -> TokenCounter:
    """Return the counter for a model by its name, with or without its instance.

    For OpenAI's models it is exact as to texts, when the extra `tokens` is installed: their two vocabularies take about
    60 ms and 50 MB each, once. For all others it is an estimate.
    """
    name = model.lower()
    if ":" in name and not name.startswith("ft:"):
        name = name.partition(":")[2]
    name = name.rpartition("/")[2]
    vocabulary = "o200k_base" if _O200K.match(name) else "cl100k_base" if _CL100K.match(name) else None
    count_text = None if vocabulary is None else _load_tokenizer(vocabulary)
    return ESTIMATE if count_text is None else TextCounter(count_text)


@cache
def _load_tokenizer(vocabulary: str) -> CountText | None:
    """Return a counter with a vocabulary of OpenAI; `None` when the extra is not installed."""
    try:
        from rs_bpe import openai
    except ImportError:
        return None
    count: CountText = getattr(openai, vocabulary)().count

    def count_text(text: str) -> int:
        try:
            return count(text)
        except UnicodeEncodeError:  # half of a surrogate pair, which JSON can carry
            return count(text.encode("utf-8", "replace").decode())

    return count_text
