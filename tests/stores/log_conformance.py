"""Tests of headers, keys, priorities, logs and pruning in every document store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from math import nan
from time import time
from typing import Any

import pytest

from tactician.errors import DocumentConflictError, LeaseLostError, StoredStateError
from tactician.stores import DocumentStore
from tactician.stores.document import AT_ONCE, Lease, StoredDocument, StoredStep
from tests.stores.conformance import HOUR, claimed, document, outcomes


async def added(store: DocumentStore, id: str = "d") -> tuple[StoredDocument, Lease]:
    return await store.add_and_claim(document(id), "w", HOUR)


async def read(store: DocumentStore, id: str = "d") -> StoredDocument:
    found = await store.load("docs", id)
    assert found is not None
    return found


async def bodies(store: DocumentStore, *, after: int = 0, until: int | None = None) -> list[str]:
    found = await store.load_steps("docs", "d", after=after, until=until)
    assert [one.number for one in found] == list(range(after + 1, after + 1 + len(found)))
    return [one.text for one in found]


class StateConformance:
    async def test_a_save_without_a_body_keeps_the_stored_one(self, store: DocumentStore, other: DocumentStore) -> None:
        saved = await store.save(document(body="[1]", header='{"turns": 1}'))

        changed = await store.save(replace(saved, body=None, status="waiting", header='{"turns": 2}'))

        assert (changed.body, changed.version) == (None, 2)
        loaded = await read(other)
        assert loaded == replace(changed, body="[1]")
        assert (loaded.text, loaded.status, loaded.header) == ("[1]", "waiting", '{"turns": 2}')
        _, lease = await claimed(other)
        await other.save(replace(loaded, body=None, header=""), lease)
        assert (await read(store)).text == "[1]"

    async def test_a_new_document_needs_a_body(self, store: DocumentStore) -> None:
        with pytest.raises(StoredStateError, match="docs/d cannot be stored: a new document needs a body"):
            await store.save(document(body=None))
        with pytest.raises(StoredStateError, match="a new document needs a body"):
            await store.add_and_claim(document(body=None), "w", HOUR)
        assert await store.list_ids("docs") == []

    async def test_documents_are_found_without_their_bodies(self, store: DocumentStore) -> None:
        saved = await store.save(document(header="{}"))

        (found,) = await store.find("docs", with_bodies=False)

        assert found == replace(saved, body=None)
        with pytest.raises(ValueError, match="docs/d was read without its body"):
            _ = found.text
        await store.save(replace(found, status="waiting"))
        assert (await read(store)).text == "{}"

    async def test_a_document_is_found_by_its_key(self, store: DocumentStore, other: DocumentStore) -> None:
        first = await store.save(document("d1", key="order 1"))
        await store.save(document("d2", key="order 2"))
        await store.save(document("d3"))
        await store.save(document("d4"))

        assert await other.find("docs", key="order 1") == [first]
        assert await other.find("docs", key="order 3") == []
        assert await other.find("letters", key="order 1") == []

    async def test_a_key_is_used_once_in_a_collection(self, store: DocumentStore, other: DocumentStore) -> None:
        first = await store.save(document("d1", key="order"))
        second = await store.save(document("d2"))

        with pytest.raises(DocumentConflictError, match="docs/d3 was not saved: docs/d1 has the same key"):
            await other.save(document("d3", key="order"))
        with pytest.raises(DocumentConflictError, match="docs/d3 was not saved: docs/d1 has the same key"):
            await other.add_and_claim(document("d3", key="order"), "w", HOUR)
        with pytest.raises(DocumentConflictError, match="docs/d2 was not saved: docs/d1 has the same key"):
            await other.save(replace(second, key="order"))

        assert await store.list_ids("docs") == ["d1", "d2"]
        assert await store.find("docs") == [first, second]
        await other.save(replace(document("d1", key="order"), collection="letters"))
        changed = await other.save(replace(first, body="[]"))
        await other.save(replace(changed, key=None))
        await store.save(document("d3", key="order"))
        await store.delete("docs", "d3")
        await store.save(replace(second, key="order"))

    async def test_of_many_who_use_a_key_one_succeeds(self, stores: list[DocumentStore]) -> None:
        saved, raised = await outcomes(stores[n % 4].save(document(f"d{n}", key="order")) for n in range(40))

        assert {type(error) for error in raised} == {DocumentConflictError}
        assert await stores[0].find("docs") == saved
        assert len(saved) == 1

    async def test_a_low_priority_is_claimed_once_it_has_waited_for_long(self, store: DocumentStore) -> None:
        for waited in (HOUR, 0):  # in seconds
            await store.save(document(f"low {waited}", due_at=time() - waited, priority=0))
            await store.save(document(f"high {waited}", due_at=time() - waited, priority=20))

        claims = [await store.claim("docs", "w", HOUR) for _ in range(4)]

        ids = [found[0].id for found in claims if found is not None]
        assert ids == [f"high {HOUR}", f"low {HOUR}", "high 0", "low 0"]

    @pytest.mark.parametrize("wrong", [{"priority": "high"}, {"priority": 2**31}, {"priority": True}, {"due_at": nan}])
    async def test_a_document_without_a_place_in_the_queue_is_refused(
        self, store: DocumentStore, wrong: dict[str, Any]
    ) -> None:
        with pytest.raises(StoredStateError, match=f"docs/d cannot be stored: its {next(iter(wrong))} is"):
            await store.save(document(**wrong))

        await store.save(document("fine"))
        found = await store.claim("docs", "w", HOUR)
        assert found is not None
        assert found[0].id == "fine"

    async def test_the_highest_priority_is_claimed_first(self, store: DocumentStore) -> None:
        for number, priority in enumerate([0, 5, -1, 5, 0]):
            await store.save(document(f"d{number}", priority=priority))
        await store.save(document("overdue", due_at=time() - 30))
        await store.save(document("later", due_at=time() + HOUR, priority=9))

        found = [await store.claim("docs", "w", HOUR) for _ in range(7)]

        ids = [None if one is None else one[0].id for one in found]
        assert ids == ["d1", "d3", "overdue", "d0", "d4", "d2", None]
        assert [one.priority for one in await store.find("docs")] == [0, 5, -1, 5, 0, 0, 9]

    async def test_who_reads_a_document_sees_that_it_is_leased(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        async def seen() -> bool:
            loaded = await read(other)
            assert [loaded.is_leased] == [one.is_leased for one in await other.find("docs", with_bodies=False)]
            return loaded.is_leased

        saved = await store.save(document())
        assert not await seen()
        running, lease = await claimed(store)
        assert running.is_leased
        assert await seen()
        await store.save(replace(saved, is_leased=False), lease)
        assert await seen()
        await store.release(lease)
        assert not await seen()
        expired, _ = await claimed(store, seconds=-1.0)
        assert not expired.is_leased
        assert not await seen()

    async def test_who_reads_a_document_sees_who_holds_it_and_until_when(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        _, lease = await claimed(store, "anna")
        held = await read(other)
        (listed,) = await other.find("docs", with_bodies=False)
        await store.release(lease)
        free = await read(other)

        assert (held.owner, listed.owner, free.owner) == ("anna", "anna", "")
        assert held.lease_ends_at == listed.lease_ends_at == lease.expires_at
        assert free.lease_ends_at is None

    async def test_statuses_are_counted(self, store: DocumentStore, other: DocumentStore) -> None:
        for number in range(3):
            await store.save(document(f"d{number}", status="waiting" if number else "running"))

        assert await other.count_statuses("docs") == {"running": 1, "waiting": 2}
        assert await other.count_statuses("nothing") == {}

    @pytest.mark.parametrize("text", ["a\ud83d", "\udc38b", "a\0b"])
    @pytest.mark.parametrize("field", ["key", "header"])
    async def test_a_state_that_no_database_has_is_refused(self, store: DocumentStore, field: str, text: str) -> None:
        broken = replace(document(), **{field: text})  # type: ignore[arg-type]  # one of the texts
        with pytest.raises(StoredStateError, match=f"The {field} cannot be stored: its character . is not valid: U+"):
            await store.save(broken)
        assert await store.list_ids("docs") == []

    async def test_a_filter_that_no_database_has_is_refused(self, store: DocumentStore) -> None:
        with pytest.raises(StoredStateError, match="The key cannot be stored"):
            await store.find("docs", key="a\ud83d")
        with pytest.raises(StoredStateError, match="The parent_id cannot be stored"):
            await store.find("docs", parent_id="a\0")
        with pytest.raises(StoredStateError, match="The name cannot be stored"):
            await store.find("docs", names=("a", "b\ud83d"))
        with pytest.raises(StoredStateError, match="The status cannot be stored"):
            await store.find("docs", statuses=("a\0",))


class LogConformance:
    async def test_steps_come_back_in_order(self, store: DocumentStore, other: DocumentStore) -> None:
        _, lease = await added(store)
        assert await bodies(other) == []
        for number in range(1, 13):
            await store.append(lease, StoredStep(number, f'{{"text": "Grüße {number}"}}'))

        found = await other.load_steps("docs", "d")

        assert [one.number for one in found] == list(range(1, 13))
        assert found[10].text == '{"text": "Grüße 11"}'
        assert all(time() - 60 < one.created_at < time() + 60 for one in found)
        assert [one.created_at for one in found] == sorted(one.created_at for one in found)
        assert await other.load_steps("docs", "d", after=3, until=5) == found[3:5]
        assert await other.load_steps("docs", "d", after=10) == found[10:]
        assert await other.load_steps("docs", "d", until=2) == found[:2]
        assert await other.load_steps("docs", "d", after=12) == await other.load_steps("docs", "d", until=0) == []
        assert await other.load_steps("docs", "e") == []

    async def test_a_document_knows_the_number_of_its_steps(self, store: DocumentStore, other: DocumentStore) -> None:
        saved, lease = await added(store)
        await added(store, "e")
        for number in (1, 2, 3):
            await store.append(lease, StoredStep(number, "{}"))

        assert (await read(other)).steps == 3
        assert [one.steps for one in await other.find("docs")] == [3, 0]
        assert [one.steps for one in await other.find("docs", with_bodies=False)] == [3, 0]
        await store.save(replace(saved, steps=7), lease)
        await store.release(lease)
        found, _ = await claimed(other)
        assert found.steps == 3
        assert found.version == 2, "a step is no save"

    @pytest.mark.parametrize("number", [0, 2, 4, -1])
    async def test_a_step_that_is_not_the_next_one_is_refused(self, store: DocumentStore, number: int) -> None:
        _, lease = await added(store)
        await store.append(lease, StoredStep(1, "1"))
        await store.append(lease, StoredStep(2, "2"))

        with pytest.raises(DocumentConflictError, match=f"Step {number} was not appended to docs/d: it is not the nex"):
            await store.append(lease, StoredStep(number, "x"))

        assert await bodies(store) == ["1", "2"]

    async def test_a_step_of_a_document_that_was_closed_is_refused(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        running, lease = await added(store)
        await other.save(replace(running, is_closed=True))

        with pytest.raises(DocumentConflictError, match="Step 1 was not appended to docs/d: the document is closed"):
            await store.append(lease, StoredStep(1, "1"))

        assert await bodies(other) == []

    async def test_who_thaws_after_its_lease_was_taken_appends_nothing(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        await store.save(document())
        _, old = await claimed(store, seconds=0.0)
        await store.append(old, StoredStep(1, "nobody else has claimed it yet"))
        _, new = await claimed(other, "x")

        with pytest.raises(LeaseLostError, match="docs/d has been taken by another worker"):
            await store.append(old, StoredStep(2, "old"))
        await other.append(new, StoredStep(2, "new"))
        with pytest.raises(LeaseLostError):
            await store.append(old, StoredStep(3, "old"))

        assert await bodies(store, after=1) == ["new"]

    async def test_a_lease_that_was_released_appends_nothing(self, store: DocumentStore) -> None:
        _, lease = await added(store)
        await store.release(lease)
        with pytest.raises(LeaseLostError):
            await store.append(lease, StoredStep(1, "1"))
        assert await bodies(store) == []

    async def test_a_document_that_is_not_there_has_no_log(self, store: DocumentStore) -> None:
        with pytest.raises(LeaseLostError):
            await store.append(Lease("docs", "d", "w", 0, time() + HOUR), StoredStep(1, "1"))
        await store.save(document())
        with pytest.raises(LeaseLostError):
            await store.append(Lease("docs", "d", "w", 0, time() + HOUR), StoredStep(1, "1"))

    async def test_of_many_who_append_the_same_step_one_succeeds(self, stores: list[DocumentStore]) -> None:
        _, lease = await added(stores[0])

        done, raised = await outcomes(stores[n % 4].append(lease, StoredStep(1, f"{n}")) for n in range(40))

        assert len(done) == 1
        assert {type(error) for error in raised} == {DocumentConflictError}
        assert len(await bodies(stores[1])) == 1

    async def test_nothing_is_appended_after_a_claim(self, stores: list[DocumentStore]) -> None:
        """Claims and appends of the one before at the same time: the claimer sees every step there will ever be."""
        for number in range(20):
            lease = (await stores[0].add_and_claim(document(f"d{number}"), "w", 0.0))[1]
            step = StoredStep(1, "old")
            attempts = [stores[n % 3].append(lease, step) for n in range(3)]
            found, _ = await outcomes([stores[3].claim("docs", "x", HOUR, id=f"d{number}"), *attempts])
            (claim,) = [one for one in found if one is not None]
            assert claim[0].steps == len(await stores[0].load_steps("docs", f"d{number}"))

    async def test_the_steps_of_a_deleted_document_are_gone(self, store: DocumentStore, other: DocumentStore) -> None:
        _, lease = await added(store)
        await store.append(lease, StoredStep(1, "1"))
        await other.delete("docs", "d")

        assert await bodies(store) == []
        with pytest.raises(LeaseLostError):
            await store.append(lease, StoredStep(2, "2"))
        await added(store)
        assert await bodies(store) == []
        assert (await read(store)).steps == 0

    @pytest.mark.parametrize("text", ["a\ud83d", "\udc38b", "a\0b"])
    async def test_a_step_that_no_database_has_is_refused(self, store: DocumentStore, text: str) -> None:
        _, lease = await added(store)
        with pytest.raises(StoredStateError, match=r"The body cannot be stored: its character . is not valid: U\+"):
            await store.append(lease, StoredStep(1, text))
        assert await bodies(store) == []


class RestConformance:
    async def test_a_new_document_has_its_first_step_at_once(self, store: DocumentStore, other: DocumentStore) -> None:
        _, lease = await store.add_and_claim(document(), "w", HOUR, StoredStep(1, "[1]"))

        assert await bodies(other) == ["[1]"]
        with pytest.raises(DocumentConflictError):
            await other.add_and_claim(document(), "x", HOUR, StoredStep(1, "[2]"))
        await store.append(lease, StoredStep(2, "[3]"))
        assert await bodies(other) == ["[1]", "[3]"]

    async def test_the_last_step_is_saved_with_the_document(self, store: DocumentStore, other: DocumentStore) -> None:
        first, lease = await store.add_and_claim(document(body="[]"), "w", HOUR, StoredStep(1, "[1]"))

        saved = await store.rest(replace(first, body=None, status="waiting", header="{}"), lease, StoredStep(2, "[2]"))

        found = await read(other)
        assert (found.version, found.status, found.header, found.text) == (saved.version, "waiting", "{}", "[]")
        assert (found.version, found.steps, found.is_leased) == (2, 2, False)
        assert await bodies(other) == ["[1]", "[2]"]
        with pytest.raises(LeaseLostError):
            await store.append(lease, StoredStep(3, "[3]"))
        _, next_lease = await claimed(other)
        assert next_lease.fence > lease.fence

    async def test_nothing_is_saved_of_a_rest_that_is_refused(self, store: DocumentStore, other: DocumentStore) -> None:
        first, lease = await store.add_and_claim(document(), "w", HOUR, StoredStep(1, "[1]"))
        resting = replace(first, body=None, status="waiting")

        with pytest.raises(DocumentConflictError):
            await store.rest(resting, lease, StoredStep(3, "[3]"))
        await store.release(lease)
        with pytest.raises(LeaseLostError):
            await store.rest(resting, lease, StoredStep(2, "[2]"))
        _, newer = await claimed(other)
        with pytest.raises(LeaseLostError):
            await store.rest(resting, lease, StoredStep(2, "[2]"))
        assert ((await read(other)).status, await bodies(other)) == (first.status, ["[1]"])
        closed = await other.save(replace(first, is_closed=True, status="killed"))
        with pytest.raises(DocumentConflictError):
            await other.rest(replace(closed, status="completed"), newer, StoredStep(2, "[2]"))

        assert ((await read(store)).status, await bodies(store)) == ("killed", ["[1]"])

    async def test_a_rest_after_another_save_is_refused(self, store: DocumentStore, other: DocumentStore) -> None:
        first, lease = await store.add_and_claim(document(), "w", HOUR)
        await other.save(replace(first, status="answered"))

        with pytest.raises(DocumentConflictError):
            await store.rest(replace(first, status="waiting"), lease, StoredStep(1, "[1]"))
        assert (await read(other)).status == "answered"


class VersionedLogConformance:
    """Tests of logs that are written without a lease: each step makes a version."""

    async def test_a_step_makes_a_version(self, store: DocumentStore, other: DocumentStore) -> None:
        saved = await store.save(document(body="[0]"))

        changed = await store.add_step(replace(saved, status="waiting"), '["Grüße"]')
        again = await other.add_step(changed, "[2]")

        assert (changed.version, changed.steps, changed.body) == (2, 1, None)
        loaded = await read(other)
        assert loaded == replace(again, body="[0]")
        assert (loaded.version, loaded.steps, loaded.status) == (3, 2, "waiting")
        assert await bodies(store) == ['["Grüße"]', "[2]"]

    async def test_a_step_that_comes_too_late_is_refused(self, store: DocumentStore, other: DocumentStore) -> None:
        saved = await store.save(document())
        changed = await other.add_step(saved, "1")

        for late in (store.add_step(saved, "late"), store.fold(replace(saved, body="late")), store.save(saved)):
            with pytest.raises(DocumentConflictError, match="docs/d was changed by another worker"):
                await late

        assert await read(store) == replace(changed, body="{}")
        assert await bodies(store) == ["1"]

    async def test_of_many_who_add_a_step_one_succeeds(self, stores: list[DocumentStore]) -> None:
        saved = await stores[0].save(document())

        done, raised = await outcomes(stores[n % 4].add_step(saved, f"{n}") for n in range(40))

        assert {type(error) for error in raised} == {DocumentConflictError}
        assert len(done) == len(await bodies(stores[1])) == 1

    async def test_a_body_takes_the_place_of_the_log(self, store: DocumentStore, other: DocumentStore) -> None:
        changed = await store.save(document())
        for number in (1, 2, 3):
            changed = await store.add_step(changed, f"{number}")

        folded = await other.fold(replace(changed, body="[1, 2, 3]"))

        assert (folded.version, folded.steps) == (5, 0)
        assert await read(store) == folded
        assert await bodies(store) == []
        await store.add_step(folded, "4")
        assert await bodies(other) == ["4"]
        assert (await read(other)).text == "[1, 2, 3]"

    async def test_steps_and_folds_at_the_same_time_lose_nothing(self, stores: list[DocumentStore]) -> None:
        await stores[0].save(document(body=""))

        async def write(store: DocumentStore, text: str, *, folds: bool) -> None:
            while True:
                found = await read(store)
                log = await store.load_steps("docs", "d", until=found.steps)
                try:
                    if folds:
                        await store.fold(replace(found, body=found.text + "".join(step.text for step in log) + text))
                    else:
                        await store.add_step(found, text)
                    return
                except DocumentConflictError:
                    continue

        await asyncio.gather(*(write(stores[n % 4], "abcdefghijkl"[n], folds=n % 3 == 0) for n in range(12)))

        found = await read(stores[0])
        assert found.version == 13
        assert sorted(found.text + "".join(await bodies(stores[1]))) == list("abcdefghijkl")

    async def test_a_new_document_has_no_steps(self, store: DocumentStore) -> None:
        with pytest.raises(StoredStateError, match="a new document needs a body"):
            await store.add_step(document(body=None), "1")
        with pytest.raises(DocumentConflictError):
            await store.add_step(document(version=1), "1")
        with pytest.raises(DocumentConflictError):
            await store.fold(document(version=1))
        assert await store.list_ids("docs") == []

    @pytest.mark.parametrize("text", ["a\ud83d", "\udc38b", "a\0b"])
    async def test_a_step_without_a_lease_that_no_database_has_is_refused(
        self, store: DocumentStore, text: str
    ) -> None:
        saved = await store.save(document())
        with pytest.raises(StoredStateError, match=r"The body cannot be stored: its character . is not valid: U\+"):
            await store.add_step(saved, text)
        assert await read(store) == saved


class PruneConformance:
    async def test_closed_documents_are_pruned_with_their_steps(
        self, store: DocumentStore, other: DocumentStore
    ) -> None:
        running, lease = await added(store, "d")
        await store.append(lease, StoredStep(1, "1"))
        closed = await store.save(replace(running, is_closed=True, status="completed", key="order"), lease)
        await store.save(document("open", status="completed"))
        await store.save(replace(document("letter", is_closed=True), collection="letters"))

        assert await other.prune("docs", HOUR) == 0
        assert await read(store) == closed
        assert await other.prune("docs", 0.0) == 1

        assert await store.list_ids("docs") == ["open"]
        assert await bodies(store) == []
        assert await store.list_ids("letters") == ["letter"]
        await store.save(document("again", key="order"))

    async def test_only_so_many_with_certain_statuses_are_pruned_oldest_first(self, store: DocumentStore) -> None:
        for number, status in enumerate(["failed", "completed", "killed", "completed", "failed"]):
            await store.save(document(f"d{number}", status=status, is_closed=True, due_at=AT_ONCE))

        assert await store.prune("docs", 0.0, statuses=("completed", "failed"), limit=3) == 3
        assert await store.list_ids("docs") == ["d2", "d4"]
        assert await store.prune("docs", 0.0, statuses=("completed",)) == 0
        assert await store.prune("docs", 0.0) == 2
