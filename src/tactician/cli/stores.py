"""The store that a command works with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tactician.config import load_settings
from tactician.errors import ConfigurationError
from tactician.runs import RunStore

STORE_VARIABLE: Final = "TACTICIAN_STORE"
_SQLITE = ("sqlite:///", "sqlite+aiosqlite:///")


def named_store(url: str | None) -> str | None:
    """The address of the store: the given one, else that of tactician.toml, if there is one."""
    return url or load_settings().process.store


def needed_store(url: str | None) -> str:
    """The address of a store that has to be there already.

    Raises:
        ConfigurationError: when none is named, or its file does not exist.
    """
    named = named_store(url)
    if named is None:
        raise ConfigurationError(
            f"No store is named: add --store FILE_OR_URL, or set {STORE_VARIABLE}, or `store` under [process] in "
            "tactician.toml."
        )
    file = _file_of(named)
    if file is not None and not file.exists():
        raise ConfigurationError(f"{file}: there is no such store. `tactician run FILE ... --store {file}` makes one.")
    return named


def store_for(url: str) -> RunStore:
    """The store at an address: the path of a SQLite file, or the URL of a database."""
    from tactician.stores import SqliteProcessStore, SqlRunStore

    return SqlRunStore(url) if "://" in url else SqliteProcessStore(url)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[RunStore]:
    """The store at an address, for a while."""
    store = store_for(url)
    try:
        yield store
    finally:
        await store.aclose()


def store_option(url: str | None) -> str:
    """The option that names the store again; nothing of it is shown when it may hold a password."""
    return "" if url is None or "@" in url else f" --store {url}"


def _file_of(url: str) -> Path | None:
    """The file of a SQLite store."""
    if "://" not in url:
        return Path(url)
    beginning = next((one for one in _SQLITE if url.startswith(one)), None)
    return None if beginning is None else Path(url.removeprefix(beginning).partition("?")[0])
