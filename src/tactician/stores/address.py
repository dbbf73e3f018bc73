"""Addresses of stores: paths of files, and URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, TypeAlias

from tactician.environment import read_environment
from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.frozen import frozen
from tactician.stores.document_store import DocumentStore
from tactician.suggestions import did_you_mean

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9.+-]+):(.*)", re.DOTALL)  # a single letter is a drive of Windows
_SQLITE: Final = ("sqlite", "sqlite+aiosqlite")
_POSTGRES: Final = ("postgresql", "postgres")
_EXAMPLES: Final = "runs.db, sqlite:///runs.db, postgresql://user:password@host/database"


@frozen
class StoreVariable:
    """Environment variable with the address of a store, which may hold a password.

    Attributes:
        name: the name of the variable.
        environment: the environment; the environment of this process, when `None`.
    """

    name: str
    environment: Mapping[str, str] | None = field(default=None, repr=False, compare=False)

    def read(self) -> str:
        """Return the address.

        Raises:
            ConfigurationError: when the variable is not set.
        """
        if not (address := read_environment(self.environment).get(self.name, "").strip()):
            raise ConfigurationError(f"{self.name} is not set: it has the address of a store. Examples: {_EXAMPLES}")
        return address


StoreAddress: TypeAlias = str | Path | StoreVariable
"""Path of an SQLite file, URL of an SQLite file or a PostgreSQL database, or the variable with either."""


def open_store(address: StoreAddress) -> DocumentStore:
    """Return the store at an address.

    Raises:
        ConfigurationError: when the address is not valid.
        MissingExtraError: when the extra that the store needs is not installed.
    """
    if isinstance(address, StoreVariable):
        address = address.read()
    if (path := store_path(address)) is not None:
        with require_extra("sql", "A store needs"):
            from tactician.stores.sqlite import SqliteStore

        return SqliteStore(path)
    with require_extra("postgres", "A store needs"):
        from tactician.stores.postgres import PostgresStore

    return PostgresStore(str(address))


def store_path(address: str | Path) -> str | None:
    """Return the path of the SQLite file at an address, or `None` for a PostgreSQL database.

    Raises:
        ConfigurationError: when the address is neither.
    """
    matched = _SCHEME.fullmatch(str(address)) if isinstance(address, str) else None
    if matched is None:
        return str(address)
    scheme, rest = matched.groups()
    if scheme.partition("+")[0] in _POSTGRES:
        return None
    if scheme not in _SQLITE:
        hint = did_you_mean(scheme, ("sqlite", "postgresql"))
        raise ConfigurationError(f"{scheme!r} is not a kind of store.{hint} Possible addresses: {_EXAMPLES}")
    path = rest.removeprefix("///")
    if path == rest or ("?" in path and not path.startswith("file:")):
        raise ConfigurationError(
            "The URL of an SQLite store needs a file after three slashes, and no options: sqlite:///runs.db"
        )
    return path
