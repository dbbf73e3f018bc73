"""What every store of conversations keeps to, and what only files have."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tactician.conversation import Conversation, ConversationStore, MemoryConversations, SqliteConversations
from tactician.errors import ConfigurationError, ConversationConflictError, StoredStateError
from tests.conversation.talk import calls, exchange, result, says, user


class StoreConformance:
    """The contract. A subclass says which store it is."""

    @pytest.fixture
    async def store(self) -> ConversationStore:
        raise NotImplementedError

    async def test_a_new_conversation_is_empty_and_kept(self, store: ConversationStore) -> None:
        conversation = await store.create()

        loaded = await store.load(conversation.id)

        assert loaded is not None
        assert (loaded.id, len(loaded), loaded.version) == (conversation.id, 0, conversation.version)

    async def test_what_was_said_comes_back(self, store: ConversationStore) -> None:
        conversation = await store.create("c")
        conversation.extend([user("hi"), *exchange("x"), says("hello")])
        conversation.remove(conversation.ids[0])
        conversation.extend([user("again"), calls("y")])
        waiting = conversation.insert(user("by the way"))
        await store.save(conversation)

        loaded = await store.load("c")

        assert loaded is not None
        assert loaded.messages == conversation.messages
        assert loaded.ids == conversation.ids
        loaded.append(result("y"))
        assert (loaded.messages[-1], loaded.ids[-1]) == (user("by the way"), waiting)

    async def test_changes_are_seen_when_they_are_saved(self, store: ConversationStore) -> None:
        conversation = await store.create("c")
        conversation.append(user("hi"))
        before = await store.load("c")
        await store.save(conversation)
        conversation.append(says("not yet"))
        after = await store.load("c")

        assert before is not None
        assert after is not None
        assert (len(before), len(after)) == (0, 1)

    async def test_of_two_writers_the_second_is_told(self, store: ConversationStore) -> None:
        one = await store.create("c")
        other = await store.load("c")
        assert other is not None
        one.append(user("one"))
        other.append(user("other"))
        await store.save(one)

        with pytest.raises(ConversationConflictError, match="c was changed or deleted since it was loaded"):
            await store.save(other)

        kept = await store.load("c")
        assert kept is not None
        assert kept.messages == [user("one")]
        kept.append(user("other"))
        await store.save(kept)

    async def test_saves_that_overlap_are_all_kept(self, store: ConversationStore) -> None:
        conversation = await store.create("c")
        saves = []
        for number in range(10):
            conversation.append(user(str(number)))
            saves.append(asyncio.ensure_future(store.save(conversation)))
        await asyncio.gather(*saves)

        loaded = await store.load("c")
        assert loaded is not None
        assert (len(loaded), loaded.version) == (10, conversation.version)

    async def test_one_made_elsewhere_can_be_saved(self, store: ConversationStore) -> None:
        conversation = Conversation([user("hi")], "c")
        await store.save(conversation)
        await store.save(conversation)
        assert (await store.ids(), conversation.version) == (("c",), 2)

    async def test_an_id_is_used_once(self, store: ConversationStore) -> None:
        await store.create("c")
        with pytest.raises(ConversationConflictError, match="There is a conversation c already"):
            await store.create("c")
        with pytest.raises(ConversationConflictError, match="There is a conversation c already"):
            await store.save(Conversation(id="c"))

    async def test_what_is_deleted_is_gone_and_does_not_come_back(self, store: ConversationStore) -> None:
        conversation = await store.create("c")

        assert await store.delete("c")
        assert not await store.delete("c")
        assert await store.load("c") is None
        with pytest.raises(ConversationConflictError):
            await store.save(conversation)
        assert await store.ids() == ()

    async def test_ids_come_in_the_order_in_which_they_were_made(self, store: ConversationStore) -> None:
        for name in "bac":
            await store.create(name)
        conversation = await store.load("b")
        assert conversation is not None
        await store.save(conversation)

        assert await store.ids() == ("b", "a", "c")

    async def test_what_was_never_there_is_none(self, store: ConversationStore) -> None:
        assert await store.load("nobody") is None


class TestMemoryConversations(StoreConformance):
    @pytest.fixture
    async def store(self) -> ConversationStore:
        return MemoryConversations()

    async def test_it_says_how_many_it_keeps(self) -> None:
        store = MemoryConversations()
        await store.create()
        assert len(store) == 1


class TestSqliteConversations(StoreConformance):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[ConversationStore]:
        async with SqliteConversations(tmp_path / "talk.db") as store:
            yield store

    async def test_another_process_sees_what_is_saved_and_conflicts(self, tmp_path: Path) -> None:
        path = tmp_path / "talk.db"
        async with SqliteConversations(path) as one, SqliteConversations(str(path)) as other:
            here = await one.create("c")
            there = await other.load("c")
            assert there is not None
            there.append(user("there"))
            await other.save(there)

            here.append(user("here"))
            with pytest.raises(ConversationConflictError):
                await one.save(here)

    async def test_writers_in_several_places_lose_nothing(self, tmp_path: Path) -> None:
        async def write(store: ConversationStore, text: str) -> None:
            while True:
                conversation = await store.load("c")
                assert conversation is not None
                conversation.append(user(text))
                try:
                    return await store.save(conversation)
                except ConversationConflictError:
                    continue

        path = tmp_path / "talk.db"
        async with SqliteConversations(path) as one, SqliteConversations(path) as other:
            await one.create("c")
            await asyncio.gather(*(write(one if n % 2 else other, str(n)) for n in range(12)))
            loaded = await other.load("c")

        assert loaded is not None
        assert sorted(loaded.messages, key=str) == sorted((user(str(n)) for n in range(12)), key=str)

    @pytest.mark.parametrize(
        ("column", "value"),
        [("state", "{"), ("state", b"\xff\xfe"), ("state", None), ("version", "new"), ("version", 0)],
    )
    async def test_a_damaged_row_is_an_error_that_names_it(self, tmp_path: Path, column: str, value: object) -> None:
        path = tmp_path / "talk.db"
        async with SqliteConversations(path) as store:
            await store.create("c")
            await store.create("fine")
            _tamper(path, column, value)

            with pytest.raises(StoredStateError, match="The conversation c cannot be read"):
                await store.load("c")
            assert await store.load("fine") is not None
            assert await store.delete("c")

    async def test_a_row_of_another_conversation_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "talk.db"
        async with SqliteConversations(path) as store:
            await store.create("c")
            _tamper(path, "state", Conversation(id="d").to_json())
            with pytest.raises(StoredStateError, match="c cannot be read: what is kept is that of d"):
                await store.load("c")

    async def test_a_file_that_is_no_database_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "talk.db"
        path.write_bytes(b"not a database at all " * 100)
        async with SqliteConversations(path) as store:
            with pytest.raises(ConfigurationError, match=r"talk.db: conversations cannot be kept in this file"):
                await store.ids()

    async def test_a_folder_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        async with SqliteConversations(tmp_path / "nowhere" / "talk.db") as store:
            with pytest.raises(ConfigurationError, match="unable to open"):
                await store.ids()

    async def test_a_table_that_is_lost_meanwhile_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "talk.db"
        async with SqliteConversations(path) as store:
            await store.create("c")
            database = sqlite3.connect(path)
            database.execute("DROP TABLE conversations")
            database.commit()
            database.close()
            with pytest.raises(StoredStateError, match=r"talk.db: the conversations cannot be read or written"):
                await store.ids()

    async def test_the_event_loop_does_not_wait(self, tmp_path: Path) -> None:
        async with SqliteConversations(tmp_path / "talk.db") as store:
            saving = asyncio.ensure_future(store.create("c"))
            turns = 0
            while not saving.done():
                turns += 1
                await asyncio.sleep(0)
            assert turns > 1


def _tamper(path: Path, column: str, value: object) -> None:
    database = sqlite3.connect(path)
    database.execute("PRAGMA ignore_check_constraints = ON")
    if value is None:
        database.execute(f"UPDATE conversations SET {column} = x'00' WHERE id = 'c'")
    else:
        database.execute(f"UPDATE conversations SET {column} = ? WHERE id = 'c'", (value,))
    database.commit()
    database.close()
