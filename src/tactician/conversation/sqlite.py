"""Conversations in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from tactician.conversation.conversation import Conversation
from tactician.conversation.store import conflict
from tactician.errors import ConfigurationError, StoredStateError

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")
_TABLE = """
CREATE TABLE IF NOT EXISTS conversations (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, state TEXT NOT NULL
)
"""
_SELECT = "SELECT version, CAST(state AS BLOB) FROM conversations WHERE id = ?"
_BUSY_SECONDS = 30.0


class SqliteConversations:
    """Keeps conversations in an SQLite file, which several processes may use at the same time.

    The work is done in a thread of its own, one thing after another: the event loop never waits for the disk.
    Use it as `async with`, or `close` it in the end.
    """

    def __init__(self, path: str | Path) -> None:
        """A store in the file, which is made on first use."""
        self._path = Path(path)
        self._database: sqlite3.Connection | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tactician-conversations")

    async def __aenter__(self) -> SqliteConversations:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def create(self, id: str | None = None) -> Conversation:
        """A new, empty conversation, which is kept.

        Raises:
            ConversationConflictError: when there is one with this id.
        """
        conversation = Conversation(id=id)
        await self.save(conversation)
        return conversation

    async def load(self, id: str) -> Conversation | None:
        """The conversation with this id; `None` when there is none.

        Raises:
            StoredStateError: when what is kept cannot be read.
        """
        row = await self._work(lambda database: database.execute(_SELECT, (id,)).fetchone())
        return None if row is None else _read(id, *row)

    async def save(self, conversation: Conversation) -> None:
        """Keeps a conversation as it is now, and notes its new version in it.

        Raises:
            ConversationConflictError: when somebody else has changed or deleted it since it was loaded.
        """
        key, state = conversation.id, conversation.to_json()

        def write(database: sqlite3.Connection) -> None:
            # Its version is read here: a save that was begun before may have raised it meanwhile.
            version = conversation.version
            if not (_replace(database, key, version, state) if version else _add(database, key, state)):
                raise conflict(key, version)
            conversation.version = version + 1

        await self._work(write)

    async def delete(self, id: str) -> bool:
        """Deletes a conversation; whether there was one."""
        return await self._work(
            lambda database: database.execute("DELETE FROM conversations WHERE id = ?", (id,)).rowcount > 0
        )

    async def ids(self) -> tuple[str, ...]:
        """The ids of all conversations, in the order in which they were made."""
        rows = await self._work(
            lambda database: database.execute("SELECT id FROM conversations ORDER BY number").fetchall()
        )
        return tuple(str(row[0]) for row in rows)

    async def close(self) -> None:
        """Finishes what was begun, and lets the file go."""

        def release() -> None:
            if self._database is not None:
                self._database.close()
                self._database = None

        await asyncio.wrap_future(self._worker.submit(release))
        self._worker.shutdown(wait=False)

    async def _work(self, action: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.wrap_future(self._worker.submit(self._do, action))

    def _do(self, action: Callable[[sqlite3.Connection], T]) -> T:
        import sqlite3

        if self._database is None:
            self._database = _open(self._path)
        try:
            return action(self._database)
        except sqlite3.Error as error:
            raise StoredStateError(f"{self._path}: the conversations cannot be read or written: {error}") from error


def _open(path: Path) -> sqlite3.Connection:
    import sqlite3

    database = None
    try:
        database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(_TABLE)
    except sqlite3.Error as error:
        if database is not None:
            database.close()
        raise ConfigurationError(f"{path}: conversations cannot be kept in this file: {error}") from error
    return database


def _add(database: sqlite3.Connection, id: str, state: str) -> bool:
    added = "INSERT INTO conversations (id, version, state) VALUES (?, 1, ?) ON CONFLICT DO NOTHING"
    return database.execute(added, (id, state)).rowcount > 0


def _replace(database: sqlite3.Connection, id: str, version: int, state: str) -> bool:
    changed = "UPDATE conversations SET version = ?, state = ? WHERE id = ? AND version = ?"
    return database.execute(changed, (version + 1, state, id, version)).rowcount > 0


def _read(id: str, version: object, state: object) -> Conversation:
    if not isinstance(version, int) or version < 1 or not isinstance(state, bytes):
        raise StoredStateError(f"The conversation {id} cannot be read: its row is damaged; delete it, or restore it.")
    try:
        conversation = Conversation.from_json(state)
    except StoredStateError as error:
        raise StoredStateError(f"The conversation {id} cannot be read; delete it, or restore it. {error}") from error
    if conversation.id != id:
        raise StoredStateError(f"The conversation {id} cannot be read: what is kept is that of {conversation.id}.")
    conversation.version = version
    return conversation
