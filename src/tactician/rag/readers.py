"""Documents from bytes of all kinds."""

from __future__ import annotations

import ast
import codecs
import re
from collections.abc import Iterator
from typing import Final

from tactician.rag.deadlines import run_cancellable
from tactician.rag.elements import ContentRoot, LeafSection, Metadata, create_document_id
from tactician.rag.errors import UnreadableDocumentError
from tactician.rag.media_types import MediaKind, MediaType
from tactician.rag.outline import build_outline, name_document, parse_markdown
from tactician.rag.parser_process import ParserProcess

_MAX_TREE: Final = 500_000
_PARSED: Final = (MediaKind.HTML, MediaKind.PAGE, MediaKind.OFFICE, MediaKind.RST)
_NO_TITLE: Final = re.compile(
    r"(untitled( document)?|document|slide|presentation|book|sheet|no title|unknown|none)?[\s\d_-]*", re.IGNORECASE
)


async def read_document(
    body: bytes, media: MediaType, uri: str, metadata: Metadata, parser: ParserProcess
) -> ContentRoot:
    """Return the document in the content of a file or of a web page.

    Args:
        body: the content.
        media: the type.
        uri: the address of the document.
        metadata: facts about it.
        parser: the parser of what is not plain text.

    Raises:
        UnreadableDocumentError: when the content is not of this type, or there is no text in it.
    """
    if media.kind in _PARSED:
        parsed = await parser.parse(body, media)
        title = _choose_title(parsed.title)
        root = await run_cancellable(lambda: build_outline(parsed.text, uri, title, metadata, shorten=True))
    else:
        root = await run_cancellable(lambda: read_text_document(body, media, uri, metadata))
    if not any(leaf.text.strip() for leaf in root.leaves):
        raise UnreadableDocumentError("there is no text in it; pictures of text are not read")
    return root


def _choose_title(title: str) -> str | None:
    """Return the title of a file, or `None` for a name that a program has put there."""
    return None if _NO_TITLE.fullmatch(title.strip()) else title


def read_text_document(body: bytes, media: MediaType, uri: str, metadata: Metadata) -> ContentRoot:
    """Return the document in a text file.

    Raises:
        UnreadableDocumentError: when it is not text.
    """
    text = _decode(body)
    if media.kind is MediaKind.MARKDOWN:
        return parse_markdown(text, uri, metadata=metadata)
    parts = _split_code(text, media.name) if media.kind is MediaKind.CODE else [("", text)]
    return _create_root(uri, parts, metadata)


def _decode(body: bytes) -> str:
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace")
    if b"\0" in body[:8_192]:
        raise UnreadableDocumentError("it is not a text file, although its name says so")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _create_root(uri: str, parts: list[tuple[str, str]], metadata: Metadata) -> ContentRoot:
    root, title = create_document_id(uri), name_document(uri)
    sections = tuple(
        LeafSection(id=f"{root}.s{number}", uri=uri, path=(title, name or title), parent_id=root, text=text)
        for number, (name, text) in enumerate(parts)
    )
    return ContentRoot(id=root, uri=uri, path=(title,), sections=sections, metadata=metadata)


def _split_code(source: str, language: str) -> list[tuple[str, str]]:
    """Return the parts of a program with their names: for Python, its functions and classes."""
    parts = list(_split_python(source)) if language == "python" and len(source) < _MAX_TREE else [("", source)]
    return [(name, f"```{language}\n{text.strip()}\n```") for name, text in parts if text.strip()]


def _split_python(source: str) -> Iterator[tuple[str, str]]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield "", source
        return
    lines = source.splitlines(keepends=True)
    begun, name = 0, ""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            start = min(node.lineno, *(each.lineno for each in node.decorator_list), node.lineno) - 1
            yield name, "".join(lines[begun:start])
            end = node.end_lineno or len(lines)
            yield node.name, "".join(lines[start:end])
            begun, name = end, ""
    yield name, "".join(lines[begun:])
