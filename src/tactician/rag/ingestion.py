"""Ingestion: what is at a place becomes documents of a library, once, and again when it has changed."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tactician.clock import SYSTEM_CLOCK
from tactician.frozen import frozen
from tactician.rag.chunk_store import ChunkStore
from tactician.rag.chunking import Chunking
from tactician.rag.deadlines import limit_time
from tactician.rag.elements import ContentRoot, Metadata
from tactician.rag.errors import UnreadableDocumentError
from tactician.rag.parser_process import DEFAULT_LIMITS, ParserLimits, ParserProcess
from tactician.rag.readers import read_document
from tactician.rag.sources import DocumentSource, FetchedContent, SourceProblem, find_folder, find_sources
from tactician.runs.context.threads import in_thread
from tactician.tools.builtin.web_client import WebLimits

T = TypeVar("T")
AT_ONCE: Final = 8
"""Pages that are fetched at the same time, or wait for their turn. That bounds the memory that they take."""
_READER_VERSION: Final = 2
"""Version of the readers: with another one, documents are read again."""


class Downloads(Generic[T]):
    """Pages that are fetched a few at once, and are given out in their order.

    Args:
        sources: the pages.
        fetch: function that fetches a page.
    """

    def __init__(
        self, sources: Iterable[DocumentSource], fetch: Callable[[DocumentSource], Coroutine[object, object, T]]
    ) -> None:
        self._waiting = deque(sources)
        self._fetch = fetch
        self._tasks: deque[asyncio.Task[T]] = deque()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def take_next(self) -> T:
        """Return the next page, or raise the error that its fetching ended with."""
        while self._waiting and len(self._tasks) < AT_ONCE:
            self._tasks.append(asyncio.create_task(self._fetch(self._waiting.popleft())))
        try:
            return await self._tasks[0]
        finally:
            self._tasks.popleft().cancel()


def find_deleted(folder: Path, uris: Iterable[str]) -> list[str]:
    """Return the addresses of files that are no longer in a folder, or in the folders inside it.

    A file that cannot be looked at, because a folder around it cannot, is not gone.
    """
    return [uri for uri in uris if is_inside(folder, uri) and _is_gone(Path(url2pathname(urlsplit(uri).path)))]


def is_inside(folder: Path, uri: str) -> bool:
    """Return whether an address leads to a file in a folder, or in a folder inside it."""
    return uri.startswith(folder.as_uri().rstrip("/") + "/")


def _is_gone(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


class RefreshPolicy(StrEnum):
    """Rule for documents that the library already has."""

    CHANGED = "changed"
    """Fetch them, and read those whose content has changed. Remove those whose files are gone from a folder."""
    NEVER = "never"
    """Leave them as they are, and do not fetch them."""
    ALWAYS = "always"
    """Read them all again. Remove those whose files are gone from a folder."""


@frozen(kw_only=True)
class IngestionOptions:
    """Options of an ingestion.

    Attributes:
        metadata: facts about all the documents, for filters.
        policy: the rule for documents that the library already has.
        limits: limits of what a document may take.
        allow_private: true to fetch pages of this machine and of private networks.
    """

    metadata: Metadata = field(default_factory=dict)
    policy: RefreshPolicy = RefreshPolicy.CHANGED
    limits: ParserLimits = DEFAULT_LIMITS
    allow_private: bool = False

    @property
    def web_limits(self) -> WebLimits:
        """The limits of requests."""
        return WebLimits(self.allow_private, self.limits.seconds, self.limits.max_bytes)


@frozen
class IngestionFailure:
    """Document that was not ingested, and why."""

    uri: str
    reason: str

    def __str__(self) -> str:
        return f"{self.uri}: {self.reason}"


@frozen
class IngestionReport:
    """Result of an ingestion: the addresses of the documents, and the number of new chunks."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failures: tuple[IngestionFailure, ...] = ()
    chunks: int = 0


@frozen
class IngestionProgress:
    """Progress of an ingestion: documents that are done, of all, and the address of the next."""

    done: int
    total: int
    uri: str


ProgressListener: TypeAlias = Callable[[IngestionProgress], object]


class IngestionTarget(Protocol):
    """Library that documents are added to."""

    store: ChunkStore
    chunking: Chunking

    async def add(self, root: ContentRoot, *, fingerprint: str = "") -> int:
        """Add a document, or replace the document at its address, and return the number of its chunks."""
        ...


class _News(NamedTuple):
    """Content of a document that is new or has changed."""

    content: FetchedContent
    fingerprint: str
    is_known: bool


class Ingestion:
    """Ingestion of documents into a library. A document that cannot be read does not stop the others.

    Args:
        target: the library.
        options: the options.
        listener: function that is called with the progress.
    """

    def __init__(
        self, target: IngestionTarget, options: IngestionOptions, listener: ProgressListener | None = None
    ) -> None:
        self._target = target
        self._options = options
        self._listener = listener
        self._added: list[str] = []
        self._updated: list[str] = []
        self._unchanged: list[str] = []
        self._removed: list[str] = []
        self._failures: list[IngestionFailure] = []
        self._chunks = 0

    async def run(self, locations: Sequence[str | Path]) -> IngestionReport:
        """Ingest all documents at some places, and return a report."""
        sources = await in_thread(lambda: [source for place in locations for source in find_sources(place)])
        pages = (source for source in sources if isinstance(source, DocumentSource) and source.path is None)
        async with ParserProcess(self._options.limits) as parser, Downloads(pages, self._fetch) as downloads:
            for done, source in enumerate(sources):
                self._report(IngestionProgress(done, len(sources), source.uri))
                await self._ingest(source, parser, downloads)
        if self._options.policy is not RefreshPolicy.NEVER:
            await self._remove_deleted(await in_thread(_list_folders, locations), {source.uri for source in sources})
        self._report(IngestionProgress(len(sources), len(sources), ""))
        return IngestionReport(
            added=tuple(self._added),
            updated=tuple(self._updated),
            unchanged=tuple(self._unchanged),
            removed=tuple(self._removed),
            failures=tuple(self._failures),
            chunks=self._chunks,
        )

    def _report(self, progress: IngestionProgress) -> None:
        if self._listener is not None:
            self._listener(progress)

    async def _ingest(
        self, source: DocumentSource | SourceProblem, parser: ParserProcess, downloads: Downloads[_News | None]
    ) -> None:
        if isinstance(source, SourceProblem):
            self._failures.append(IngestionFailure(source.uri, source.reason))
            return
        try:
            news = await (downloads.take_next() if source.path is None else self._fetch(source))
            if news is None:
                self._unchanged.append(source.uri)
            else:
                await self._add(source.uri, news, parser)
        except UnreadableDocumentError as error:
            self._failures.append(IngestionFailure(source.uri, str(error)))

    async def _fetch(self, source: DocumentSource) -> _News | None:
        """Return the content of a document that the library has to read; `None` when it has read it."""
        options, stored_document = self._options, await self._target.store.find_document(source.uri)
        if stored_document is not None and options.policy is RefreshPolicy.NEVER:
            return None
        content = await source.fetch(options.web_limits, SYSTEM_CLOCK)
        fingerprint = self._hash(content.body, content.media.name)
        is_same = stored_document is not None and stored_document.fingerprint == fingerprint
        if is_same and options.policy is RefreshPolicy.CHANGED:
            return None
        return _News(content, fingerprint, is_known=stored_document is not None)

    async def _add(self, uri: str, news: _News, parser: ParserProcess) -> None:
        content = news.content
        with limit_time(self._options.limits.seconds):
            root = await read_document(content.body, content.media, uri, self._options.metadata, parser)
            self._chunks += await self._target.add(root, fingerprint=news.fingerprint)
        (self._updated if news.is_known else self._added).append(uri)

    async def _remove_deleted(self, folders: Sequence[Path], uris: Collection[str]) -> None:
        """Remove the documents whose files are gone from folders."""
        if not folders:
            return
        stored_uris = [record.uri for record in await self._target.store.list_documents() if record.uri not in uris]
        for folder in folders:
            gone = await in_thread(find_deleted, folder, stored_uris)
            if gone and not any(is_inside(folder, uri) for uri in uris):
                # A drive that is not mounted looks like this too.
                reason = f"it has no documents now; {len(gone)} of the library are kept"
                self._failures.append(IngestionFailure(folder.as_uri(), reason))
                continue
            for uri in gone:
                if await self._target.store.remove(uri):
                    self._removed.append(uri)

    def _hash(self, body: bytes, media_type: str) -> str:
        """Return the hash of all that the chunks of a document depend on."""
        settings = [_READER_VERSION, media_type, repr(self._target.chunking), dict(self._options.metadata)]
        return sha256(json.dumps(settings, sort_keys=True, default=list).encode() + b"\n" + body).hexdigest()


def _list_folders(locations: Sequence[str | Path]) -> list[Path]:
    return [folder for place in locations if (folder := find_folder(place)) is not None]
