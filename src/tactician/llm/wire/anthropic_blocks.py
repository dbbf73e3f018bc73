"""The content blocks of Anthropic's messages, one by one.

Source: the Anthropic API reference, "Messages" (`ContentBlockParam`), and the guides "Vision" and "PDF support".
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence

from pydantic_core import from_json

from tactician.errors import ModelRequestError
from tactician.llm.messages import (
    AssistantMessage,
    Document,
    Image,
    Message,
    ProviderItem,
    Text,
    ToolCall,
    UserPart,
)
from tactician.llm.wire.anthropic_answer import replayed

_LONGEST_TITLE = 500
_READ_AS_TEXT = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|toml|javascript|x-yaml|x-ndjson)")

Block = dict[str, object]


def text_block(text: str) -> Block:
    """Text, which must not be blank."""
    return {"type": "text", "text": text}


def input_of(call: ToolCall) -> Mapping[str, object]:
    """The arguments of a call as an object; what is none is passed on, so that the model sees its mistake."""
    try:
        value: object = from_json(call.arguments or "{}", allow_inf_nan=False)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"invalid_json": call.arguments}


def result_block(call_id: str, content: str, *, is_error: bool) -> Block:
    """The result of a call. It may be empty, but an error may not."""
    block: Block = {"type": "tool_result", "tool_use_id": call_id}
    if content.strip() or is_error:
        block["content"] = content if content.strip() else "The tool failed."
    return {**block, "is_error": True} if is_error else block


def user_block(part: UserPart, model: str) -> Block | None:
    """What the user says or shows; `None` when it is blank.

    Raises:
        ModelRequestError: when Claude cannot read the document.
    """
    if isinstance(part, Text):
        return text_block(part.text) if part.text.strip() else None
    if isinstance(part, Image):
        return {"type": "image", "source": _source(part)}
    return {"type": "document", "source": _document_source(part, model), "title": part.name[:_LONGEST_TITLE]}


def _source(part: Image | Document) -> Block:
    if part.url is None:
        return {"type": "base64", "media_type": part.media_type, "data": part.data or ""}
    if part.url.startswith("data:"):
        media_type, _, data = part.url.removeprefix("data:").partition(";base64,")
        return {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "url", "url": part.url}


def _document_source(part: Document, model: str) -> Block:
    """Claude reads PDF, and anything that is text."""
    if part.url is not None or part.media_type == "application/pdf":
        return _source(part)
    if _READ_AS_TEXT.fullmatch(part.media_type.partition(";")[0]):
        return {
            "type": "text",
            "media_type": "text/plain",
            "data": b64decode(part.data or "").decode("utf-8", "replace"),
        }
    raise ModelRequestError(f"{model}: Claude reads PDF and text, not {part.media_type} ({part.name})", model=model)


def server_blocks(message: Message) -> Sequence[Block]:
    """What the tools that Anthropic runs did in a message: their calls and their results."""
    if not isinstance(message, AssistantMessage):
        return ()
    blocks = [replayed(part) for part in message.parts if isinstance(part, ProviderItem)]
    return [block for block in blocks if block is not None and server_id(block)]


def own_calls(message: AssistantMessage) -> Sequence[str]:
    """The ids of the calls of tools that Anthropic runs in a message."""
    return [server_id(block) for block in server_blocks(message) if "tool_use_id" not in block]


def server_id(block: Block) -> str:
    """The id that a call of such a tool and its result share; empty for any other block."""
    own = block.get("id") if block["type"] in ("server_tool_use", "mcp_tool_use") else None
    return str(block.get("tool_use_id") or own or "")
