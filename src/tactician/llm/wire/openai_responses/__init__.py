"""The `openai-responses` format: `POST /responses`."""

from tactician.llm.wire.openai_responses.request import encode, strip_thinking
from tactician.llm.wire.openai_responses.response import FORMAT, ResponsesStreamDecoder, decode
from tactician.llm.wire.wire_format import WireFormat

OPENAI_RESPONSES = WireFormat(FORMAT, encode, decode, ResponsesStreamDecoder, strip_thinking=strip_thinking)

__all__ = ["OPENAI_RESPONSES", "FORMAT", "ResponsesStreamDecoder", "decode", "encode", "strip_thinking"]
