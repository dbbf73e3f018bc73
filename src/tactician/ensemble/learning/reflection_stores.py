"""Stores of reflections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

from pydantic import ValidationError

from tactician.ensemble.learning.dated_log import DatedLog, DatedText
from tactician.ensemble.learning.reflection import TaskReflection, reflection_adapter
from tactician.errors import ConfigurationError, StoredStateError
from tactician.stores import DocumentStore, MemoryStore, open_store
from tactician.stores.address import StoreAddress
from tactician.suggestions import suggest_options

_COLLECTION: Final = "task_reflections"
_MOST_KEPT: Final = 1_000
_KEPT_FAILURES: Final = 10
_FAILURE: Final = "failure"
_SUCCESS: Final = "notes"


@runtime_checkable
class ReflectionStore(Protocol):
    """Store of reflections, by the identities of tasks: `Task.identity`."""

    async def load(self, identity: str) -> Sequence[TaskReflection]:
        """Return the reflections on a task, newest first."""
        ...

    async def store(self, identity: str, reflection: TaskReflection) -> None:
        """Store a reflection, unless its id is stored already."""
        ...


class ReflectionLog(ReflectionStore):
    """Store of reflections in a document store, which several programs may share.

    Args:
        documents: the store.
        keep_last: number of reflections on a task that are kept, the newest ones. Of those that failed, 10 are kept
            beside them.

    Attributes:
        keep_last: as above.

    Raises:
        ConfigurationError: when `keep_last` is not between 1 and 1,000.
    """

    def __init__(self, documents: DocumentStore, keep_last: int) -> None:
        if not 0 < keep_last <= _MOST_KEPT:
            raise ConfigurationError(f"keep_last must be between 1 and {_MOST_KEPT}, got: {keep_last}")
        self._log = DatedLog(documents, _COLLECTION)
        self.keep_last = keep_last

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._log!r})"

    async def load(self, identity: str) -> list[TaskReflection]:
        """Return the reflections on a task, newest first.

        Raises:
            StoredStateError: when a reflection cannot be read.
        """
        return [_read(text) for text in await self._log.list_newest(identity, self.keep_last + _KEPT_FAILURES)]

    async def store(self, identity: str, reflection: TaskReflection) -> None:
        """Store a reflection, unless its id is stored already, and delete those that are not kept any more."""
        bounded = reflection.with_bounds()
        kind, kept = (_FAILURE, _KEPT_FAILURES) if bounded.failure else (_SUCCESS, self.keep_last)
        text = reflection_adapter().dump_json(bounded).decode()
        await self._log.add(identity, DatedText(bounded.id, bounded.created_at, text), kind=kind)
        await self._log.evict(identity, kept, kind=kind)

    async def clear(self, identity: str) -> None:
        """Delete the reflections on a task, as when its purpose has changed."""
        await self._log.clear(identity)

    async def aclose(self) -> None:
        """Close the store. It opens again when it is used."""
        await self._log.aclose()


@suggest_options
class InProcessReflections(ReflectionLog):
    """Store of reflections that ends with the program, for development and tests.

    Args:
        keep_last: number of reflections on a task that are kept.
    """

    def __init__(self, *, keep_last: int = 100) -> None:
        super().__init__(MemoryStore(), keep_last)


@suggest_options
class SqlReflections(ReflectionLog):
    """Store of reflections in a database.

    Args:
        address: path of an SQLite file, URL of a PostgreSQL database, or a `StoreVariable` with either.
        keep_last: number of reflections on a task that are kept.

    Attributes:
        address: as above.

    Raises:
        ConfigurationError: when the address is not valid.
        MissingExtraError: when the extra that the store needs is not installed.
    """

    def __init__(self, address: StoreAddress, *, keep_last: int = 100) -> None:
        self.address = address
        super().__init__(open_store(address), keep_last)


def _read(text: DatedText) -> TaskReflection:
    try:
        return reflection_adapter().validate_json(text.text)
    except ValidationError as error:
        raise StoredStateError(
            f"The reflection {text.id!r} cannot be read; clear the reflections of the task. {error}"
        ) from error
