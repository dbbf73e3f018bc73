"""Store of a command."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore, open_store
from tactician.stores.address import store_path

STORE_VARIABLE: Final = "TACTICIAN_STORE"


def find_store(address: str | None) -> str | None:
    """Return the address of a store, by default that in tactician.toml, if any."""
    return address or load_settings().process.store


def require_store(address: str | None) -> str:
    """Return the address of an existing store.

    Raises:
        ConfigurationError: when no store is named, or its file does not exist.
    """
    if (store := find_store(address)) is None:
        raise ConfigurationError(
            f"No store is named: add --store FILE_OR_URL, or set {STORE_VARIABLE}, or `store` under [process] in "
            "tactician.toml."
        )
    path = store_path(store)
    if path is not None and not Path(path).exists():
        raise ConfigurationError(f"{path}: there is no such store. `tactician run FILE ... --store {path}` creates it.")
    return store


@asynccontextmanager
async def open_or_create(address: str | None) -> AsyncIterator[DocumentStore]:
    """Open the store at an address; without an address, one in memory.

    It is asked once, so that a server does not start with a store that nothing can be kept in.
    """
    if address is None:
        yield MemoryStore()
        return
    async with open_store(address) as store:
        await RunStore(store).load("")
        yield store


def format_store_option(address: str | None) -> str:
    """Return the option that names the store; empty when its address may hold a password."""
    return "" if address is None or "@" in address else f" --store {shlex.quote(address)}"
