"""Output of a tool that is more than text."""

from __future__ import annotations

from tactician.frozen import frozen
from tactician.llm import Document, Image


@frozen
class ToolOutput:
    """Output of a tool for the model.

    Attributes:
        text: the text.
        images: pictures, which the model sees after the text.
        documents: files for callers that take files, such as clients of MCP. The model has the text instead.
    """

    text: str
    images: tuple[Image, ...] = ()
    documents: tuple[Document, ...] = ()
