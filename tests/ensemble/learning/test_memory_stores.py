"""Memories in scopes: in the program, in SQLite and in PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import InProcessMemory, RunContext, Scope, SqlMemory, days
from tactician.ensemble import ScopeEntry
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.errors import ConfigurationError, StoredStateError
from tactician.stores import MemoryStore
from tactician.stores.document import StoredDocument
from tactician.testing import FakeClock
from tests.ensemble.learning.support import TopicEmbeddings, now, over

ROOT = Path(__file__).parents[3]
SCOPES = {"project": Scope(keep_last=3), "week": Scope(keep_within=days(7)), "all": Scope()}
Opener = Callable[..., ScopedMemory]


@pytest.fixture(params=["program", "sqlite", "postgresql"])
async def create(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens the same memory, also a second time."""
    opened: list[ScopedMemory] = []
    documents = MemoryStore()
    if request.param == "postgresql":
        server = request.getfixturevalue("server")
        address = f"postgresql://{server.address}/{server.create_database()}"
    else:
        address = str(tmp_path / "state.db")

    def create(embedder: TopicEmbeddings | None = None) -> ScopedMemory:
        in_program = request.param == "program"
        memory = (
            ScopedMemory(documents, SCOPES, embedder) if in_program else SqlMemory(address, SCOPES, embedder=embedder)
        )
        opened.append(memory)
        return memory

    yield create
    for memory in opened:
        await memory.aclose()


async def texts(memory: ScopedMemory, scope: str) -> list[str]:
    return [entry.content for entry in await memory.entries(scope)]


class TestRetention:
    async def test_entries_are_newest_first_and_the_newest_keep_last_stay(self, create: Opener) -> None:
        memory, clock = create(), FakeClock()
        for number in range(5):
            await memory.add("project", f"text {number}", context=over(clock=clock))
            clock.advance(1)
        assert await texts(memory, "project") == ["text 4", "text 3", "text 2"]
        assert await texts(create(), "project") == ["text 4", "text 3", "text 2"]
        assert await texts(memory, "all") == []

    async def test_entries_of_the_same_time_are_in_the_order_in_which_they_were_written(self, create: Opener) -> None:
        memory, context = create(), over()
        for number in range(3):
            await memory.add("all", str(number), context=context)
        assert await texts(memory, "all") == ["2", "1", "0"]

    async def test_entries_that_are_too_old_by_the_clock_of_the_run_are_not_recalled(self, create: Opener) -> None:
        memory, clock = create(), FakeClock()
        context = over(clock=clock)
        await memory.add("week", "old", context=context)
        clock.advance(timedelta(days=5).total_seconds())
        await memory.add("week", "new", context=context)
        assert [one.content for one in await memory.recall("week", "", context=context)] == ["new", "old"]
        clock.advance(timedelta(days=3).total_seconds())
        assert [one.content for one in await memory.recall("week", "", context=context)] == ["new"]
        with context.enter():
            assert await texts(memory, "week") == ["new"]
        assert await texts(memory, "week") == ["new", "old"], "outside of runs there is no clock"
        await memory.add("week", "newest", context=context)
        assert await texts(memory, "week") == ["newest", "new"], "a write deletes them"

    async def test_the_newest_five_are_recalled(self, create: Opener) -> None:
        memory, context = create(), over()
        for number in range(7):
            await memory.add("all", str(number), context=context)
        assert [one.content for one in await memory.recall("all", "x", context=context)] == ["6", "5", "4", "3", "2"]
        assert [one.content for one in await memory.recall("all", "x", limit=1, context=context)] == ["6"]

    async def test_an_entry_with_the_same_id_is_written_once(self, create: Opener) -> None:
        memory, clock = create(), FakeClock()
        entry = ScopeEntry("text", now(clock), "Research", "Researcher", "r1", id="e1")
        for _ in range(2):
            await memory.add("all", entry, context=over(clock=clock))
        await memory.add("project", entry, context=over(clock=clock))
        assert await memory.entries("all") == [entry]
        assert await memory.entries("project") == [entry]

    async def test_an_old_entry_that_is_written_late_does_not_push_out_newer_ones(self, create: Opener) -> None:
        memory, clock = create(), FakeClock()
        old = ScopeEntry("old", now(clock))
        for number in range(3):
            clock.advance(1)
            await memory.add("project", str(number), context=over(clock=clock))
        await memory.add("project", old, context=over(clock=clock))
        assert await texts(memory, "project") == ["2", "1", "0"]

    async def test_a_scope_can_be_cleared(self, create: Opener) -> None:
        memory, context = create(TopicEmbeddings()), over()
        for scope in ("all", "week"):
            await memory.add(scope, "frog", context=context)
        await memory.clear("all")
        assert (await texts(memory, "all"), await texts(memory, "week")) == ([], ["frog"])

    async def test_writers_at_the_same_time_lose_nothing(self, create: Opener) -> None:
        one, other, context = create(), create(), over()
        await asyncio.gather(
            *(memory.add("all", str(n), context=context) for n in range(20) for memory in (one, other))
        )
        assert sorted(await texts(one, "all")) == sorted([str(n) for n in range(20)] * 2)


class TestMeaning:
    async def test_entries_are_recalled_by_meaning_where_an_embedder_is_given(self, create: Opener) -> None:
        memory, context = create(TopicEmbeddings()), over()
        for text in ("a frog", "the moon, and a frog", "tax", "nothing"):
            await memory.add("all", text, context=context)
        recalled = await memory.recall("all", "frogs: a frog", limit=2, context=context)
        assert [one.content for one in recalled] == ["a frog", "the moon, and a frog"]
        assert context.tally.total.input_tokens == 7 * 5, "the usage counts to the run"

    async def test_eviction_works_all_the_same(self, create: Opener) -> None:
        memory, clock = create(TopicEmbeddings()), FakeClock()
        for text in ("frog", "tax 1", "tax 2", "tax 3"):
            await memory.add("project", text, context=over(clock=clock))
            clock.advance(1)
        recalled = await memory.recall("project", "frog", context=over(clock=clock))
        assert [one.content for one in recalled] == ["tax 3", "tax 2", "tax 1"]

    async def test_entries_without_a_comparable_embedding_come_last_and_newest_first(self, create: Opener) -> None:
        context = over()
        await create().add("all", "frog 1, from before there was an embedder", context=context)
        await create(TopicEmbeddings("another model")).add("all", "frog 2", context=context)
        memory = create(TopicEmbeddings())
        await memory.add("all", "moon", context=context)
        recalled = await memory.recall("all", "frog", context=context)
        assert [one.content[:6] for one in recalled] == ["moon", "frog 2", "frog 1"]

    async def test_an_embedder_that_fails_loses_no_entry(
        self, create: Opener, caplog: pytest.LogCaptureFixture
    ) -> None:
        embedder, context = TopicEmbeddings(), over()
        memory = create(embedder)
        await memory.add("all", "frog", context=context)
        embedder.is_down = True
        await memory.add("all", "tax", context=context)
        assert [one.content for one in await memory.recall("all", "frog", context=context)] == ["tax", "frog"]
        assert "has no embedding" in caplog.text


class TestBounds:
    async def test_a_long_content_is_cut_off_and_says_so(self) -> None:
        memory, context = InProcessMemory(SCOPES), over()
        await memory.add("all", "x" * 9_000, context=context)
        (entry,) = await memory.entries("all")
        assert len(entry.content) == 8_000
        assert entry.content.endswith("x… (cut off, of 9000 characters)")

    async def test_texts_that_no_database_keeps_are_escaped(self, create: Opener) -> None:
        memory, context = create(), over()
        await memory.add("all", "a\0b\ud800c", context=context)
        assert await texts(memory, "all") == [r"a\x00b\ud800c"]

    @pytest.mark.parametrize(
        "change",
        [
            lambda entry: entry | {"content": "x" * 9_000},
            lambda entry: entry | {"created_at": "2026-01-01T00:00:00"},
            lambda entry: {"content": "no time"},
            lambda entry: None,
        ],
    )
    async def test_a_damaged_entry_is_an_error_that_names_it(self, change: Callable[[object], object]) -> None:
        documents = MemoryStore()
        memory = ScopedMemory(documents, SCOPES)
        await memory.add("all", "text", context=over())
        (document,) = await documents.find("memory_scopes")
        body = json.loads(document.text)
        await documents.save(replace(document, body=json.dumps(body | {"entry": change(body["entry"])})))
        with pytest.raises(StoredStateError, match="of the memory scope 'all' cannot be read; clear the scope"):
            await memory.entries("all")
        await memory.clear("all")
        assert await memory.entries("all") == []

    @pytest.mark.parametrize("header", ["", "yesterday", "2026-01-01T00:00:00"])
    async def test_a_damaged_time_is_an_error_that_names_it(self, header: str) -> None:
        documents = MemoryStore()
        memory = ScopedMemory(documents, SCOPES)
        await memory.add("all", "text", context=over())
        (document,) = await documents.find("memory_scopes")
        await documents.save(replace(document, header=header))
        with pytest.raises(StoredStateError, match="its time is not valid"):
            await memory.entries("all")

    @pytest.mark.parametrize("numbers", ["", "no base64!", "AAA=", "AADAfw==", "AAAA" * 2])
    async def test_a_damaged_vector_is_as_none(self, numbers: str) -> None:
        documents, context = MemoryStore(), over()
        memory = ScopedMemory(documents, SCOPES, TopicEmbeddings())
        await memory.add("all", "frog", context=context)
        (document,) = await documents.find("memory_scopes")
        body = json.loads(document.text)
        body["vector"]["numbers"] = numbers
        await documents.save(replace(document, body=json.dumps(body)))
        await memory.add("all", "moon", context=context)
        assert [one.content for one in await memory.recall("all", "frog", context=context)] == ["moon", "frog"]

    @pytest.mark.parametrize("limit", [0, -1, 10_001])
    def test_a_scope_keeps_1_to_10_000_entries(self, limit: int) -> None:
        with pytest.raises(ConfigurationError, match="keep_last must be between 1 and 10000"):
            Scope(keep_last=limit)

    def test_an_age_is_positive(self) -> None:
        with pytest.raises(ConfigurationError, match="keep_within must be > 0"):
            Scope(keep_within=days(0))

    def test_days_are_a_duration(self) -> None:
        assert days(7) == timedelta(weeks=1)

    @pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101])
    def test_a_scope_has_a_name_of_one_line(self, name: str) -> None:
        with pytest.raises(ConfigurationError, match="is not a name of a scope"):
            InProcessMemory({name: Scope()})

    def test_a_memory_has_scopes(self) -> None:
        with pytest.raises(ConfigurationError, match="A memory needs scopes"):
            InProcessMemory({})
        with pytest.raises(ConfigurationError, match=r"scopes\['a'\]: 5 is not a Scope"):
            InProcessMemory({"a": 5})  # type: ignore[dict-item]

    async def test_a_scope_that_is_not_there_is_an_error_with_a_hint(self) -> None:
        memory = InProcessMemory(SCOPES)
        for call in (memory.entries("projekt"), memory.add("projekt", "x"), memory.clear("projekt")):
            with pytest.raises(ConfigurationError, match=r"no scope 'projekt'. Did you mean 'project'\?"):
                await call

    def test_passwords_are_not_shown(self) -> None:
        memory = SqlMemory("postgresql://me:secret@localhost/db", SCOPES)
        assert "secret" not in repr(memory)
        assert repr(memory).startswith("SqlMemory(PostgresStore(")


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=12), st.integers(1, 4))
def test_what_is_kept_is_always_the_newest_of_all(writes: list[tuple[int, bool]], keep_last: int) -> None:
    """Entries come in any order of their times, from two writers."""

    async def check() -> None:
        documents, clock = MemoryStore(), FakeClock()
        scopes = {"all": Scope(keep_last=keep_last)}
        one, other = ScopedMemory(documents, scopes), ScopedMemory(documents, scopes)
        begin, context = now(clock), over(clock=clock)
        for age, is_first in writes:
            entry = ScopeEntry(str(age), begin - timedelta(minutes=age))
            await (one if is_first else other).add("all", entry, context=context)
        ages = sorted(age for age, _ in writes)
        assert [int(entry.content) for entry in await one.entries("all")] == ages[:keep_last]

    asyncio.run(check())


async def test_a_write_to_a_large_scope_seldom_looks_at_all_of_its_entries() -> None:
    """Beyond their number, entries are deleted many at a time. Nobody reads them, and there are never many."""

    class CountingStore(MemoryStore):
        looked_at = most = 0

        async def find(self, *args: Any, **options: Any) -> list[StoredDocument]:  # noqa: ANN401 - whatever it takes
            found = await super().find(*args, **options)
            self.looked_at += len(found)
            self.most = max(self.most, len(found))
            return found

    documents, clock = CountingStore(), FakeClock()
    memory, keep_last, writes = ScopedMemory(documents, {"all": Scope(keep_last=200)}), 200, 600
    for number in range(writes):
        clock.advance(1)
        await memory.add("all", str(number), context=over(clock=clock))
    assert documents.looked_at < 10 * writes
    assert keep_last < documents.most <= keep_last * 1.1 + 1
    assert await texts(memory, "all") == [str(number) for number in range(writes - 1, writes - 1 - keep_last, -1)]


@asynccontextmanager
async def program(address: str, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.ensemble.learning.writer", address, name, cwd=ROOT, stdin=-1, stdout=-1
    )
    yield child
    assert await child.wait() == 0


async def test_writers_in_two_processes_lose_nothing(address: str) -> None:
    async with program(address, "a") as one, program(address, "b") as other:
        for child in (one, other):
            assert child.stdout is not None
            assert await child.stdout.readline() == b"ready\n"
        await asyncio.gather(one.communicate(b"go\n"), other.communicate(b"go\n"))
    memory = SqlMemory(address, {"all": Scope(), "few": Scope(keep_last=10)})
    assert sorted(await texts(memory, "all")) == sorted(f"{name}{number}" for name in "ab" for number in range(25))
    assert len(await texts(memory, "few")) == 10
    await memory.aclose()


async def test_a_recall_is_seen_by_listeners() -> None:
    events: list[str] = []
    context = RunContext.over(over().models, lambda event: events.append(event.type))
    await InProcessMemory(SCOPES).recall("all", "query", context=context)
    assert events == ["RetrievalStarted", "RetrievalEnded"]
