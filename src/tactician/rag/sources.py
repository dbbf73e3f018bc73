"""Files, folders and web pages that are ingested."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Final
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from tactician.clock import Clock
from tactician.errors import ToolError
from tactician.frozen import frozen
from tactician.rag.errors import UnreadableDocumentError
from tactician.rag.media_types import MediaType, find_file_type, find_web_type
from tactician.runs.context.threads import in_thread
from tactician.tools.builtin.web_client import WebLimits, WebRequest, send_request

MAX_FILES: Final = 100_000
_SKIPPED: Final = {"__pycache__", "node_modules"}


@frozen
class FetchedContent:
    """Content of a document, with its type."""

    body: bytes
    media: MediaType


@frozen
class DocumentSource:
    """Place of a document: a file, or an address in the web.

    Attributes:
        uri: the address, by which the library knows the document.
        path: the file; `None` for an address in the web.
    """

    uri: str
    path: Path | None = None

    async def fetch(self, limits: WebLimits, clock: Clock) -> FetchedContent:
        """Return the content.

        Args:
            limits: limits of the size, and of requests.
            clock: the time.

        Raises:
            UnreadableDocumentError: when it cannot be had, is too large, or is of a type that nothing reads.
        """
        if self.path is not None:
            return await in_thread(read_file, self.path, limits.max_bytes)
        return await _fetch_page(self.uri, limits, clock)


@frozen
class SourceProblem:
    """Place where no document was found, and why."""

    uri: str
    reason: str


def find_sources(location: str | Path) -> Iterator[DocumentSource | SourceProblem]:
    """Yield the documents at a place: a file, all files in a folder that can be read, or a web page.

    Files and folders whose names begin with a dot are left out, as are links that lead out of the folder.
    """
    if isinstance(location, str) and urlsplit(location).scheme in ("http", "https"):
        yield DocumentSource(location)
        return
    path = _find_path(location)
    if path is None:
        yield SourceProblem(str(location), "this is neither a path nor an address with http:// or https://")
    elif path.is_dir():
        yield from _walk(path.resolve())
    elif path.exists():
        yield DocumentSource(path.resolve().as_uri(), path)
    else:
        yield SourceProblem(str(location), "there is no such file or folder")


def find_folder(location: str | Path) -> Path | None:
    """Return the folder at a place; `None` when something else is there."""
    is_page = isinstance(location, str) and urlsplit(location).scheme in ("http", "https")
    path = None if is_page else _find_path(location)
    return path.resolve() if path is not None and path.is_dir() else None


def _find_path(location: str | Path) -> Path | None:
    if isinstance(location, Path):
        return location.expanduser()
    scheme = urlsplit(location).scheme
    if scheme == "file":
        return Path(url2pathname(urlsplit(location).path))
    has_scheme = len(scheme) > 1 and location[len(scheme) :].startswith("://")
    return None if has_scheme or not location else Path(location).expanduser()


def _walk(folder: Path) -> Iterator[DocumentSource | SourceProblem]:
    count = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(files):
            path = Path(parent, name)
            if name.startswith(".") or find_file_type(name) is None or not path.resolve().is_relative_to(folder):
                continue
            if (count := count + 1) > MAX_FILES:
                yield SourceProblem(folder.as_uri(), f"only the first {MAX_FILES:,} files were read")
                return
            yield DocumentSource(path.as_uri(), path)


def read_file(path: Path, max_bytes: int) -> FetchedContent:
    """Return the content of a file.

    Raises:
        UnreadableDocumentError: when it cannot be read, is too large, or is of a type that nothing reads.
    """
    if (media := find_file_type(path.name)) is None:
        raise UnreadableDocumentError(f"files with the ending {path.suffix or '(none)'!r} are not read")
    try:
        # Opening a pipe must not wait for somebody who writes to it.
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not S_ISREG(status.st_mode):
                raise UnreadableDocumentError("this is not a file")
            # Not more than that is read, should the file grow meanwhile.
            body = b"" if status.st_size > max_bytes else file.read(max_bytes + 1)
    except OSError as error:
        raise UnreadableDocumentError(error.strerror or str(error)) from error
    if status.st_size > max_bytes or len(body) > max_bytes:
        raise UnreadableDocumentError(f"it has {status.st_size:,} bytes, and at most {max_bytes:,} are read")
    return FetchedContent(body, media)


async def _fetch_page(url: str, limits: WebLimits, clock: Clock) -> FetchedContent:
    try:
        answer = await send_request(WebRequest(url), limits, clock)
    except ToolError as error:
        raise UnreadableDocumentError(str(error)) from error
    if answer.status >= 400:
        raise UnreadableDocumentError(f"the server answered with status {answer.status}")
    if answer.is_cut:
        raise UnreadableDocumentError(f"it has more than the {limits.max_bytes:,} bytes that are read")
    if (media := find_web_type(answer.media_type, unquote(urlsplit(answer.url).path))) is None:
        raise UnreadableDocumentError(f"content of the type {answer.media_type!r} is not read")
    return FetchedContent(answer.body, media)
