"""Token counters of messages: exact where the tokenizer of the model is available, estimated elsewhere."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Protocol, TypeAlias

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
# OpenAI, "Images and vision": a picture shown small takes 85 tokens, at ordinary size 765. Claude counts its
# pixels and comes to about the same.
_SMALL, _LARGE, _UNKNOWN = 85, 765, 170
_SMALL_SIDE = 512
_HEAD = 64 * 1024  # the size stands at the beginning; only JPEG puts other things before it
_DOCUMENT = 765
_BYTES_PER_TOKEN_OF_TEXT = 4
_BYTES_PER_TOKEN_OF_PAGES = 40  # a page of a PDF: some 2,000 tokens, some 80 kB
_SIZE_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


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


def estimate_image_tokens(image: Image) -> int:
    """Return the estimated tokens of an image: 85 or 765 by its size, 170 when the size is unknown."""
    size = None if image.data is None else read_image_size(_read_head(image.data))
    if size is None:
        return _UNKNOWN
    return _SMALL if max(size) <= _SMALL_SIDE else _LARGE


def estimate_document_tokens(document: Document) -> int:
    """Return the estimated tokens of a document by its size; as for an image when the size is unknown."""
    if document.data is None:
        return _DOCUMENT
    size = len(document.data) * 3 // 4
    if document.media_type.startswith("text/"):
        return size // _BYTES_PER_TOKEN_OF_TEXT
    return max(_DOCUMENT, size // _BYTES_PER_TOKEN_OF_PAGES)


def read_image_size(head: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG from its first bytes."""
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if head.startswith(b"GIF8") and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    return _read_jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _read_jpeg_size(head: bytes) -> tuple[int, int] | None:
    """Return the size of a JPEG from the segment that has it."""
    place = 2
    while place + 9 <= len(head) and head[place] == 0xFF:
        if head[place + 1] in _SIZE_MARKERS:
            height, width = head[place + 5 : place + 7], head[place + 7 : place + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        place += 2 + int.from_bytes(head[place + 2 : place + 4], "big")
    return None


def _read_head(data: str) -> bytes:
    try:
        return b64decode(data[:_HEAD])
    except ValueError:
        return b""
