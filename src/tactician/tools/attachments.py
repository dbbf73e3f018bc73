"""Pictures and files among the results of tools."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Final

from tactician.errors import ToolError
from tactician.grammar import format_count
from tactician.llm import Document, Image
from tactician.llm.image_checks import check_images
from tactician.tools.tool import ToolOutput, as_text

_TEXTS: Final = ("text/", "application/json", "application/xml", "application/yaml")


def find_attachments(result: object) -> ToolOutput | None:
    """Return a result with pictures or files: an `Image`, a `Document`, a list with any of these, or a `ToolOutput`.

    Raises:
        ToolError: when a picture is not valid or too large, or there are too many.
    """
    shown = _read(result)
    try:
        return shown if shown is None else replace(shown, images=check_images(shown.images))
    except ValueError as error:
        raise ToolError(f"the tool gave pictures that cannot be shown: {error}") from error


def read_document_text(document: Document) -> str | None:
    """Return the text of a file; `None` when it is elsewhere, or is no text by its media type or its bytes."""
    if document.data is None or not document.media_type.startswith(_TEXTS):
        return None
    try:
        return base64.b64decode(document.data).decode()
    except ValueError:
        return None


def _read(result: object) -> ToolOutput | None:
    if isinstance(result, ToolOutput):
        return result
    parts = result if isinstance(result, list | tuple) else (result,)
    images = tuple(part for part in parts if isinstance(part, Image))
    documents = tuple(part for part in parts if isinstance(part, Document))
    if not images and not documents:
        return None
    texts = [_write(part) for part in parts if not isinstance(part, Image)]
    text = "\n".join(texts) or format_count(len(images), "picture")
    return ToolOutput(text, images, documents)


def _write(part: object) -> str:
    """Return a part as text for a model: of a file its text, or what it is."""
    if not isinstance(part, Document):
        return as_text(part)
    if (text := read_document_text(part)) is not None:
        return f"[file {part.name}]\n{text}"
    place = part.url if part.data is None else format_count(_measure(part.data), "byte")
    return f"[file {part.name} of the type {part.media_type}, {place}]"


def _measure(data: str) -> int:
    """Return the number of bytes in base64."""
    return len(data) * 3 // 4 - data[-2:].count("=")
