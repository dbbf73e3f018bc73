"""The wire formats: what goes over HTTP, as pure functions that test without a network."""

from collections.abc import Mapping

from tactician.llm.wire import anthropic_messages, openai_chat, openai_responses
from tactician.llm.wire.dialect import DEFAULT_DIALECT, Dialect
from tactician.llm.wire.format import StreamDecoder, WireFormat
from tactician.llm.wire.openai_chat import text_with_reasoning
from tactician.llm.wire.sse import SseDecoder

OPENAI_CHAT = WireFormat(
    openai_chat.FORMAT,
    openai_chat.encode,
    openai_chat.decode,
    openai_chat.StreamDecoder,
    without_thinking=openai_chat.without_thinking,
)
OPENAI_RESPONSES = WireFormat(
    openai_responses.NAME,
    openai_responses.encode,
    openai_responses.decode,
    openai_responses.StreamDecoder,
    without_thinking=openai_responses.without_thinking,
)
ANTHROPIC_MESSAGES = WireFormat(
    anthropic_messages.FORMAT,
    anthropic_messages.encode,
    anthropic_messages.decode,
    anthropic_messages.StreamDecoder,
    anthropic_messages.continuation,
    anthropic_messages.merged,
    anthropic_messages.without_thinking,
)
WIRE_FORMATS: Mapping[str, WireFormat] = {one.name: one for one in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC_MESSAGES)}

__all__ = [
    "WireFormat",
    "StreamDecoder",
    "WIRE_FORMATS",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "ANTHROPIC_MESSAGES",
    "Dialect",
    "DEFAULT_DIALECT",
    "SseDecoder",
    "text_with_reasoning",
]
