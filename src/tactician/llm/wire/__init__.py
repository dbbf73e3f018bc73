"""The wire formats: what goes over HTTP, as pure functions that test without a network."""

from collections.abc import Mapping

from tactician.llm.wire import openai_chat
from tactician.llm.wire.dialect import DEFAULT_DIALECT, Dialect
from tactician.llm.wire.format import StreamDecoder, WireFormat
from tactician.llm.wire.sse import SseDecoder

OPENAI_CHAT = WireFormat("openai-chat", openai_chat.encode, openai_chat.decode, openai_chat.StreamDecoder)
WIRE_FORMATS: Mapping[str, WireFormat] = {one.name: one for one in (OPENAI_CHAT,)}

__all__ = ["WireFormat", "StreamDecoder", "WIRE_FORMATS", "OPENAI_CHAT", "Dialect", "DEFAULT_DIALECT", "SseDecoder"]
