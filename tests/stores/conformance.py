"""Tests that every document store passes. A subclass says which store it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from time import time
from typing import Any, TypeVar

import pytest

from tactician.errors import DocumentConflictError, LeaseLostError, StoredStateError
from tactician.stores import DocumentStore
from tactician.stores.document import AT_ONCE, Lease, StoredDocument

T = TypeVar("T")
HOUR = 3600.0
CLAIMERS = 300


def document(id: str = "d", *, due_at: float | None = AT_ONCE, **fields: Any) -> StoredDocument:  # noqa: ANN401 - any fields
    plain = StoredDocument(
        collection="docs", id=id, body="{}", kind="process", name="Clerk", status="running", due_at=due_at
    )
    return replace(plain, due_at=due_at, **fields)


async def claimed(store: DocumentStore, owner: str = "w", seconds: float = HOUR) -> tuple[StoredDocument, Lease]:
    found = await store.claim("docs", owner, seconds, id="d")
    assert found is not None
    return found


async def outcomes(attempts: Iterable[Awaitable[T]]) -> tuple[list[T], list[BaseException]]:
    """What succeeded, and what was raised, of many at the same time."""
    done = await asyncio.gather(*attempts, return_exceptions=True)
    raised = [one for one in done if isinstance(one, BaseException)]
    return [one for one in done if not isinstance(one, BaseException)], raised


class DocumentConformance:
    @pytest.fixture
    async def opened(self) -> Callable[[], DocumentStore]:
        """Opens what is kept once more, as another machine would."""
        raise NotImplementedError

    @pytest.fixture
    async def stores(self, opened: Callable[[], DocumentStore]) -> AsyncIterator[list[DocumentStore]]:
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(opened()) for _ in range(4)]

    @pytest.fixture
    def store(self, stores: list[DocumentStore]) -> DocumentStore:
        return stores[0]

    @pytest.fixture
    def other(self, stores: list[DocumentStore]) -> DocumentStore:
        return stores[1]

    async def test_what_was_saved_comes_back(self, store: DocumentStore, other: DocumentStore) -> None:
        body = '{"text": "Grüße, 世界 \U0001f438 ' + "x" * 2_000_000 + '"}'
        given = document(due_at=1234.5, body=body, status="waiting", parent_id="p", is_closed=True)

        saved = await store.save(given)

        assert saved == replace(given, version=1, created_at=saved.created_at, updated_at=saved.updated_at)
        assert time() - 60 < saved.created_at == saved.updated_at < time() + 60
        assert await other.load("docs", "d") == saved
        plain = document(version=1, due_at=None, body="[]", kind="", name="", status="", is_closed=False)
        changed = await other.save(plain)
        assert changed == replace(plain, version=2, created_at=saved.created_at, updated_at=changed.updated_at)
        assert changed.updated_at >= saved.updated_at
        assert await store.load("docs", "d") == changed

    async def test_what_was_never_saved_is_none(self, store: DocumentStore) -> None:
        assert await store.load("docs", "d") is None
        assert await store.claim("docs", "w", HOUR, id="d") is None
        assert await store.claim("docs", "w", HOUR) is None
        assert await store.delete("docs", "d") is False

    async def test_of_two_who_change_a_document_the_second_is_told(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        saved = await store.save(document())
        await other.save(replace(saved, body="[1]"))

        with pytest.raises(DocumentConflictError, match="docs/d was changed by another worker"):
            await store.save(replace(saved, body="[2]"))
        with pytest.raises(DocumentConflictError):
            await store.save(document())
        with pytest.raises(DocumentConflictError):
            await store.save(replace(saved, version=9))

        kept = await store.load("docs", "d")
        assert kept is not None
        assert (kept.body, kept.version) == ("[1]", 2)

    @pytest.mark.parametrize("version", [0, 1])
    async def test_of_many_who_save_at_once_one_succeeds(self, stores: list[DocumentStore], version: int) -> None:
        if version:
            await stores[0].save(document())
        attempts = [document(version=version, body=f"[{number}]") for number in range(40)]

        saved, refused = await outcomes(stores[at % 4].save(attempt) for at, attempt in enumerate(attempts))

        assert len(saved) == 1
        assert {type(error) for error in refused} == {DocumentConflictError}
        assert await stores[1].load("docs", "d") == saved[0]

    async def test_a_new_document_is_its_owners_from_the_beginning(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        added, lease = await store.add_and_claim(document(), "w", HOUR)

        assert await other.load("docs", "d") == added
        assert added.version == 1
        assert (lease.collection, lease.id, lease.owner, lease.fence) == ("docs", "d", "w", 1)
        assert await other.claim("docs", "x", HOUR) is None
        assert await other.claim("docs", "x", HOUR, id="d") is None
        saved = await store.save(replace(added, body="[1]"), lease)
        with pytest.raises(DocumentConflictError):
            await other.add_and_claim(document(), "x", HOUR)
        await store.release(lease)
        found, newer = await claimed(other, "x")
        assert (found, newer.fence) == (saved, 2)

    async def test_of_many_who_add_a_document_one_succeeds(self, stores: list[DocumentStore]) -> None:
        added, raised = await outcomes(stores[n % 4].add_and_claim(document(), f"w{n}", HOUR) for n in range(40))

        assert len(added) == 1
        assert {type(error) for error in raised} == {DocumentConflictError}

    async def test_a_deleted_document_is_gone(self, store: DocumentStore, other: DocumentStore) -> None:
        saved = await store.save(document())
        found, lease = await claimed(store)
        assert await other.delete("docs", "d") is True

        assert await store.load("docs", "d") is None
        with pytest.raises(DocumentConflictError):
            await store.save(saved)
        with pytest.raises(LeaseLostError):
            await store.save(found, lease)
        with pytest.raises(LeaseLostError):
            await store.renew(lease, HOUR)
        assert (await store.save(document())).version == 1

    async def test_documents_are_found_by_what_they_are_oldest_first(self, store: DocumentStore) -> None:
        for number, status in enumerate(["waiting", "running", "waiting", "completed"]):
            name, parent_id = "Clerk" if number % 2 else "Bank", "p" if number > 1 else None
            await store.save(document(f"d{number}", status=status, name=name, parent_id=parent_id))
        first = await store.load("docs", "d0")
        assert first is not None
        await store.save(replace(first, body="[]"))

        async def ids(
            statuses: tuple[str, ...] = (),
            names: tuple[str, ...] = (),
            parent_id: str | None = None,
            limit: int = 1000,
        ) -> list[str]:
            found = await store.find("docs", statuses=statuses, names=names, parent_id=parent_id, limit=limit)
            return [one.id for one in found]

        assert await ids() == await store.list_ids("docs") == ["d0", "d1", "d2", "d3"]
        assert await ids(limit=2) == ["d0", "d1"]
        assert await ids(limit=0) == []
        assert await ids(("waiting",)) == ["d0", "d2"]
        assert await ids(("completed", "running")) == ["d1", "d3"]
        assert await ids(names=("Clerk",)) == ["d1", "d3"]
        assert await ids(("waiting", "running"), ("Bank", "Clerk")) == ["d0", "d1", "d2"]
        assert await ids(("waiting",), ("Clerk",)) == []
        assert await ids(parent_id="p") == ["d2", "d3"]
        assert await ids(("waiting",), parent_id="p") == ["d2"]

    async def test_documents_are_found_newest_first(self, store: DocumentStore) -> None:
        for number in range(4):
            await store.save(document(f"d{number}", parent_id="p" if number % 2 else "q"))

        async def ids(limit: int = 1000, parent_id: str | None = None) -> list[str]:
            found = await store.find("docs", parent_id=parent_id, limit=limit, with_bodies=False, newest_first=True)
            return [one.id for one in found]

        assert await ids() == ["d3", "d2", "d1", "d0"]
        assert await ids(limit=1) == ["d3"]
        assert await ids(parent_id="q") == ["d2", "d0"]

    @pytest.mark.parametrize("newest_first", [False, True])
    async def test_a_list_goes_on_after_a_document_that_may_be_gone(
        self, store: DocumentStore, other: DocumentStore, newest_first: bool
    ) -> None:
        for number in range(7):
            await store.save(document(id=f"d{number}", status="even" if number % 2 == 0 else "odd", body="{}"))
            await store.save(document(id=f"d{number}", collection="others", body="{}"))
        pages, after = [], None
        while found := await other.find("docs", limit=3, newest_first=newest_first, after=after):
            pages.append([one.id for one in found])
            after = found[-1].number
            await store.delete("docs", found[-1].id)
        odd = await store.find(
            "docs", statuses=["odd"], newest_first=newest_first, after=0 if not newest_first else 10**9
        )

        names = [f"d{number}" for number in range(7)][:: -1 if newest_first else 1]
        assert pages == [names[:3], names[3:6], names[6:]]
        assert [one.id for one in odd] == [
            name for name in names if name in ("d1", "d3", "d5") and name not in names[2::3]
        ]

    async def test_collections_have_nothing_in_common(self, store: DocumentStore) -> None:
        one = await store.save(document())
        other = await store.save(replace(document(), collection="letters", body="[]"))

        assert await store.load("docs", "d") == one
        assert await store.load("letters", "d") == other
        assert await store.find("letters") == [other]
        assert await store.list_ids("notes") == []
        _, lease = await claimed(store)
        found = await store.claim("letters", "x", HOUR)
        assert found is not None
        assert found[0] == other
        await store.release(lease)
        assert await store.delete("docs", "d")
        assert (await store.renew(found[1], HOUR)).fence == 1
        assert await store.load("letters", "d") == other

    @pytest.mark.parametrize(
        ("due_at", "is_closed", "by_anybody", "by_id"),
        [
            (AT_ONCE, False, True, True),
            (1.0, False, True, True),
            (1e11, False, False, True),
            (None, False, False, True),
            (AT_ONCE, True, False, False),
        ],
    )
    async def test_which_documents_can_be_claimed(
        self, store: DocumentStore, due_at: float | None, is_closed: bool, by_anybody: bool, by_id: bool
    ) -> None:
        saved = await store.save(document(due_at=due_at, is_closed=is_closed))

        assert (await store.claim("docs", "w", 0.0) is not None) is by_anybody
        found = await store.claim("docs", "w", HOUR, id="d")

        assert (found is not None) is by_id
        if found is not None:
            assert found[0] == saved
            assert (found[1].id, found[1].owner, found[1].fence) == ("d", "w", 2 if by_anybody else 1)
            assert time() < found[1].expires_at <= time() + HOUR + 5

    async def test_only_what_was_asked_for_is_claimed(self, store: DocumentStore) -> None:
        await store.save(document("d1", name="Clerk"))
        await store.save(document("d2", name="Bank"))

        assert await store.claim("docs", "w", HOUR, names=("Shop",)) is None
        assert await store.claim("docs", "w", HOUR, id="d2", names=("Clerk",)) is None
        found = await store.claim("docs", "w", HOUR, names=("Shop", "Bank"))
        assert found is not None
        assert found[0].id == "d2"

    async def test_what_is_excluded_is_not_claimed(self, store: DocumentStore) -> None:
        for number in range(3):
            await store.save(document(f"d{number}"))

        assert await store.claim("docs", "w", HOUR, id="d0", excluded_ids=("d0",)) is None
        assert await store.claim("docs", "w", HOUR, excluded_ids=("d0", "d1", "d2")) is None
        found = await store.claim("docs", "w", HOUR, excluded_ids=("d0", "d1"))
        assert found is not None
        assert found[0].id == "d2"

    async def test_what_was_due_first_is_claimed_first(self, store: DocumentStore) -> None:
        for number in range(4):
            await store.save(document(f"d{number}"))
        await store.save(document("overdue", due_at=time() - HOUR))
        for name in ("d1", "d2"):  # these keep their places
            saved = await store.load("docs", name)
            assert saved is not None
            await store.save(replace(saved, body="[]", due_at=AT_ONCE))

        found = [await store.claim("docs", "w", HOUR) for _ in range(5)]

        assert [one[0].id for one in found if one is not None] == ["overdue", "d0", "d1", "d2", "d3"]

    async def test_each_document_is_claimed_once(self, stores: list[DocumentStore]) -> None:
        for number in range(100):
            await stores[0].save(document(f"d{number}"))

        found, raised = await outcomes(stores[at % 4].claim("docs", f"w{at}", HOUR) for at in range(CLAIMERS))

        assert raised == []
        taken = [one for one in found if one is not None]
        assert sorted(one[0].id for one in taken) == sorted(f"d{number}" for number in range(100))
        assert {lease.fence for _, lease in taken} == {1}
        assert len({lease.owner for _, lease in taken}) == 100

    async def test_of_many_who_claim_a_document_by_its_id_one_gets_it(self, stores: list[DocumentStore]) -> None:
        await stores[0].save(document(due_at=None))

        found, raised = await outcomes(stores[at % 4].claim("docs", f"w{at}", HOUR, id="d") for at in range(CLAIMERS))

        assert raised == []
        assert len([one for one in found if one is not None]) == 1

    async def test_what_is_held_is_claimed_when_it_is_released(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        _, first = await claimed(store)
        assert await other.claim("docs", "x", HOUR) is None
        assert await other.claim("docs", "x", HOUR, id="d") is None

        await store.release(first)

        _, second = await claimed(other, "x")
        assert (second.owner, second.fence) == ("x", first.fence + 1)

    async def test_a_claim_that_is_cancelled_after_any_step_leaves_no_lease(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        for steps in range(1, 50):
            claim = asyncio.ensure_future(store.claim("docs", "w", HOUR, id="d"))
            for _ in range(steps):
                await asyncio.sleep(0)
            claim.cancel()
            taken, _ = await outcomes([claim])
            for found in taken:
                assert found is not None
                await store.release(found[1])

            _, lease = await claimed(other, "x")
            await other.release(lease)

    async def test_a_lease_is_taken_over_when_it_ends_and_not_before(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        _, first = await claimed(store, seconds=0.2)

        async with asyncio.timeout(20):
            while (found := await other.claim("docs", "x", HOUR)) is None:  # noqa: ASYNC110 - a store tells nobody
                await asyncio.sleep(0)

        assert found[1].expires_at - HOUR >= first.expires_at - 0.001
        assert found[1].fence == first.fence + 1

    async def test_who_thaws_after_its_lease_was_taken_is_fenced_out(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        frozen, old = await claimed(store, seconds=0.0)
        _, new = await claimed(other, "x")

        with pytest.raises(LeaseLostError, match="docs/d has been taken by another worker"):
            await store.save(replace(frozen, body="[1]"), old)
        with pytest.raises(LeaseLostError):
            await store.renew(old, HOUR)
        await store.release(old)

        assert await store.claim("docs", "y", HOUR, id="d") is None, "it could release only what was its own"
        saved = await other.save(replace(frozen, body="[2]"), new)
        assert (saved.body, saved.version) == ("[2]", 2)

    async def test_a_heartbeat_keeps_a_lease(self, store: DocumentStore, other: DocumentStore) -> None:
        await store.save(document())
        _, lease = await claimed(store, seconds=0.0)

        renewed = await store.renew(lease, HOUR)

        assert renewed == replace(lease, expires_at=renewed.expires_at)
        assert renewed.expires_at >= lease.expires_at + HOUR
        assert await other.claim("docs", "x", HOUR) is None

    async def test_a_lease_is_renewed_from_another_thread(self, store: DocumentStore, other: DocumentStore) -> None:
        await store.save(document())
        _, lease = await claimed(store, seconds=0.0)

        renewed = await asyncio.to_thread(lambda: asyncio.run(store.renew(lease, HOUR)))

        assert renewed.expires_at >= lease.expires_at + HOUR
        assert await other.claim("docs", "x", HOUR) is None

    async def test_a_lease_that_was_released_cannot_be_renewed(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        _, lease = await claimed(store)
        await store.release(lease)

        with pytest.raises(LeaseLostError):
            await store.renew(lease, HOUR)

        assert await other.claim("docs", "x", HOUR, id="d") is not None, "a heartbeat that is late takes nothing"

    async def test_its_holder_saves_a_document_again_and_again(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        current, lease = await claimed(store)
        for number in range(5):
            current = await store.save(replace(current, body=f"[{number}]"), lease)

        assert await other.load("docs", "d") == current
        assert current.version == 6
        assert await other.claim("docs", "x", HOUR) is None, "a save does not end the lease"

    async def test_the_holder_learns_that_somebody_without_a_lease_has_closed_the_document(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        running, lease = await claimed(store)
        await other.save(replace(running, is_closed=True))

        with pytest.raises(DocumentConflictError):
            await store.save(running, lease)
        await store.release(lease)
        assert await other.claim("docs", "x", HOUR) is None

    async def test_a_document_is_claimed_when_it_is_due(self, store: DocumentStore) -> None:
        await store.save(document("late", due_at=time() + HOUR))
        assert await store.claim("docs", "w", HOUR) is None
        await store.save(document("due", due_at=time() - HOUR))

        found = await store.claim("docs", "w", HOUR)

        assert found is not None
        assert found[0].id == "due"
        waiting = await store.save(replace(found[0], due_at=time() + HOUR), found[1])
        await store.release(found[1])
        assert await store.claim("docs", "w", HOUR) is None, "it is due later now"
        waiting = await store.save(replace(waiting, due_at=None))
        assert await store.claim("docs", "w", HOUR) is None, "it is not due any more"
        await store.save(replace(waiting, due_at=AT_ONCE))
        assert await store.claim("docs", "w", HOUR) is not None

    @pytest.mark.parametrize("text", ["a\ud83d", "\udc38b", "a\0b"])
    @pytest.mark.parametrize("field", ["id", "name", "status", "parent_id", "body"])
    async def test_a_text_that_no_database_has_is_refused(self, store: DocumentStore, field: str, text: str) -> None:
        broken = replace(document(), **{field: text})  # type: ignore[arg-type]  # one of the texts
        with pytest.raises(StoredStateError, match=f"The {field} cannot be stored: its character . is not valid: U+"):
            await store.save(broken)
        with pytest.raises(StoredStateError, match=f"The {field} cannot be stored"):
            await store.add_and_claim(broken, "w", HOUR)
        assert await store.list_ids("docs") == []

    async def test_an_id_that_no_database_has_is_refused(self, store: DocumentStore) -> None:
        with pytest.raises(StoredStateError, match=r"The id cannot be stored.*U\+D83D"):
            await store.load("docs", "a\ud83d")
        with pytest.raises(StoredStateError, match=r"The id cannot be stored.*U\+0000"):
            await store.delete("docs", "a\0b")
        with pytest.raises(StoredStateError):
            await store.claim("docs", "w", HOUR, id="a\ud83d")
        with pytest.raises(StoredStateError):
            await store.claim("docs", "\ud83d", HOUR)
        with pytest.raises(StoredStateError):
            await store.add_and_claim(document(), "\ud83d", HOUR)
