"""The store in an SQLite file."""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Set
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from time import monotonic, sleep
from typing import TypeVar

import pytest

from tactician.conversation import Conversation, ConversationStore
from tactician.errors import ConfigurationError, DocumentConflictError, StoredStateError, StoreError
from tactician.stores import SqliteStore, open_store
from tactician.stores.document import StoredDocument, StoredStep
from tactician.stores.sqlite_listing import list_documents
from tests.stores.attachments import AttachmentConformance, CountAttachments
from tests.stores.conformance import HOUR, document
from tests.stores.shared import SharedStoreConformance

T = TypeVar("T")


class TestSqlite(SharedStoreConformance, AttachmentConformance):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/runs.db"

    @pytest.fixture
    def count_attachments(self, tmp_path: Path) -> CountAttachments:
        async def count() -> int:
            with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
                (found,) = database.execute("SELECT count(*) FROM tactician_attachments").fetchone()
                return int(found)

        return count


async def test_the_name_of_a_file_may_be_any(tmp_path: Path) -> None:
    path = tmp_path / "a run?x=1#%20:@.db"
    async with SqliteStore(path) as store:
        await store.save(document())

    assert os.listdir(tmp_path) == [path.name]  # noqa: PTH208 - its other form is refused where this is asynchronous
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("SELECT version FROM tactician_schema").fetchall() == [(4,)]


def permissions(path: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}


async def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SqliteStore(path) as store:
        await store.save(document())
        assert permissions(path) == {"runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600}


async def test_a_file_behind_a_link_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "runs.db")
    async with SqliteStore(tmp_path / "link.db") as store:
        await store.save(document())
        assert permissions(tmp_path / "runs.db")["runs.db"] == 0o600


async def test_the_permissions_of_a_file_that_is_there_stay(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.touch()
    path.chmod(0o640)
    async with SqliteStore(path) as store:
        await store.save(document())
        assert permissions(path) == {"runs.db": 0o640, "runs.db-wal": 0o640, "runs.db-shm": 0o640}


async def test_tables_of_another_version_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SqliteStore(path) as store:
        await store.save(document())
    execute(path, "UPDATE tactician_schema SET version = 2")

    for _ in range(2):
        with pytest.raises(ConfigurationError, match="have version 2, and this Tactician knows 4"):
            await store.load("docs", "d")

    execute(path, "UPDATE tactician_schema SET version = 4")
    assert await store.load("docs", "d") is not None
    await store.aclose()


async def test_a_database_of_an_earlier_version_gets_the_index_of_the_queue(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "s.db") as store:
        await store.save(document())
    execute(tmp_path / "s.db", "DROP INDEX tactician_documents_queue")
    execute(tmp_path / "s.db", "CREATE INDEX tactician_documents_due ON tactician_documents (priority DESC, due_at)")

    async with SqliteStore(tmp_path / "s.db") as store:
        assert await store.claim("docs", "w", HOUR) is not None

    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'").fetchall()
    names = {name for (name,) in listed}
    assert "tactician_documents_queue" in names
    assert "tactician_documents_due" not in names


@pytest.mark.parametrize("times", [1, 2])
async def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path, times: int) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Lynda, " * 100)
    async with SqliteStore(path) as store:
        for _ in range(times):
            with pytest.raises(
                ConfigurationError, match=r"letter\.txt: this file is not an SQLite database\. Name ano"
            ):
                await store.save(document())

    assert path.read_text() == "Dear Lynda, " * 100


async def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere/runs\.db: .* there is no folder .*nowhere"):
        await SqliteStore(tmp_path / "nowhere" / "runs.db").load("docs", "d")


@pytest.mark.parametrize("name", ["", "x" * 300, "a\0b", "a\ud83d"])
async def test_what_is_no_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Name a"):
        await SqliteStore(f"{tmp_path}/{name}").load("docs", "d")


async def test_a_file_that_may_only_be_read_is_named(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        database.execute("CREATE TABLE letters (text TEXT)")
    store = open_store(f"sqlite:///file:{tmp_path}/runs.db?mode=ro&uri=true")
    with pytest.raises(StoreError, match=r"runs\.db.*readonly database"):
        await store.load("docs", "d")


async def test_a_folder_in_the_place_of_the_log_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "runs.db-wal").mkdir()
    with pytest.raises(StoreError, match=r"runs\.db.*disk I/O error"):
        await SqliteStore(tmp_path / "runs.db").load("docs", "d")


async def test_a_table_that_is_lost_meanwhile_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SqliteStore(path) as store:
        await store.save(document())
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("DROP TABLE tactician_documents")
        with pytest.raises(StoreError, match=r"runs\.db.* does not answer: no such table"):
            await store.load("docs", "d")


async def test_the_event_loop_does_not_wait(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "runs.db") as store:
        saving = asyncio.ensure_future(store.save(document()))
        turns = 0
        while not saving.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns > 1


class TestDamage:
    @pytest.mark.parametrize(
        ("column", "value"),
        [("body", "{"), ("body", b"\xff\xfe"), ("body", b"\0"), ("version", "new"), ("version", 0)],
    )
    async def test_a_damaged_row_is_an_error_that_names_it(self, tmp_path: Path, column: str, value: object) -> None:
        async with SqliteStore(tmp_path / "talk.db") as store:
            talks = ConversationStore(store)
            await talks.create("c")
            await talks.create("fine")
            tamper(tmp_path / "talk.db", column, value)

            with pytest.raises(StoredStateError, match="The conversation 'c' cannot be read; delete it, or restore it"):
                await talks.load("c")
            assert await talks.load("fine") is not None
            assert await talks.delete("c")

    async def test_a_row_of_another_conversation_is_refused(self, tmp_path: Path) -> None:
        async with SqliteStore(tmp_path / "talk.db") as store:
            talks = ConversationStore(store)
            await talks.create("c")
            tamper(tmp_path / "talk.db", "body", Conversation(id="d").to_json())
            with pytest.raises(StoredStateError, match=r"'c' cannot be read; .* has the id 'd'"):
                await talks.load("c")

    @pytest.mark.parametrize(
        "change", ["UPDATE tactician_documents SET header = x'ff'", "DELETE FROM tactician_bodies"]
    )
    async def test_a_document_without_its_texts_is_damaged(self, tmp_path: Path, change: str) -> None:
        async with SqliteStore(tmp_path / "runs.db") as store:
            await store.save(document())
            execute(tmp_path / "runs.db", change)
            with pytest.raises(StoredStateError, match="docs/d cannot be read: its row is damaged"):
                await store.load("docs", "d")

    async def test_a_damaged_step_is_an_error_that_names_it(self, tmp_path: Path) -> None:
        async with SqliteStore(tmp_path / "runs.db") as store:
            _, lease = await store.add_and_claim(document(), "w", HOUR)
            for number in (1, 2):
                await store.append(lease, StoredStep(number, "{}"))
            execute(tmp_path / "runs.db", "UPDATE tactician_steps SET body = x'ff' WHERE number = 2")

            with pytest.raises(StoredStateError, match="Step 2 of docs/d cannot be read: its row is damaged"):
                await store.load_steps("docs", "d")
            assert len(await store.load_steps("docs", "d", until=1)) == 1

    async def test_what_is_left_of_a_document_that_was_deleted_by_hand_belongs_to_no_other(
        self, tmp_path: Path
    ) -> None:
        async with SqliteStore(tmp_path / "runs.db") as store:
            _, lease = await store.add_and_claim(document(), "w", HOUR)
            await store.append(lease, StoredStep(1, "{}"))
            execute(tmp_path / "runs.db", "DELETE FROM tactician_documents")

            await store.save(document("e"))

            assert await store.load_steps("docs", "e") == []


async def test_what_is_saved_at_once_does_not_fail_with_others(tmp_path: Path) -> None:
    """The thread does what waits in one transaction; what is refused in it is refused alone."""
    async with SqliteStore(tmp_path / "runs.db") as store:
        taken, lease = await store.add_and_claim(document("taken"), "w", HOUR)
        writes = [
            *(store.save(document(f"d{number}")) for number in range(20)),
            store.save(document("taken")),
            store.append(lease, StoredStep(7, "{}")),
            store.append(lease, StoredStep(1, "{}")),
            *(store.add_and_claim(document(f"c{number}"), "w", HOUR, StoredStep(1, "[]")) for number in range(20)),
        ]
        results = await asyncio.gather(*writes, return_exceptions=True)

        refused = [each for each in results if isinstance(each, BaseException)]
        assert [type(each) for each in refused] == [DocumentConflictError, DocumentConflictError]
        assert len(await store.list_ids("docs")) == 41
        assert [each.text for each in await store.load_steps("docs", "taken")] == ["{}"]
        assert taken.version == 1


async def test_what_is_saved_at_once_takes_few_transactions(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "runs.db") as store:
        await store.save(document("first"))
        before = (tmp_path / "runs.db-wal").stat().st_size
        await store.save(document("second"))
        of_one = (tmp_path / "runs.db-wal").stat().st_size - before
        before += of_one
        await asyncio.gather(*(store.save(document(f"d{number}")) for number in range(50)))

        # Each transaction writes the pages that it changes once more.
        assert (tmp_path / "runs.db-wal").stat().st_size - before < 10 * of_one


async def test_a_document_is_saved_with_its_body_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SqliteStore(path) as store:
        saved = await store.save(document())
        execute(path, "CREATE TRIGGER full BEFORE UPDATE ON tactician_bodies BEGIN SELECT RAISE(FAIL, 'full'); END")

        with pytest.raises(DocumentConflictError):
            await store.save(replace(saved, body="[1]", status="waiting"))

        assert await store.load("docs", "d") == saved
        assert (await store.save(replace(saved, body=None, status="waiting"))).version == 2


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)


def tamper(path: Path, column: str, value: object) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        number = database.execute("SELECT number FROM tactician_documents WHERE id = 'c'").fetchone()
        table, key = ("bodies", "document") if column == "body" else ("documents", "number")
        database.execute(f"UPDATE tactician_{table} SET {column} = ? WHERE {key} = ?", (value, *number))


def run_in_a_loop_that_is_just_closed(work: Coroutine[object, object, T]) -> T:
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


@pytest.fixture
def assert_closed(tmp_path: Path) -> Callable[[], None]:
    """A check that no store of this test is open; those of other tests are not its concern."""
    others = set(threading.enumerate())

    def check() -> None:
        deadline = monotonic() + 10  # a thread of a store, and with it an exception, may be late to let go of the store
        while (there := [*list_store_threads(others), *open_files(tmp_path)]) and monotonic() < deadline:
            gc.collect()
            sleep(0.01)
        assert there == []

    return check


class TestForgotten:
    """Stores that nobody closes."""

    @pytest.mark.parametrize("run", [asyncio.run, run_in_a_loop_that_is_just_closed])
    def test_one_that_is_forgotten_leaves_nothing_open(
        self,
        tmp_path: Path,
        assert_closed: Callable[[], None],
        run: Callable[[Coroutine[object, object, object]], object],
    ) -> None:
        for _ in range(5):
            run(SqliteStore(tmp_path / "runs.db").list_ids("docs"))
        assert_closed()

    async def test_nor_while_the_event_loop_runs_on(self, tmp_path: Path, assert_closed: Callable[[], None]) -> None:
        for _ in range(5):
            await SqliteStore(tmp_path / "runs.db").list_ids("docs")
        await asyncio.to_thread(assert_closed)

    async def test_nor_one_that_could_not_be_opened(self, tmp_path: Path, assert_closed: Callable[[], None]) -> None:
        (tmp_path / "letter.txt").write_text("Dear Lynda, " * 100)
        for _ in range(5):
            with pytest.raises(ConfigurationError):
                await SqliteStore(tmp_path / "letter.txt").list_ids("docs")
        await asyncio.to_thread(assert_closed)

    async def test_nor_one_that_is_closed(self, tmp_path: Path, assert_closed: Callable[[], None]) -> None:
        store = SqliteStore(tmp_path / "runs.db")
        for _ in range(5):
            await store.list_ids("docs")
            await store.aclose()
        await asyncio.to_thread(assert_closed)


FORKS = """
    import asyncio, os, sys
    from tactician.stores import SqliteStore
    from tactician.stores.document import StoredDocument

    store = SqliteStore(sys.argv[1])

    def save(name: str) -> None:
        asyncio.run(store.save(StoredDocument(collection="docs", id=name, body="{}")))

    save("before")
    child = os.fork()
    if not child:
        save("in the child")
        sys.exit()
    status = os.waitpid(child, 0)[1]
    save("after")
    print(status, asyncio.run(store.list_ids("docs")))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the machine has no forks")
def test_a_forked_program_has_a_connection_of_its_own(tmp_path: Path) -> None:
    command = (sys.executable, "-W", "ignore", "-c", dedent(FORKS), str(tmp_path / "runs.db"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0 ['before', 'in the child', 'after']\n"


def list_store_threads(others: Set[threading.Thread]) -> list[str]:
    threads = set(threading.enumerate()) - others
    return [thread.name for thread in threads if thread.name.startswith("tactician-store")]


def open_files(folder: Path) -> list[str]:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():  # it is Linux that has it
        return []
    links = [os.readlink(one) for one in descriptors.iterdir() if one.is_symlink()]  # noqa: PTH115 - some are gone
    return [link for link in links if str(folder) in link]


async def test_a_list_of_the_file_equals_what_the_store_finds(tmp_path: Path) -> None:
    path = tmp_path / "runs #1 ?.db"
    async with SqliteStore(path) as store:
        for number, status in enumerate(("waiting", "running", "done", "waiting")):
            await store.save(
                StoredDocument(
                    collection="runs",
                    id=str(number),
                    body="{}",
                    header=f"h{number}",
                    status=status,
                    key=None if number else "k",
                    due_at=None if number else 5.0,
                    is_closed=status == "done",
                )
            )
        await store.save(StoredDocument(collection="other", id="0", body="{}"))
        await store.claim("runs", "me", 60.0, id="1")
        for statuses in ((), ("waiting",), ("waiting", "done"), ("nothing",)):
            for limit in (1, 10):
                found = await store.find("runs", statuses=statuses, limit=limit, with_bodies=False)
                listed = list_documents(str(path), "runs", statuses=statuses, limit=limit)
                assert listed == found
                assert [one.is_leased for one in listed] == [one.is_leased for one in found]


def test_a_file_that_is_not_a_store_has_no_list(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but quite some text instead of one" * 50)
    assert list_documents(str(tmp_path / "text.db"), "runs") is None
    assert list_documents(str(tmp_path / "nowhere.db"), "runs") is None
    assert not (tmp_path / "nowhere.db").exists()
