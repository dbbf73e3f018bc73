"""The wire formats, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tactician.llm.wire.anthropic_messages import ANTHROPIC_MESSAGES
from tactician.llm.wire.openai_chat import OPENAI_CHAT
from tactician.llm.wire.openai_responses import OPENAI_RESPONSES
from tactician.llm.wire.wire_format import WireFormat

WIRE_FORMATS: Mapping[str, WireFormat] = {
    wire.name: wire for wire in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC_MESSAGES)
}
