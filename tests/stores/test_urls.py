"""Which URLs a store has, and what it says about others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tactician.stores
from tactician.errors import ConfigurationError, StoreError
from tactician.stores import SqliteProcessStore, SqlRunStore


@pytest.mark.parametrize(
    "url",
    [
        "",
        "runs.db",
        "http:///secret",
        "sqlserver://secret@host/x",
        "mysql+pymysql://secret@host/x",
        "postgresql+nothing://secret@host/x",
        "sqlite+pysqlite:///secret",
        "sqlite+pysqlcipher://:secret@/x",
    ],
)
def test_what_is_no_url_of_a_store_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="The URL of a store is one such as sqlite") as caught:
        SqlRunStore(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_sqlite_needs_a_file(url: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a file"):
        SqlRunStore(url)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"])
def test_a_store_shows_where_it_is_without_its_password(scheme: str) -> None:
    store = SqlRunStore(f"{scheme}://lynda:secret@host/runs?password=secret")
    driver = scheme if "+" in scheme else "postgresql+asyncpg"
    assert repr(store) == f"SqlRunStore('{driver}://lynda:***@host/runs')"
    assert repr(SqliteProcessStore("runs.db")) == "SqliteProcessStore('sqlite:///runs.db')"
    assert repr(SqlRunStore("sqlite+aiosqlite:///runs.db")) == "SqlRunStore('sqlite:///runs.db')"


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
async def test_a_server_that_is_not_there_is_named_without_the_password(driver: str) -> None:
    store = SqlRunStore(f"postgresql+{driver}://lynda:secret@127.0.0.1:1/runs")
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:1/runs.* does not answer") as caught:
        await store.load("r")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "url"),
    [("sqlalchemy", "sqlite:///x"), ("asyncpg", "postgresql://host/x")],
)
def test_what_is_not_installed_is_named_with_the_extras_that_bring_it(module: str, url: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from tactician.errors import MissingExtraError\n"
        "try:\n"
        "    from tactician.stores import SqlRunStore\n"
        f"    SqlRunStore({url!r})\n"
        "except MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"A store needs {module}, which is not installed. "
        'Run: pip install "tactician[sql]" for SQLite, "tactician[postgres]" for PostgreSQL\n'
    )


def test_a_file_needs_nothing_but_sqlalchemy(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "sys.modules.update(dict.fromkeys(('aiosqlite', 'asyncpg', 'greenlet')))\n"
        "from tactician.stores import SqliteProcessStore\n"
        f"store = SqliteProcessStore({str(tmp_path / 'runs.db')!r})\n"
        "print(asyncio.run(store.load('r')))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def test_the_package_loads_nothing_before_a_store_is_used() -> None:
    code = "import sys, tactician.stores; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match=r"tactician\.stores.*'Nothing'"):
        getattr(tactician.stores, "Nothing")  # noqa: B009
