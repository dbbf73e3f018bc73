"""Stores of reflections: in the program, in SQLite and in PostgreSQL, and one that a program brings along."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tactician import Ensemble, InProcessReflections, Reflection, Scope, SqlMemory, SqlReflections, Task
from tactician.ensemble import ReflectionStore, TaskReflection
from tactician.ensemble.learning.reflection_stores import ReflectionLog
from tactician.errors import ConfigurationError, StoredStateError
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.ensemble.support import prompt_of

Opener = Callable[..., ReflectionLog]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["program", "sqlite", "postgresql"])
async def create(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens the same store, also a second time."""
    opened: list[ReflectionLog] = []
    documents = MemoryStore()
    address = str(tmp_path / "state.db")
    if request.param == "postgresql":
        server = request.getfixturevalue("server")
        address = f"postgresql://{server.address}/{server.create_database()}"

    def create(keep_last: int = 100) -> ReflectionLog:
        in_program = request.param == "program"
        opened.append(
            ReflectionLog(documents, keep_last) if in_program else SqlReflections(address, keep_last=keep_last)
        )
        return opened[-1]

    yield create
    for store in opened:
        await store.aclose()


def note(text: str, minutes: float = 0) -> TaskReflection:
    """A reflection with a suggestion, some minutes after the beginning."""
    return TaskReflection(suggestions=(text,), created_at=BEGIN + timedelta(minutes=minutes))


async def texts(store: ReflectionStore, identity: str = "t") -> list[str]:
    return [reflection.failure or "; ".join(reflection.notes) for reflection in await store.load(identity)]


async def test_all_of_a_reflection_is_read_back(create: Opener) -> None:
    stored = TaskReflection(
        refined_description="d", refined_expected_output="o", observations=("a", "b"), suggestions=("c",)
    )
    await create().store("t", stored)
    assert await create().load("t") == [stored]


async def test_reflections_are_newest_first_for_each_task(create: Opener) -> None:
    store = create()
    for number in (2, 1, 3):
        await store.store("t", note(str(number), number))
    await store.store("another", note("other"))
    assert (await texts(store), await texts(store, "another"), await texts(store, "none")) == (
        ["3", "2", "1"],
        ["other"],
        [],
    )


async def test_reflections_of_the_same_time_are_in_the_order_in_which_they_were_stored(create: Opener) -> None:
    store = create()
    for number in range(3):
        await store.store("t", note(str(number)))
    assert await texts(store) == ["2", "1", "0"]


async def test_a_reflection_is_stored_once(create: Opener) -> None:
    store, reflection = create(), note("once")
    await store.store("t", reflection)
    await store.store("t", replace(reflection, suggestions=("twice",)))
    await store.store("other", reflection)
    assert (await texts(store), await texts(store, "other")) == (["once"], ["once"])


async def test_the_newest_keep_last_stay_and_failures_take_no_place_from_them(create: Opener) -> None:
    store = create(keep_last=3)
    for number in range(5):
        await store.store("t", note(str(number), number))
    for number in range(20):
        await store.store("t", TaskReflection(failure=f"f{number}", created_at=BEGIN + timedelta(hours=number + 1)))
    found = await texts(store)
    assert found == [*(f"f{number}" for number in range(19, 9, -1)), "4", "3", "2"]


async def test_they_can_be_cleared_for_a_task(create: Opener) -> None:
    store = create()
    await store.store("t", note("a"))
    await store.store("u", note("b"))
    await store.clear("t")
    assert (await texts(store), await texts(store, "u")) == ([], ["b"])


async def test_writers_at_the_same_time_lose_nothing(create: Opener) -> None:
    one, other = create(), create()
    await asyncio.gather(*(store.store("t", note(str(n))) for n in range(15) for store in (one, other)))
    assert sorted(await texts(one)) == sorted([str(n) for n in range(15)] * 2)


async def test_identities_may_be_of_any_length_and_have_any_characters(create: Opener) -> None:
    store = create()
    for identity in ("x" * 10_000, "a\0b", "\ud800", ""):
        await store.store(identity, note(repr(identity[:5])))
        assert await texts(store, identity) == [repr(identity[:5])]


async def test_hostile_texts_are_bounded_and_kept(create: Opener) -> None:
    store = create()
    await store.store("t", TaskReflection(refined_description="x" * 9_000, suggestions=("a\0b\ud800",) * 99))
    (found,) = await store.load("t")
    assert found.refined_description.endswith("x… (cut off, of 9000 characters)")
    assert found.suggestions == (r"a\x00b\ud800",) * 10


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body | {"suggestions": ["x" * 501]},
        lambda body: body | {"suggestions": ["x"] * 11},
        lambda body: body | {"created_at": "2026-01-01T00:00:00"},
        lambda body: body | {"failure": 5},
        lambda body: [],
    ],
)
async def test_a_damaged_reflection_is_an_error_and_fails_no_task(change: Callable[[object], object]) -> None:
    documents = MemoryStore()
    store = ReflectionLog(documents, 100)
    task = Task("T", reflect=Reflection(strategy=lambda _: "new"))
    await store.store(task.identity, note("old"))
    (document,) = await documents.find("task_reflections")
    await documents.save(replace(document, body=json.dumps(change(json.loads(document.text)))))
    with pytest.raises(StoredStateError, match="cannot be read; clear the reflections of the task"):
        await store.load(task.identity)
    result = await Ensemble("E", [task], model=ScriptedModel("done"), reflections=store).run()
    assert result.raw == "done"


@pytest.mark.parametrize("keep_last", [0, -1, 1_001])
def test_a_store_keeps_1_to_1_000_reflections_on_a_task(keep_last: int) -> None:
    with pytest.raises(ConfigurationError, match="keep_last must be between 1 and 1000"):
        InProcessReflections(keep_last=keep_last)


def test_passwords_are_not_shown() -> None:
    assert "secret" not in repr(SqlReflections("postgresql://me:secret@localhost/db"))


async def test_a_store_in_memory_ends_with_the_program_and_one_in_a_file_does_not(address: str) -> None:
    await InProcessReflections().store("t", note("lost"))
    assert await texts(InProcessReflections()) == []
    first = SqlReflections(address)
    await first.store("t", note("kept"))
    await first.aclose()
    second = SqlReflections(address)
    assert await texts(second) == ["kept"]
    await second.aclose()


async def test_reflections_memory_and_runs_share_a_database(address: str) -> None:
    reflections, memory = SqlReflections(address), SqlMemory(address, {"project": Scope()})
    model = ScriptedModel("one", "two")
    task = Task("T", memory=["project"], reflect=Reflection(strategy=lambda review: f"note on {review.output}"))
    ensemble = Ensemble("E", [task], model=model, memory=memory, reflections=reflections)
    for _ in range(2):
        await ensemble.run()
    assert "- note on one" in prompt_of(model, 1)
    assert "## Memory: project" in prompt_of(model, 1)
    assert await texts(reflections, task.identity) == ["note on two", "note on one"]
    assert [entry.content for entry in await memory.entries("project")] == ["two", "one"]
    await reflections.aclose()
    await memory.aclose()


class OwnReflections:
    """Store of a program, in a table of its own."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        self._database.execute("CREATE TABLE task_reflections (task_id TEXT, content TEXT, created_at TEXT)")

    async def load(self, identity: str) -> Sequence[TaskReflection]:
        rows = self._database.execute(
            "SELECT content, created_at FROM task_reflections WHERE task_id = ? ORDER BY created_at DESC", (identity,)
        )
        return [TaskReflection(suggestions=(text,), created_at=datetime.fromisoformat(at)) for text, at in rows]

    async def store(self, identity: str, reflection: TaskReflection) -> None:
        row = identity, "\n".join(reflection.notes), reflection.created_at.isoformat()
        self._database.execute("INSERT INTO task_reflections VALUES (?, ?, ?)", row)


async def test_any_object_with_load_and_store_is_a_store(tmp_path: Path) -> None:
    store, model = OwnReflections(tmp_path / "own.db"), ScriptedModel("1", "2")
    task = Task("T", reflect=Reflection(strategy=lambda review: f"note on {review.output}"))
    ensemble = Ensemble("E", [task], model=model, reflections=store)
    for _ in range(2):
        await ensemble.run()
    assert "- note on 1" in prompt_of(model, 1)
    assert await texts(store, task.identity) == ["note on 2", "note on 1"]
