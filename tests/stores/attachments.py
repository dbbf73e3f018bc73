"""What every store in a database keeps to with pictures in the texts of documents."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from hashlib import sha256
from random import Random

from tactician.conversation import Conversation, ConversationStore
from tactician.llm import Image, Text, UserMessage
from tactician.stores import DocumentStore
from tactician.stores.document import StoredStep
from tests.stores.conformance import claimed, document

CountAttachments = Callable[[], Awaitable[int]]
PICTURE = b"\x89PNG\r\n\x1a\n" + Random(3).randbytes(3_000)


def write(content: bytes = PICTURE, **fields: object) -> str:
    return json.dumps({"kind": "image", "data": base64.b64encode(content).decode(), **fields})


class AttachmentConformance:
    """Tests for a class with the fixtures `store`, `other` and `count_attachments`."""

    async def test_a_picture_is_stored_once(self, store: DocumentStore, count_attachments: CountAttachments) -> None:
        kept = [await store.save(document(id=f"d{number}", body=write(number=number))) for number in range(3)]
        await store.save(replace(kept[0], body=write(number=0, changed=True)))
        assert await count_attachments() == 1
        loaded = await store.load("docs", "d0")
        assert loaded is not None
        assert loaded.text == write(number=0, changed=True)
        assert [found.text for found in await store.find("docs")][1:] == [write(number=1), write(number=2)]

    async def test_steps_have_pictures(self, store: DocumentStore, other: DocumentStore) -> None:
        await store.save(document())
        _, lease = await claimed(store)
        await store.append(lease, StoredStep(1, write(step=1)))
        await store.append(lease, StoredStep(2, "{}"))
        assert [step.text for step in await other.load_steps("docs", "d")] == [write(step=1), "{}"]

    async def test_a_log_has_pictures_until_it_is_folded(self, store: DocumentStore, other: DocumentStore) -> None:
        saved = await store.save(document(body=write(b"a" * 2_000)))
        saved = await store.add_step(saved, write())
        assert [step.text for step in await other.load_steps("docs", "d")] == [write()]
        await store.fold(replace(saved, body=write(folded=True)))
        loaded = await other.load("docs", "d")
        assert loaded is not None
        assert loaded.text == write(folded=True)

    async def test_who_claims_a_document_has_its_pictures(self, store: DocumentStore, other: DocumentStore) -> None:
        added, _ = await store.add_and_claim(document(body=write()), "w", 0.0)
        found, _ = await claimed(other)
        assert found.text == added.text == write()

    async def test_a_picture_goes_with_its_last_document(
        self, store: DocumentStore, count_attachments: CountAttachments
    ) -> None:
        for name in ("a", "b"):
            await store.save(document(id=name, body=write(), is_closed=name == "b"))
        await store.delete("docs", "a")
        assert await count_attachments() == 1
        assert await store.prune("docs", 0.0) == 1
        assert await count_attachments() == 0

    async def test_the_name_of_a_picture_is_only_a_text_elsewhere(self, store: DocumentStore) -> None:
        await store.save(document(id="secret", body=write()))
        forged = json.dumps({"data": f"attachment:sha256:{_name(PICTURE)}"})
        await store.save(document(id="forged", body=forged))
        loaded = await store.load("docs", "forged")
        assert loaded is not None
        assert loaded.text == forged

    async def test_what_only_looks_like_base64_stays_as_it_is(
        self, store: DocumentStore, count_attachments: CountAttachments
    ) -> None:
        for text in ("A" * 1_001, "A" * 1_001 + "=", "B" * 1_000 + "C=", "a" * 511):
            body = json.dumps({"data": text})
            saved = await store.save(document(body=body))
            loaded = await store.load("docs", saved.id)
            assert loaded is not None
            assert loaded.text == body
            await store.delete("docs", saved.id)
        assert await count_attachments() == 0

    async def test_a_picture_is_found_by_its_hash_in_its_document_only(self, store: DocumentStore) -> None:
        await store.save(document(body=write()))
        await store.save(document(id="other", body="{}"))
        _, lease = await claimed(store)
        await store.append(lease, StoredStep(1, write(PICTURE * 2)))
        names = [_name(PICTURE), _name(PICTURE * 2), _name(b"")]
        assert [await store.load_attachment("docs", "d", name) for name in names] == [PICTURE, PICTURE * 2, None]
        assert await store.load_attachment("docs", "other", names[0]) is None
        assert await store.load_attachment("docs", "unknown", names[0]) is None

    async def test_writers_and_deleters_do_not_lose_a_picture(self, store: DocumentStore, other: DocumentStore) -> None:
        for _ in range(10):
            await store.save(document(id="old", body=write()))
            await asyncio.gather(store.delete("docs", "old"), other.save(document(id="new", body=write())))
            loaded = await store.load("docs", "new")
            assert loaded is not None
            assert loaded.text == write()
            await store.delete("docs", "new")

    async def test_a_conversation_has_its_pictures(
        self, store: DocumentStore, other: DocumentStore, count_attachments: CountAttachments
    ) -> None:
        picture = Image.from_bytes(PICTURE)
        talk = Conversation([UserMessage((Text("this?"), picture))], id="talk")
        await ConversationStore(store).save(talk)
        talk.append(UserMessage((picture,)))
        await ConversationStore(store).save(talk)
        loaded = await ConversationStore(other).load("talk")
        assert loaded is not None
        assert loaded.to_tuple() == talk.to_tuple()
        assert await count_attachments() == 1

    async def test_a_picture_goes_with_its_message(
        self, store: DocumentStore, count_attachments: CountAttachments
    ) -> None:
        talk = Conversation([UserMessage((Text("first"), Image.from_bytes(PICTURE)))], id="talk")
        await ConversationStore(store).save(talk)
        talk.append(UserMessage((Text("second"), Image.from_bytes(PICTURE * 2))))
        await ConversationStore(store).save(talk)
        talk.remove(talk.ids[0])
        await ConversationStore(store).save(talk)
        assert await store.load_attachment("conversations", "talk", _name(PICTURE)) is None
        assert await store.load_attachment("conversations", "talk", _name(PICTURE * 2)) == PICTURE * 2
        assert await count_attachments() == 1


def _name(content: bytes) -> str:
    return sha256(content).hexdigest()
