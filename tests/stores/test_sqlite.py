"""The store in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tactician.errors import ConfigurationError, StoreError
from tactician.stores import SqliteProcessStore, SqlRunStore
from tests.stores.conformance import record
from tests.stores.shared import SharedStoreConformance


class TestSqlite(SharedStoreConformance):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/runs.db"


async def test_the_name_of_a_file_may_be_any(tmp_path: Path) -> None:
    path = tmp_path / "a run?x=1#%20:@.db"
    store = SqliteProcessStore(path)
    await store.save(record())
    await store.aclose()

    assert os.listdir(tmp_path) == [path.name]  # noqa: PTH208 - its other form is refused where this is asynchronous
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("SELECT version FROM tactician_schema").fetchall() == [(1,)]


async def test_tables_of_another_version_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = SqliteProcessStore(path)
    await store.save(record())
    await store.aclose()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE tactician_schema SET version = 2")

    for _ in range(2):
        with pytest.raises(ConfigurationError, match="have version 2, and this Tactician knows 1"):
            await store.load("r")

    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE tactician_schema SET version = 1")
    assert await store.load("r") is not None
    await store.aclose()


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Lynda, " * 100)
    store = SqliteProcessStore(path)

    with pytest.raises(StoreError, match=r"letter\.txt.*file is not a database"):
        await store.save(record())
    await store.aclose()

    assert path.read_text() == "Dear Lynda, " * 100


async def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    store = SqliteProcessStore(tmp_path / "nowhere" / "runs.db")
    with pytest.raises(ConfigurationError, match=r"nowhere/runs\.db: .* there is no folder .*nowhere"):
        await store.load("r")


async def test_a_file_that_may_only_be_read_is_named(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        database.execute("CREATE TABLE letters (text TEXT)")
    store = SqlRunStore(f"sqlite:///file:{tmp_path}/runs.db?mode=ro&uri=true")
    with pytest.raises(StoreError, match=r"runs\.db.*readonly database"):
        await store.load("r")


async def test_a_folder_in_the_place_of_the_log_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "runs.db-wal").mkdir()
    with pytest.raises(StoreError, match=r"runs\.db.*disk I/O error"):
        await SqliteProcessStore(tmp_path / "runs.db").load("r")
