"""Which addresses a store has, and what is said about others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tactician.stores
from tactician.errors import ConfigurationError, StoreError
from tactician.stores import PostgresStore, SqliteStore, open_store
from tactician.stores.address import store_path


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("runs.db", "runs.db"),
        (Path("here/runs.db"), "here/runs.db"),
        (Path("sqlite:///runs.db"), str(Path("sqlite:///runs.db"))),
        ("C:\\runs.db", "C:\\runs.db"),
        ("sqlite:///runs.db", "runs.db"),
        ("sqlite+aiosqlite:////tmp/runs.db", "/tmp/runs.db"),
        ("postgresql://host/runs", None),
        ("postgres://host/runs", None),
        ("postgresql+psycopg://host/runs", None),
    ],
)
def test_a_store_is_a_file_or_a_postgresql_database(address: str | Path, path: str | None) -> None:
    assert store_path(address) == path
    store = open_store(address)
    assert isinstance(store, PostgresStore if path is None else SqliteStore)
    assert path is None or repr(store) == f"SqliteStore({path!r})"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http:///secret", "'http' is not a kind of store. Possible addresses: runs.db, sqlite:///runs.db"),
        ("sqlserver://secret@host/x", "'sqlserver' is not a kind of store"),
        ("mysql+pymysql://secret@host/x", "'mysql+pymysql' is not a kind of store"),
        (
            "postgresq://secret@host/x",
            "'postgresq' is not a kind of store. Did you mean 'postgresql'? Possible addresses",
        ),
        ("sqllite:///secret", "'sqllite' is not a kind of store. Did you mean 'sqlite'? Possible addresses"),
        ("sqlite+pysqlite:///secret", "'sqlite+pysqlite' is not a kind of store"),
        ("sqlite+pysqlcipher://:secret@/x", "'sqlite+pysqlcipher' is not a kind of store"),
        (
            "sqlite:/secret",
            "The URL of an SQLite store needs a file after three slashes, and no options: sqlite:///runs.db",
        ),
        ("sqlite://secret", "needs a file after three slashes"),
        ("sqlite:///secret?timeout=3", "needs a file after three slashes, and no options: sqlite:///runs.db"),
        ("postgresql+nothing://secret@host/x", "looks like postgresql://user:password@host:5432/database"),
        ("postgresql:/secret", "looks like postgresql://user:password@host:5432/database"),
        ("postgresql://secret@host:port/x", "looks like postgresql://user:password@host:5432/database"),
        ("postgresql://secret@[::1/x", "looks like postgresql://user:password@host:5432/database"),
        ("postgresql+psycopg2://secret@host/x", "looks like postgresql://user:password@host:5432/database"),
    ],
)
def test_what_is_no_address_of_a_store_is_said_and_not_repeated(address: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_store(address)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "sqlalche" not in str(caught.value)


@pytest.mark.parametrize("address", ["", "sqlite:", "sqlite://", "sqlite:///", ":memory:", "sqlite:///:memory:"])
def test_sqlite_needs_a_file(address: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a file"):
        open_store(address)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"])
def test_a_store_shows_where_it_is_without_its_password(scheme: str) -> None:
    store = PostgresStore(f"{scheme}://lynda:secret@host/runs?password=secret")
    driver = scheme if "+" in scheme else "postgresql+asyncpg"
    assert repr(store) == f"PostgresStore('{driver}://lynda:***@host/runs')"


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
async def test_a_server_that_is_not_there_is_named_without_the_password(driver: str) -> None:
    store = PostgresStore(f"postgresql+{driver}://lynda:secret@127.0.0.1:1/runs")
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:1/runs.* does not answer") as caught:
        await store.load("docs", "d")
    assert "secret" not in str(caught.value)


async def test_an_option_that_the_driver_does_not_have_is_named() -> None:
    store = open_store("postgresql://lynda:secret@127.0.0.1:1/runs?sslmod=require")
    with pytest.raises(ConfigurationError, match=r"The URL of the store has an unknown option: .*'sslmod'"):
        await store.load("docs", "d")


async def test_an_option_that_is_common_is_known() -> None:
    with pytest.raises(StoreError, match="does not answer"):
        await open_store("postgresql://127.0.0.1:1/runs?sslmode=require").load("docs", "d")


MISSING = [
    ("sqlalchemy", "runs.db", "sql"),
    ("sqlalchemy", "postgresql://host/x", "postgres"),
    ("asyncpg", "postgresql://host/x", "postgres"),
    ("greenlet", "postgresql://host/x", "postgres"),
]


@pytest.mark.parametrize(("module", "address", "extra"), MISSING)
@pytest.mark.parametrize(
    "opening", ["from tactician.stores import open_store as opened", "from tactician.stores import {kind} as opened"]
)
def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(
    module: str, address: str, extra: str, opening: str
) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from tactician.errors import MissingExtraError\n"
        "try:\n"
        f"    {opening.format(kind='SqliteStore' if extra == 'sql' else 'PostgresStore')}\n"
        f"    opened({address!r})\n"
        "except MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        f'A store needs {module}, which is not installed. In your clone of Tactician, run: pip install ".[{extra}]"\n'
    )


@pytest.mark.parametrize(("module", "address", "extra"), MISSING[1:])
def test_the_command_line_names_it_too(module: str, address: str, extra: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from tactician.cli import main; main()"
    command = [sys.executable, "-W", "error", "-c", code, "ps", "--store", address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: A store needs {module}, which is not installed. "
        f'In your clone of Tactician, run: pip install ".[{extra}]"\n'
    )


def test_a_file_needs_nothing_but_sqlalchemy(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "sys.modules.update(dict.fromkeys(('aiosqlite', 'asyncpg', 'greenlet')))\n"
        "from tactician.stores import SqliteStore\n"
        f"store = SqliteStore({str(tmp_path / 'runs.db')!r})\n"
        "print(asyncio.run(store.load('docs', 'd')))"
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
