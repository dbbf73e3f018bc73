"""Wire formats: the encoding of requests and decoding of responses, as pure functions."""

from collections.abc import Mapping

from tactician.llm.wire.anthropic_messages import ANTHROPIC_MESSAGES, BINDING_HEADER
from tactician.llm.wire.decoding import expect_count
from tactician.llm.wire.dialect import DEFAULT_DIALECT, EFFORTS, Dialect
from tactician.llm.wire.openai_chat import OPENAI_CHAT, ChatStreamDecoder
from tactician.llm.wire.openai_responses import OPENAI_RESPONSES
from tactician.llm.wire.sse import SseDecoder
from tactician.llm.wire.wire_format import StreamDecoder, WireFormat

WIRE_FORMATS: Mapping[str, WireFormat] = {
    wire.name: wire for wire in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC_MESSAGES)
}

__all__ = [
    "WireFormat",
    "StreamDecoder",
    "WIRE_FORMATS",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "ANTHROPIC_MESSAGES",
    "BINDING_HEADER",
    "ChatStreamDecoder",
    "Dialect",
    "DEFAULT_DIALECT",
    "EFFORTS",
    "expect_count",
    "SseDecoder",
]
