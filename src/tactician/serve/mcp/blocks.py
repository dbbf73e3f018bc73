"""Content blocks: texts, pictures, audio and files as clients get them."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import mcp_types as types

from tactician.llm import Document, Image, Text
from tactician.tools.attachments import read_document_text

_AUDIO: Final = "audio/"


def write_block(part: Text | Image | Document) -> types.ContentBlock:
    """Return a part of a message as a block. What is elsewhere is a link; clients load it, if they want to."""
    match part:
        case Text():
            return types.TextContent(text=part.text)
        case Image(data=str(data)):
            return types.ImageContent(data=data, mime_type=part.media_type)
        case Image():
            return types.TextContent(text=part.url or "")
        case Document(data=str(data)) if part.media_type.startswith(_AUDIO):
            return types.AudioContent(data=data, mime_type=part.media_type)
        case Document(data=str(data)):
            return types.EmbeddedResource(resource=_write_resource(part, data))
        case Document():
            return types.ResourceLink(uri=part.url or "", name=part.name, mime_type=part.media_type)


def _write_resource(document: Document, data: str) -> types.TextResourceContents | types.BlobResourceContents:
    """Return the contents of a file: as text, where it is text."""
    uri, media_type = document.url or f"file:///{quote(document.name)}", document.media_type
    if (text := read_document_text(document)) is not None:
        return types.TextResourceContents(uri=uri, text=text, mime_type=media_type)
    return types.BlobResourceContents(uri=uri, blob=data, mime_type=media_type)
