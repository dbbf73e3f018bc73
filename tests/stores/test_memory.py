"""The store in memory."""

from collections.abc import Callable

import pytest

from tactician.conversation import Conversation, ConversationStore
from tactician.stores import DocumentStore, MemoryStore
from tests.conversation.talk import user
from tests.stores.codecs import StoreConformance
from tests.stores.conformance import claimed, document


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    async def opened(self) -> Callable[[], DocumentStore]:
        store = MemoryStore()
        return lambda: store


async def test_its_own_clock_decides_about_leases() -> None:
    now = 1000.0
    store = MemoryStore(time=lambda: now)
    await store.save(document())
    _, lease = await claimed(store, seconds=30.0)
    assert lease.expires_at == 1030.0
    now = 1029.9
    assert await store.claim("docs", "x", 30.0) is None
    now = 1030.0
    assert await store.claim("docs", "x", 30.0) is not None


async def test_it_says_how_much_it_keeps() -> None:
    store = MemoryStore()
    await ConversationStore(store).create()
    assert len(store) == 1


async def test_the_messages_of_a_conversation_stay_objects() -> None:
    message, talks = user("hi"), ConversationStore(MemoryStore())
    await talks.save(Conversation([message], "c"))
    loaded = await talks.load("c")
    assert loaded is not None
    assert loaded.messages[0] is message
