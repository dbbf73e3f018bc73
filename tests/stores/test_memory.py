"""The store in memory."""

import base64
import gc
import random
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from random import Random

import pytest

from tactician.conversation import Conversation, ConversationStore
from tactician.errors import LeaseLostError, StoredStateError
from tactician.stores import DocumentStore, MemoryStore
from tactician.stores.document import AT_ONCE, PRIORITY_AGEING, Body, Lease, StoredDocument, StoredStep
from tactician.testing import FakeClock
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


@dataclass(frozen=True)
class Written:
    """Text as an object."""

    text: str

    def to_json(self) -> str:
        return self.text


class Refused:
    """What a store cannot keep as text."""

    def to_json(self) -> str:
        raise StoredStateError("it has no JSON form")


async def rest(store: DocumentStore, id: str, body: Body, *steps: Body) -> None:
    """Store a document that waits for somebody, and release it."""
    saved, lease = await store.add_and_claim(document(id, body=body, due_at=None), "w", HOUR)
    for number, step in enumerate(steps, 1):
        await store.append(lease, StoredStep(number, step))
    await store.save(replace(saved, header=f"header {id} {TEXT}", body=None), lease)
    await store.release(lease)


def read_all(found: StoredDocument | None, steps: Sequence[StoredStep]) -> tuple[str, str, list[str]]:
    assert found is not None
    return found.header, found.text, [step.text for step in steps]


TEXT = "Grüße, 世界 \U0001f438 " * 10


async def test_what_waits_reads_back_as_text_in_every_way() -> None:
    store = MemoryStore()
    for name in "ab":
        await rest(store, name, Written(f"body {name} {TEXT}"), Written(f"one {name} {TEXT}"), Written("{}"))

    for name, found in zip("ab", await store.find("docs"), strict=True):
        expected = (f"header {name} {TEXT}", f"body {name} {TEXT}", [f"one {name} {TEXT}", "{}"])
        steps = await store.load_steps("docs", name)
        assert read_all(found, steps) == expected
        assert read_all(await store.load("docs", name), steps) == expected
        taken = await store.claim("docs", "w", HOUR, id=name)
        assert taken is not None
        assert read_all(taken[0], steps) == expected


async def test_what_waits_is_worked_on_and_waits_once_more() -> None:
    store = MemoryStore()
    await rest(store, "d", Written(f"body {TEXT}"), Written(f"one {TEXT}"))
    for number in (2, 3):
        found, lease = await claimed(store)
        await store.append(lease, StoredStep(number, Written(f"{number} {TEXT}")))
        await store.save(replace(found, body=Written(f"body {number} {TEXT}")), lease)
        await store.release(lease)

    assert read_all(await store.load("docs", "d"), await store.load_steps("docs", "d")) == (
        f"header d {TEXT}",
        f"body 3 {TEXT}",
        [f"one {TEXT}", f"2 {TEXT}", f"3 {TEXT}"],
    )


async def test_what_waits_and_has_no_json_form_stays_as_it_is() -> None:
    store, body, step = MemoryStore(), Written(TEXT), Refused()
    await rest(store, "d", body, step)

    found, steps = await store.load("docs", "d"), await store.load_steps("docs", "d")

    assert found is not None
    assert (found.header, found.body, steps[0].body) == (f"header d {TEXT}", body, step)


async def test_many_kinds_of_documents_wait() -> None:
    store, names = MemoryStore(), [f"Agent{number}" for number in range(400)]
    for name in names:
        waiting = document(name, name=name, body=Written(f"{name} {TEXT}"), due_at=None)
        await store.release((await store.add_and_claim(waiting, "w", HOUR))[1])

    assert [found.text for found in await store.find("docs")] == [f"{name} {TEXT}" for name in names]


async def test_documents_that_wait_and_are_alike_share_their_text() -> None:
    store, text = MemoryStore(), "".join(map(chr, random.Random(1).choices(range(32, 127), k=30_000)))
    await rest(store, "first", Written(text))
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(100):
            await rest(store, str(number), Written(f"{text} {number}"))
        gc.collect()  # what the interpreter keeps for later is not the store's
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert size < 100 * 2500
    assert (await store.find("docs"))[-1].text == f"{text} 99"


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


async def test_what_waits_has_a_picture_once() -> None:
    picture = random.Random(5).randbytes(1_000_000)
    store, encoded = MemoryStore(), base64.b64encode(picture).decode()
    text = '{"kind": "image", "data": "%s"}'
    tracemalloc.start()
    try:
        for number in range(8):
            await rest(store, f"d{number}", f'{{"number": {number}, "picture": {text % encoded}}}', text % encoded)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 3 * len(picture)
    found, (step,) = await store.load("docs", "d3"), await store.load_steps("docs", "d3")
    assert found is not None
    assert found.text == f'{{"number": 3, "picture": {text % encoded}}}'
    assert step.text == text % encoded


@pytest.mark.parametrize("is_released", [False, True])
async def test_a_picture_is_found_by_its_hash(is_released: bool) -> None:
    store, picture = MemoryStore(), b"\x89PNG" + bytes(range(256)) * 2
    await store.save(document(body="{}", due_at=None))
    _, lease = await claimed(store)
    await store.append(lease, StoredStep(1, f'{{"data": "{base64.b64encode(picture).decode()}"}}'))
    if is_released:
        await store.release(lease)
    assert await store.load_attachment("docs", "d", sha256(picture).hexdigest()) == picture
    assert await store.load_attachment("docs", "d", sha256(b"").hexdigest()) is None


async def test_the_name_of_a_picture_in_a_text_is_no_picture() -> None:
    picture = bytes(1_000)
    store, encoded = MemoryStore(), base64.b64encode(picture).decode()
    name = f'{{"data": "attachment:sha256:{sha256(picture).hexdigest()}", "filling": "{TEXT}"}}'
    await rest(store, "a", f'{{"data": "{encoded}"}}')
    await rest(store, "b", name)

    found = await store.load("docs", "b")
    assert found is not None
    assert found.text == name


@pytest.mark.parametrize("seed", range(20))
async def test_claims_come_in_the_order_of_a_search_over_all_documents(seed: int) -> None:
    draw, clock = Random(seed), FakeClock()
    store, leases = MemoryStore(clock=clock), dict[str, Lease]()

    def rank(document: StoredDocument) -> tuple[float, int]:
        return (document.due_at or 0.0) - document.priority * PRIORITY_AGEING, document.number

    async def find_first(names: list[str], excluded: list[str]) -> str | None:
        free = [
            document
            for document in await store.find("runs")
            if document.due_at is not None
            and document.due_at <= clock.time()
            and not (document.is_closed or document.is_leased or document.id in excluded)
            and (not names or document.name in names)
        ]
        return min(free, key=rank).id if free else None

    async def change(run_id: str) -> None:
        saved = await store.load("runs", run_id)
        due_at = draw.choice([AT_ONCE, None, clock.time() + draw.randint(-50, 50)])
        document = StoredDocument(collection="runs", id=run_id, body="") if saved is None else saved
        await store.save(
            replace(
                document,
                is_closed=saved is not None and draw.random() < 0.2,
                name=draw.choice("ab"),
                priority=draw.randint(-2, 2),
                due_at=due_at,
            )
        )

    for _ in range(400):
        run_id = str(draw.randrange(30))
        match draw.randrange(6):
            case 0 | 1:
                await change(run_id)
            case 2 if run_id in leases:
                await store.release(leases.pop(run_id))
            case 3 if run_id in leases:
                with suppress(LeaseLostError):
                    leases[run_id] = await store.renew(leases[run_id], 60)
            case 4 if draw.random() < 0.2:
                await store.delete("runs", run_id)
            case _:
                clock.advance(draw.choice([0, 0, 5]))
        names = draw.choice([[], ["a"], ["a", "b"]])
        excluded = [str(draw.randrange(30))]
        first = await find_first(names, excluded)
        claimed = await store.claim("runs", "worker", draw.choice([1, 20]), names=names, excluded_ids=excluded)
        assert (None if claimed is None else claimed[0].id) == first
        if claimed is not None:
            leases[claimed[0].id] = claimed[1]
