"""Content that servers send, as text and pictures for a model, and messages that servers get."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tactician.grammar import format_count
from tactician.llm import AssistantMessage, Image, Message, Text, UserMessage
from tactician.llm.image_checks import check_image
from tactician.llm.messages import UserPart
from tactician.mcp.structured import find_value
from tactician.text import replace_surrogates
from tactician.tools import ToolOutput
from tactician.tools.tool import as_text

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, CallToolResult, TextResourceContents

LONGEST_TEXT: Final = 1_000_000
"""Characters of text in an answer of a server that are kept."""
_LARGEST_PICTURE = 20_000_000
_MOST_PICTURES = 20
_SHOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def read_output(result: CallToolResult) -> ToolOutput:
    """Return the result of a tool for a model; data as JSON, whether it is structured content or texts in JSON."""
    texts = read_texts(result)
    value = None if result.is_error else find_value(texts, result.structured_content)
    if value is None:
        return read_content(result.content)
    others = read_content(block for block in result.content if block.type != "text")
    text = "\n".join(filter(None, (as_text(value), others.text)))
    return ToolOutput(_shorten(text), others.images)


def read_texts(result: CallToolResult) -> tuple[str, ...]:
    """Return the texts of a result, without what describes pictures and resources."""
    return tuple(replace_surrogates(block.text) for block in result.content if block.type == "text")


def read_content(blocks: Iterable[object]) -> ToolOutput:
    """Return content blocks as text and pictures. What a model cannot be shown is described."""
    parts = [_read_block(block) for block in blocks]
    text = "\n".join(part for part in parts if isinstance(part, str))
    pictures = [part for part in parts if isinstance(part, Image)]
    if len(pictures) > _MOST_PICTURES:
        text = f"{text}\n[{format_count(len(pictures) - _MOST_PICTURES, 'more picture')} left out]"
    return ToolOutput(_shorten(text), tuple(pictures[:_MOST_PICTURES]))


def read_contents(contents: Iterable[TextResourceContents | BlobResourceContents]) -> ToolOutput:
    """Return the contents of a resource as text and pictures."""
    from mcp_types import EmbeddedResource

    return read_content(EmbeddedResource(resource=part) for part in contents)


def read_message(role: str, blocks: Iterable[object]) -> Message:
    """Return a message of a prompt, or of a request for an answer of a model."""
    content = read_content(blocks)
    if role == "assistant":
        return AssistantMessage((Text(content.text),))
    parts: tuple[UserPart, ...] = (Text(content.text), *content.images)
    return UserMessage(parts if content.images else content.text)


def _read_block(block: object) -> str | Image:
    from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent

    match block:
        case TextContent():
            return replace_surrogates(block.text)
        case ImageContent():
            return _read_picture(block.data, block.mime_type)
        case AudioContent():
            return f"[audio of the type {block.mime_type}, {format_count(_measure(block.data), 'byte')}]"
        case ResourceLink():
            described = f": {block.description}" if block.description else ""
            return replace_surrogates(f"[resource {block.title or block.name}, {block.uri}{described}]")
        case EmbeddedResource():
            return _read_resource(block.resource)
    return f"[{getattr(block, 'type', 'content')} that cannot be shown]"


def _read_resource(resource: TextResourceContents | BlobResourceContents) -> str | Image:
    from mcp_types import TextResourceContents

    if isinstance(resource, TextResourceContents):
        return replace_surrogates(f"[resource {resource.uri}]\n{resource.text}")
    media_type = resource.mime_type or "application/octet-stream"
    if media_type in _SHOWN_TYPES:
        return _read_picture(resource.blob, media_type)
    return f"[resource {resource.uri} of the type {media_type}, {format_count(_measure(resource.blob), 'byte')}]"


def _read_picture(data: str, media_type: str) -> str | Image:
    if media_type in _SHOWN_TYPES and len(data) <= _LARGEST_PICTURE:
        with suppress(ValueError):
            picture = check_image(Image(data=data, media_type=media_type))
            if picture.media_type in _SHOWN_TYPES:
                return picture
    return f"[picture of the type {media_type}, {format_count(_measure(data), 'byte')}, left out]"


def _measure(data: str) -> int:
    """Return the number of bytes in base64."""
    return len(data) * 3 // 4


def _shorten(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}... [cut off: the server sent {format_count(len(text), 'character')}]"
