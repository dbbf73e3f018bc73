"""The `openai-chat` format: `POST /chat/completions`, which many providers and local servers speak."""

from tactician.llm.wire.openai_chat.provider_items import FORMAT, strip_thinking
from tactician.llm.wire.openai_chat.request import encode
from tactician.llm.wire.openai_chat.response import ChatStreamDecoder, decode
from tactician.llm.wire.wire_format import WireFormat

OPENAI_CHAT = WireFormat(FORMAT, encode, decode, ChatStreamDecoder, strip_thinking=strip_thinking)

__all__ = ["OPENAI_CHAT", "FORMAT", "ChatStreamDecoder", "decode", "encode", "strip_thinking"]
