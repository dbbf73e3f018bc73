"""Program that reads documents of others in a process of its own: `python -m tactician.rag.parser_program MEGABYTES`.

The libraries that read PDF, office files and web pages are large, and documents come from anywhere. What goes wrong in
here, whether a crash, an endless loop or a file that unpacks to terabytes, ends this process and nothing else.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from contextlib import suppress
from typing import Any, Final

from tactician.rag.child_program import forbid_files, limit_process, serve_requests
from tactician.rag.html_cleaning import clean_html

_MAX_UNPACKED: Final = 300_000_000
_MAX_MEMBERS: Final = 20_000
_MIN_READABLE: Final = 200
_FRONT_MATTER: Final = re.compile(r"\A---\n(?:[\w:.-]+: [^\n]*\n)*\n?(?:## [\w:.-]+: [^\n]*|---)\n")
_EMPTY_PAGE: Final = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n"
)


def main() -> None:
    """Answer requests until there are no more."""
    limit_process(int(sys.argv[1]))
    _unpack_library()
    forbid_files()
    serve_requests(_answer)


def _unpack_library() -> None:
    """Read an empty page: with its first PDF, kreuzberg writes a library to a file, once on a machine."""
    with suppress(Exception):  # a request tells what is wrong
        _read_document(_EMPTY_PAGE, "application/pdf")


def _answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    return _read_page(body) if request["kind"] == "page" else _read_document(body, request["media_type"])


def _read_document(body: bytes, media_type: str) -> dict[str, str]:
    from kreuzberg import ExtractionConfig, extract_bytes_sync

    if media_type == "text/html":
        return _read_html(*clean_html(body))
    _check_archive(body)
    config = ExtractionConfig(output_format="markdown", use_cache=False)
    result = extract_bytes_sync(body, media_type, config=config)
    return {"text": result.content, "title": _find_title(result.metadata)}


def _read_html(body: bytes, title: str) -> dict[str, str]:
    from kreuzberg import ExtractionConfig, extract_bytes_sync

    config = ExtractionConfig(output_format="markdown", use_cache=False)
    text = extract_bytes_sync(body, "text/html", config=config).content
    return {"text": _drop_front_matter(text), "title": title}


def _read_page(body: bytes) -> dict[str, str]:
    """Return the readable text of a web page; all of its text, where next to nothing seems readable."""
    import trafilatura

    cleaned, title = clean_html(body)
    whole = _read_html(cleaned, title)
    text = trafilatura.extract(cleaned, output_format="markdown", include_comments=False, favor_recall=True) or ""
    return {"text": text if len(text) >= _MIN_READABLE else whole["text"], "title": title}


def _check_archive(body: bytes) -> None:
    """Refuse an archive that says itself that it unpacks to far more than a document has."""
    if body[:4] != b"PK\3\4":
        return
    members = zipfile.ZipFile(io.BytesIO(body)).infolist()
    size = sum(member.file_size for member in members)
    if size > _MAX_UNPACKED or len(members) > _MAX_MEMBERS:
        raise ValueError(f"it unpacks to {size:,} bytes in {len(members):,} files, which is more than a document has")


def _drop_front_matter(text: str) -> str:
    """Return the text of a page without the properties that the library writes before it."""
    return _FRONT_MATTER.sub("", text, count=1)


def _find_title(metadata: Any) -> str:  # noqa: ANN401 - a dictionary of a library without types
    title = metadata.get("title") if isinstance(metadata, dict) else None
    return title if isinstance(title, str) else ""


if __name__ == "__main__":
    main()
