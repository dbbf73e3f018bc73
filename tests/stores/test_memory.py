"""The store in memory."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tactician.conversation import Conversation, ConversationStore
from tactician.stores import DocumentStore, MemoryStore, StoredStep
from tests.conversation.talk import user
from tests.stores.codecs import StoreConformance
from tests.stores.conformance import HOUR, claimed, document


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


class Live:
    """What cannot be written as JSON."""

    def to_json(self) -> str:
        raise NotImplementedError


async def test_bodies_stay_objects() -> None:
    store, body, step = MemoryStore(), Live(), Live()
    saved, lease = await store.add_and_claim(document(body=body), "w", HOUR)
    await store.append(lease, StoredStep(1, step))
    await store.save(replace(saved, body=None), lease)
    await store.release(lease)

    (kept,) = await store.load_steps("docs", "d")
    found, _ = await claimed(store)

    assert found.body is body
    assert kept.body is step


async def test_its_own_clock_decides_about_what_is_leased_and_pruned() -> None:
    now = 1000.0
    store = MemoryStore(time=lambda: now)
    saved, lease = await store.add_and_claim(document(), "w", 30.0)
    await store.append(lease, StoredStep(1, "{}"))
    await store.save(replace(saved, is_closed=True), lease)
    (step,) = await store.load_steps("docs", "d")
    assert step.created_at == 1000.0
    for now, is_leased in [(1029.9, True), (1030.0, False)]:  # noqa: B007 - the store reads it
        (found,) = await store.find("docs")
        assert found.is_leased is is_leased
    now = 1059.9
    assert await store.prune("docs", 60.0) == 0
    now = 1060.0
    assert await store.prune("docs", 60.0) == 1


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
