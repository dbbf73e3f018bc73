"""The `anthropic-messages` format: `POST /v1/messages`. A `Dialect` holds the differences between models."""

from tactician.llm.wire.anthropic_messages.output_schema import adapt_schema
from tactician.llm.wire.anthropic_messages.request import (
    BINDING_HEADER,
    continue_paused,
    encode,
    merge,
    strip_thinking,
)
from tactician.llm.wire.anthropic_messages.response import FORMAT, MessagesStreamDecoder, decode
from tactician.llm.wire.wire_format import WireFormat

ANTHROPIC_MESSAGES = WireFormat(FORMAT, encode, decode, MessagesStreamDecoder, continue_paused, merge, strip_thinking)

__all__ = [
    "ANTHROPIC_MESSAGES",
    "BINDING_HEADER",
    "FORMAT",
    "MessagesStreamDecoder",
    "adapt_schema",
    "continue_paused",
    "decode",
    "encode",
    "merge",
    "strip_thinking",
]
