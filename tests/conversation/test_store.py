"""What a store of conversations writes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tactician.conversation import ConversationStore
from tactician.errors import ConversationConflictError, StoredStateError
from tactician.stores import MemoryStore
from tactician.stores.document import Body, Lease, StoredDocument, StoredStep
from tests.conversation.talk import says, user
from tests.support.effort import EFFORT

REQUESTS = min(400 * EFFORT, 2_000)
LONGEST_STEP = 1_000


class Recording(MemoryStore):
    """A store of texts that notes how much is written."""

    keeps_objects = False

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []
        self.bodies: list[int] = []

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        self.bodies.append(len(document.text))
        return await super().save(replace(document, body=document.text), lease)

    async def fold(self, document: StoredDocument) -> StoredDocument:
        self.bodies.append(len(document.text))
        return await super().fold(replace(document, body=document.text))

    async def add_step(self, document: StoredDocument, body: Body) -> StoredDocument:
        text = StoredStep(document.steps + 1, body).text
        self.steps.append(len(text))
        return await super().add_step(document, text)


async def talk(store: ConversationStore, requests: int) -> None:
    """Load a conversation, add an exchange, and save it, as a service does for each request."""
    for number in range(requests):
        conversation = await store.load("c")
        assert conversation is not None
        conversation.extend([user(f"question {number}"), says("x" * 100)])
        await store.save(conversation)


@pytest.mark.soak
async def test_a_save_costs_the_same_however_long_the_conversation_is() -> None:
    documents = Recording()
    store = ConversationStore(documents)
    await store.create("c")

    await talk(store, REQUESTS)

    assert len(documents.steps) + len(documents.bodies) == REQUESTS + 1
    assert max(documents.steps) < LONGEST_STEP
    assert len(documents.bodies) < 10, "each fold is twice as far from the next one"
    loaded = await store.load("c")
    assert loaded is not None
    assert len(loaded) == 2 * REQUESTS
    assert sum(documents.bodies) < 3 * len(loaded.to_json()), "the folds together cost as much as a few whole saves"


async def test_what_is_removed_is_not_in_the_store_any_more() -> None:
    documents = Recording()
    store = ConversationStore(documents)
    conversation = await store.create("c")
    for text in ("hello", "my password is frog", "thanks"):
        conversation.append(user(text))
        await store.save(conversation)
    assert len(await documents.load_steps("conversations", "c")) == 3

    conversation.remove(conversation.ids[1])
    await store.save(conversation)

    document = await documents.load("conversations", "c")
    assert document is not None
    assert "frog" not in document.text
    assert await documents.load_steps("conversations", "c") == []


async def test_what_was_removed_before_it_was_saved_needs_no_whole_save() -> None:
    documents = Recording()
    store = ConversationStore(documents)
    conversation = await store.create("c")
    conversation.append(user("hello"))
    await store.save(conversation)
    conversation.append(user("not meant"))
    conversation.remove(conversation.ids[1])
    conversation.append(user("meant"))
    await store.save(conversation)

    assert len(documents.bodies) == 1
    loaded = await store.load("c")
    assert loaded is not None
    assert loaded.messages == [user("hello"), user("meant")]


async def test_a_conversation_that_another_store_object_has_loaded_is_saved_as_a_whole() -> None:
    documents = Recording()
    conversation = await ConversationStore(documents).create("c")
    conversation.append(user("hello"))
    other = ConversationStore(documents)
    await other.save(conversation)
    conversation.append(user("again"))
    await other.save(conversation)

    assert (len(documents.bodies), len(documents.steps)) == (2, 1)
    with pytest.raises(ConversationConflictError):
        await other.create("c")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"begin":1', '"begin":2'),
        lambda text: text.replace('"version":3', '"version":4'),
        lambda text: text.replace('"ids":[1]', '"ids":[0]'),
        lambda text: text.replace('"ids":[1]', '"ids":[1,1]'),
        lambda text: text.replace('"part":null', '"part":{"run_id":"r","begin":1,"end":9}'),
        lambda text: "frog",
    ],
)
async def test_a_damaged_log_is_an_error(damage: object) -> None:
    assert callable(damage)
    documents = Recording()
    store = ConversationStore(documents)
    conversation = await store.create("c")
    conversation.append(user("hello"))
    await store.save(conversation)
    document = await documents.load("conversations", "c")
    assert document is not None
    conversation.append(user("again"))
    text = conversation.to_addition(1).to_json()
    assert damage(text) != text
    await documents.add_step(document, damage(text))

    with pytest.raises(StoredStateError, match="The conversation 'c' cannot be read; delete it, or restore it"):
        await store.load("c")
