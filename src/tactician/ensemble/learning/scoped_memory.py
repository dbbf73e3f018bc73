"""Memories in scopes: entries that tasks of a run leave for tasks of later runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Final

from pydantic import TypeAdapter, ValidationError

from tactician.ensemble.learning.dated_log import DatedLog, DatedText
from tactician.ensemble.learning.meaning import Embedder, PackedVector, Query, embed_text
from tactician.ensemble.learning.scopes import Scope, ScopeEntry, check_scopes
from tactician.errors import ConfigurationError, ModelError, StoredStateError
from tactician.frozen import frozen
from tactician.loggers import get_logger
from tactician.runs import RunContext, report_retrieval
from tactician.stores import DocumentStore, MemoryStore, open_store
from tactician.stores.address import StoreAddress
from tactician.suggestions import did_you_mean, suggest_options

_SPARE: Final = 10
"""One further entry for so many may be in a scope, until all beyond its number are deleted at once."""
_COLLECTION: Final = "memory_scopes"
DEFAULT_RECALL: Final = 5
"""Number of entries that a task recalls from a scope."""
_logger = get_logger(__name__)


class Stock:
    """Entries of a scope, as they were last counted, with those that were written here since."""

    __slots__ = ("_number", "_oldest")

    def __init__(self) -> None:
        self._number: int | None = None
        self._oldest: datetime | None = None

    def count(self, times: Sequence[datetime]) -> None:
        """Note the times of all entries."""
        self._number, self._oldest = len(times), min(times, default=None)

    def add(self, at: datetime, keep_last: int, oldest: datetime | None) -> bool:
        """Note a further entry, and return whether there may be too many, or too old ones.

        Args:
            at: the time of the entry.
            keep_last: number of entries to keep.
            oldest: time before which no entry is kept.
        """
        if self._number is None:
            return True
        self._number += 1
        self._oldest = at if self._oldest is None else min(self._oldest, at)
        return self._number > keep_last + keep_last // _SPARE or (oldest is not None and self._oldest < oldest)


@frozen
class _StoredEntry:
    """Entry with the embedding of its content, if any."""

    entry: ScopeEntry
    vector: PackedVector | None = None


class ScopedMemory:
    """Memory in scopes, in a document store that several programs may share.

    Args:
        documents: the store.
        scopes: the scopes by name, with the retention of their entries.
        embedder: embedding model, or its name among the models of the run, by which entries are recalled; without a
            model, the newest are.

    Attributes:
        scopes, embedder: as above.

    Raises:
        ConfigurationError: when a scope is not valid.
    """

    def __init__(self, documents: DocumentStore, scopes: Mapping[str, Scope], embedder: Embedder | None = None) -> None:
        check_scopes(scopes)
        self.scopes: Mapping[str, Scope] = MappingProxyType(dict(scopes))
        self._log = DatedLog(documents, _COLLECTION)
        self._stocks: dict[str, Stock] = {}
        self.embedder = embedder

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._log!r}, {', '.join(self.scopes)})"

    async def add(self, scope: str, entry: ScopeEntry | str, *, context: RunContext | None = None) -> None:
        """Write an entry, and delete those that the scope does not keep any more.

        Of a large scope, those that are beyond its number are deleted many at a time; nobody reads them meanwhile.
        An embedding model that fails keeps nothing from being written: the entry is recalled after those that have an
        embedding.

        Args:
            scope: name of the scope.
            entry: the entry, or its text.
            context: context of the run, whose clock counts; the context of the running code by default.

        Raises:
            ConfigurationError: when there is no such scope.
            StoreError: when the store does not answer.
        """
        retention, run = self._find_scope(scope), context or RunContext.current()
        now = _read_clock(run)
        written = (ScopeEntry(entry, now) if isinstance(entry, str) else entry).with_bounds()
        stored = _StoredEntry(written, await self._embed(written.content, run))
        text = _adapter().dump_json(stored).decode()
        await self._log.add(scope, DatedText(written.id, written.created_at, text))
        stock, oldest = self._stocks.setdefault(scope, Stock()), retention.find_oldest(now)
        if stock.add(written.created_at, retention.keep_last, oldest):
            stock.count(await self._log.evict(scope, retention.keep_last, oldest=oldest))

    async def entries(self, scope: str) -> list[ScopeEntry]:
        """Return the entries of a scope, newest first.

        Inside a run, its clock says which are too old. Outside, those that no later entry has replaced are there too.

        Raises:
            ConfigurationError: when there is no such scope.
            StoredStateError: when an entry cannot be read.
        """
        return [stored.entry for stored in await self._load(scope, RunContext.find_current())]

    async def recall(
        self, scope: str, query: str, *, limit: int = DEFAULT_RECALL, context: RunContext | None = None
    ) -> list[ScopeEntry]:
        """Return the entries of a scope that are closest in meaning to a text; without an embedder, the newest ones.

        Args:
            scope: name of the scope.
            query: the text.
            limit: number of entries.
            context: context of the run, whose clock counts; the context of the running code by default.

        Raises:
            ConfigurationError: when there is no such scope.
            StoredStateError: when an entry cannot be read.
        """
        run = context or RunContext.current()
        return await report_retrieval(self._recall(scope, query, limit, run), scope, query, limit=limit, context=run)

    async def clear(self, scope: str) -> None:
        """Delete all entries of a scope."""
        self._find_scope(scope)
        await self._log.clear(scope)
        self._stocks.pop(scope, None)

    async def aclose(self) -> None:
        """Close the store. It opens again when it is used."""
        await self._log.aclose()

    async def _recall(self, scope: str, query: str, limit: int, run: RunContext) -> list[ScopeEntry]:
        embedding = await self._embed(query, run)
        if embedding is None:
            return [stored.entry for stored in await self._load(scope, run, limit)]
        meant, entries = Query(embedding.model, embedding.unpack()), await self._load(scope, run)
        entries.sort(key=lambda stored: meant.compare(stored.vector), reverse=True)  # equal ones stay newest first
        return [stored.entry for stored in entries[:limit]]

    async def _load(self, scope: str, run: RunContext | None, limit: int | None = None) -> list[_StoredEntry]:
        retention = self._find_scope(scope)
        oldest = None if run is None else retention.find_oldest(_read_clock(run))
        most = retention.keep_last if limit is None else min(limit, retention.keep_last)
        return [_read_entry(scope, text) for text in await self._log.list_newest(scope, most, oldest=oldest)]

    async def _embed(self, text: str, run: RunContext) -> PackedVector | None:
        if self.embedder is None or not text.strip():
            return None
        try:
            return await embed_text(self.embedder, text, run)
        except ModelError:
            _logger.warning("%s: a text has no embedding, and counts by its age", "/".join(run.path), exc_info=True)
            return None

    def _find_scope(self, name: str) -> Scope:
        if (scope := self.scopes.get(name)) is not None:
            return scope
        raise ConfigurationError(f"The memory has no scope {name!r}.{did_you_mean(name, self.scopes)}")


@suggest_options
class InProcessMemory(ScopedMemory):
    """Memory in scopes that ends with the program, for development and tests.

    Args:
        scopes, embedder: as of a `ScopedMemory`.
    """

    def __init__(self, scopes: Mapping[str, Scope], *, embedder: Embedder | None = None) -> None:
        super().__init__(MemoryStore(), scopes, embedder)


@suggest_options
class SqlMemory(ScopedMemory):
    """Memory in scopes in a database.

    Args:
        address: path of an SQLite file, URL of a PostgreSQL database, or a `StoreVariable` with either.
        scopes, embedder: as of a `ScopedMemory`.

    Attributes:
        address: as above.

    Raises:
        ConfigurationError: when the address or a scope is not valid.
        MissingExtraError: when the extra that the store needs is not installed.
    """

    def __init__(self, address: StoreAddress, scopes: Mapping[str, Scope], *, embedder: Embedder | None = None) -> None:
        self.address = address
        super().__init__(open_store(address), scopes, embedder)


def _read_entry(scope: str, text: DatedText) -> _StoredEntry:
    try:
        return _adapter().validate_json(text.text)
    except ValidationError as error:
        problem = f"The entry {text.id!r} of the memory scope {scope!r} cannot be read; clear the scope. {error}"
        raise StoredStateError(problem) from error


def _read_clock(run: RunContext) -> datetime:
    return datetime.fromtimestamp(run.clock.time(), UTC)


@cache
def _adapter() -> TypeAdapter[_StoredEntry]:
    return TypeAdapter(_StoredEntry)
