"""Wire formats: the encoding of requests and decoding of responses, as pure functions."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.llm.wire.anthropic_messages import ANTHROPIC_MESSAGES as ANTHROPIC_MESSAGES
    from tactician.llm.wire.anthropic_messages import BINDING_HEADER as BINDING_HEADER
    from tactician.llm.wire.decoding import expect_count as expect_count
    from tactician.llm.wire.dialect import DEFAULT_DIALECT as DEFAULT_DIALECT
    from tactician.llm.wire.dialect import EFFORTS as EFFORTS
    from tactician.llm.wire.dialect import Dialect as Dialect
    from tactician.llm.wire.formats import WIRE_FORMATS as WIRE_FORMATS
    from tactician.llm.wire.openai_chat import OPENAI_CHAT as OPENAI_CHAT
    from tactician.llm.wire.openai_chat import ChatStreamDecoder as ChatStreamDecoder
    from tactician.llm.wire.openai_responses import OPENAI_RESPONSES as OPENAI_RESPONSES
    from tactician.llm.wire.sse import SseDecoder as SseDecoder
    from tactician.llm.wire.wire_format import StreamDecoder as StreamDecoder
    from tactician.llm.wire.wire_format import WireFormat as WireFormat
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.llm.wire.anthropic_messages": "ANTHROPIC_MESSAGES BINDING_HEADER",
            "tactician.llm.wire.decoding": "expect_count",
            "tactician.llm.wire.dialect": "DEFAULT_DIALECT EFFORTS Dialect",
            "tactician.llm.wire.formats": "WIRE_FORMATS",
            "tactician.llm.wire.openai_chat": "OPENAI_CHAT ChatStreamDecoder",
            "tactician.llm.wire.openai_responses": "OPENAI_RESPONSES",
            "tactician.llm.wire.sse": "SseDecoder",
            "tactician.llm.wire.wire_format": "StreamDecoder WireFormat",
        },
    )
