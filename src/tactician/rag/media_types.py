"""Kinds of documents, by the endings of files and by media types."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from tactician.frozen import frozen


class MediaKind(StrEnum):
    """Kind of a document, which decides how it is read."""

    MARKDOWN = "markdown"
    TEXT = "text"
    CODE = "code"
    HTML = "html"
    PAGE = "page"
    """HTML from the web, of which only the readable text counts."""
    RST = "rst"
    """reStructuredText, whose headings are read by the parser of other formats."""
    OFFICE = "office"
    """PDF and the formats of office programs."""


@frozen
class MediaType:
    """Kind of a document with its media type. For source code, the media type is the language."""

    kind: MediaKind
    name: str


_OPEN_XML: Final = "application/vnd.openxmlformats-officedocument"
_OFFICE: Final = {
    "pdf": "application/pdf",
    "docx": f"{_OPEN_XML}.wordprocessingml.document",
    "pptx": f"{_OPEN_XML}.presentationml.presentation",
    "xlsx": f"{_OPEN_XML}.spreadsheetml.sheet",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "rtf": "application/rtf",
    "epub": "application/epub+zip",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
}
_LANGUAGES: Final = {
    **{name: name for name in ("c", "css", "go", "java", "php", "r", "sql", "swift", "toml", "xml", "json", "lua")},
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "mjs": "javascript",
    "jsx": "jsx",
    "ts": "typescript",
    "tsx": "tsx",
    "rs": "rust",
    "rb": "ruby",
    "cs": "csharp",
    "kt": "kotlin",
    "scala": "scala",
    "sh": "bash",
    "cc": "cpp",
    "cpp": "cpp",
    "h": "c",
    "hpp": "cpp",
    "yaml": "yaml",
    "yml": "yaml",
    "proto": "protobuf",
    "ex": "elixir",
    "exs": "elixir",
    "hs": "haskell",
    "jl": "julia",
    "ps1": "powershell",
    "vue": "vue",
}
_BY_ENDING: Final = {
    **{ending: MediaType(MediaKind.OFFICE, name) for ending, name in _OFFICE.items()},
    **{ending: MediaType(MediaKind.CODE, language) for ending, language in _LANGUAGES.items()},
    **dict.fromkeys(("md", "markdown", "mdx"), MediaType(MediaKind.MARKDOWN, "text/markdown")),
    **dict.fromkeys(("txt", "text", "log", "adoc", "org", "tex"), MediaType(MediaKind.TEXT, "text/plain")),
    "rst": MediaType(MediaKind.RST, "text/x-rst"),
    **dict.fromkeys(("html", "htm", "xhtml"), MediaType(MediaKind.HTML, "text/html")),
}
_BY_NAME: Final = {
    **{name: MediaType(MediaKind.OFFICE, name) for name in _OFFICE.values()},
    "text/html": MediaType(MediaKind.PAGE, "text/html"),
    "application/xhtml+xml": MediaType(MediaKind.PAGE, "text/html"),
    "text/markdown": MediaType(MediaKind.MARKDOWN, "text/markdown"),
    "text/x-markdown": MediaType(MediaKind.MARKDOWN, "text/markdown"),
    "text/x-rst": MediaType(MediaKind.RST, "text/x-rst"),
    "application/json": MediaType(MediaKind.CODE, "json"),
    "application/xml": MediaType(MediaKind.CODE, "xml"),
    "text/xml": MediaType(MediaKind.CODE, "xml"),
}
_ANY: Final = ("", "text/plain", "application/octet-stream", "binary/octet-stream")


def find_file_type(path: str) -> MediaType | None:
    """Return the type of a file by the ending of its name; `None` when nothing reads it."""
    return _BY_ENDING.get(PurePosixPath(path.replace("\\", "/")).suffix[1:].lower())


def find_web_type(media_type: str, url_path: str) -> MediaType | None:
    """Return the type of an answer of a web server; `None` when nothing reads it.

    Args:
        media_type: the media type that the server names.
        url_path: the path of the address, whose ending decides where the server is vague.
    """
    if (named_type := _BY_NAME.get(media_type)) is not None:
        return named_type
    by_ending = find_file_type(url_path) if media_type in _ANY else None
    if by_ending is not None and by_ending.kind is MediaKind.HTML:
        return _BY_NAME["text/html"]
    if by_ending is None and media_type.startswith("text/"):
        return MediaType(MediaKind.TEXT, media_type)
    return by_ending
