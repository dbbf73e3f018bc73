"""Content of messages as attributes, in the JSON form of the conventions: only for those who want it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from pydantic_core import to_json

from tactician.integrations.otel.attributes import Attributes, write_content
from tactician.integrations.otel.conventions import (
    INPUT_MESSAGES,
    OUTPUT_MESSAGES,
    SYSTEM_INSTRUCTIONS,
    TOOL_DEFINITIONS,
)
from tactician.llm import (
    AssistantMessage,
    Document,
    Image,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tactician.llm.messages import SystemMessage
from tactician.llm.model import ToolSpec


def describe_messages(request: ModelRequest) -> Attributes:
    """Return the attributes of the messages to a model, its instructions and its tools apart."""
    system = [_encode_text(message.text) for message in request.messages if isinstance(message, SystemMessage)]
    others = [_encode_message(message) for message in request.messages if not isinstance(message, SystemMessage)]
    attributes: Attributes = {INPUT_MESSAGES: _dump(others)}
    if request.tools:
        attributes[TOOL_DEFINITIONS] = _dump([_encode_tool(tool) for tool in request.tools])
    return {**attributes, SYSTEM_INSTRUCTIONS: _dump(system)} if system else attributes


def describe_answer(response: ModelResponse) -> Attributes:
    """Return the attributes of the message of a model."""
    return {OUTPUT_MESSAGES: _dump([{**_encode_message(response.message), "finish_reason": response.finish_reason}])}


def _encode_tool(tool: ToolSpec) -> dict[str, object]:
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _encode_message(message: Message) -> dict[str, object]:
    if isinstance(message, ToolResult):
        parts: Sequence[object] = [{"type": "tool_call_response", "id": message.call_id, "response": message.content}]
        parts = [*parts, *_encode_parts(message.images)]
    elif isinstance(message, SystemMessage):
        parts = [_encode_text(message.text)]
    elif isinstance(message, AssistantMessage):
        parts = _encode_parts(message.parts)
    else:
        parts = _encode_parts(message.parts)
    return {"role": message.role, "parts": parts}


def _encode_parts(parts: Iterable[object]) -> list[object]:
    return [encoded for part in parts if (encoded := _encode_part(part)) is not None]


def _encode_part(part: object) -> dict[str, object] | None:
    match part:
        case Text():
            return _encode_text(part.text)
        case Thinking():
            return {"type": "reasoning", "content": part.text}
        case ToolCall():
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": _read_arguments(part)}
        case Image() | Document():
            return _encode_media(part)
        case _:  # what only the provider understands
            return None


def _encode_media(part: Image | Document) -> dict[str, object]:
    """Return where a picture or a document is, without its bytes, and without what an address keeps secret."""
    fields: dict[str, object] = {"modality": part.kind, "mime_type": part.media_type}
    if part.url is None:
        return {"type": "blob", **fields, "content": ""}
    address = urlsplit(part.url)
    host = address.hostname or ""
    return {"type": "uri", **fields, "uri": f"{address.scheme}://{host}{address.path}"}


def _encode_text(text: str) -> dict[str, object]:
    return {"type": "text", "content": text}


def _read_arguments(call: ToolCall) -> object:
    try:
        return call.parse_arguments()
    except ValueError:
        return call.arguments


def _dump(value: object) -> str:
    try:
        return write_content(to_json(value).decode())
    except ValueError:  # of lone surrogates
        return write_content(str(value))
