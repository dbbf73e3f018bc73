"""What every store of runs keeps to. A subclass says which store it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from time import time
from typing import TypeVar

import pytest

from tactician.errors import LeaseLostError, RunConflictError
from tactician.runs import Lease, RunRecord, RunStore

T = TypeVar("T")
HOUR = 3600.0
CLAIMERS = 300


def record(run_id: str = "r", status: str = "running", name: str = "Clerk", wakes_at: float | None = None) -> RunRecord:
    return RunRecord(run_id, name, status, "{}", kind="process", wakes_at=wakes_at)


async def taken(store: RunStore, owner: str = "w", seconds: float = HOUR, run_id: str = "r") -> tuple[RunRecord, Lease]:
    claimed = await store.claim(owner, seconds, run_id=run_id)
    assert claimed is not None
    return claimed


async def outcomes(attempts: Iterable[Awaitable[T]]) -> tuple[list[T], list[BaseException]]:
    """What succeeded, and what was raised, of many at the same time."""
    done = await asyncio.gather(*attempts, return_exceptions=True)
    raised = [one for one in done if isinstance(one, BaseException)]
    return [one for one in done if not isinstance(one, BaseException)], raised


class RunStoreConformance:
    @pytest.fixture
    async def opened(self) -> Callable[[], RunStore]:
        """Opens what is kept once more, as another machine would."""
        raise NotImplementedError

    @pytest.fixture
    async def stores(self, opened: Callable[[], RunStore]) -> AsyncIterator[list[RunStore]]:
        async with AsyncExitStack() as stack:
            stores = [opened() for _ in range(4)]
            for store in stores:
                stack.push_async_callback(store.aclose)
            yield stores

    @pytest.fixture
    def store(self, stores: list[RunStore]) -> RunStore:
        return stores[0]

    @pytest.fixture
    def other(self, stores: list[RunStore]) -> RunStore:
        return stores[1]

    async def test_what_was_saved_comes_back(self, store: RunStore, other: RunStore) -> None:
        state = '{"text": "Grüße, 世界 \U0001f438 ' + "x" * 2_000_000 + '"}'
        given = RunRecord("r", "Clerk", "waiting", state, kind="process", parent_id="p", wakes_at=1234.5)

        saved = await store.save(given)

        assert saved == replace(given, version=1)
        assert await other.load("r") == saved
        changed = await other.save(replace(saved, status="completed", state="[]", wakes_at=None))
        assert await store.load("r") == changed == RunRecord("r", "Clerk", "completed", "[]", 2, "process", "p", None)

    async def test_what_was_never_saved_is_none(self, store: RunStore) -> None:
        assert await store.load("r") is None
        assert await store.claim("w", HOUR, run_id="r") is None
        assert await store.claim("w", HOUR) is None
        await store.delete("r")

    async def test_of_two_who_change_a_record_the_second_is_told(self, store: RunStore, other: RunStore) -> None:
        saved = await store.save(record())
        await other.save(replace(saved, state="[1]"))

        with pytest.raises(RunConflictError, match="The run r has been changed by somebody else"):
            await store.save(replace(saved, state="[2]"))
        with pytest.raises(RunConflictError):
            await store.save(record())
        with pytest.raises(RunConflictError):
            await store.save(replace(saved, version=9))

        kept = await store.load("r")
        assert kept is not None
        assert (kept.state, kept.version) == ("[1]", 2)

    @pytest.mark.parametrize("version", [0, 1])
    async def test_of_many_who_save_at_once_one_succeeds(self, stores: list[RunStore], version: int) -> None:
        if version:
            await stores[0].save(record())
        attempts = [replace(record(), version=version, state=f"[{number}]") for number in range(40)]

        saved, refused = await outcomes(stores[at % 4].save(attempt) for at, attempt in enumerate(attempts))

        assert len(saved) == 1
        assert {type(error) for error in refused} == {RunConflictError}
        assert await stores[1].load("r") == saved[0]

    async def test_a_new_run_is_its_owners_from_the_beginning(self, store: RunStore, other: RunStore) -> None:
        added, lease = await store.add(record(), "w", HOUR)

        assert await other.load("r") == added == replace(record(), version=1)
        assert (lease.run_id, lease.owner, lease.fence) == ("r", "w", 1)
        assert await other.claim("x", HOUR) is None
        assert await other.claim("x", HOUR, run_id="r") is None
        saved = await store.save(replace(added, state="[1]"), lease)
        with pytest.raises(RunConflictError):
            await other.add(record(), "x", HOUR)
        await store.release(lease)
        claimed, newer = await taken(other, "x")
        assert (claimed, newer.fence) == (saved, 2)

    async def test_of_many_who_add_a_run_one_succeeds(self, stores: list[RunStore]) -> None:
        added, raised = await outcomes(stores[n % 4].add(record(), f"w{n}", HOUR) for n in range(40))

        assert len(added) == 1
        assert {type(error) for error in raised} == {RunConflictError}

    async def test_a_deleted_record_is_gone(self, store: RunStore, other: RunStore) -> None:
        saved = await store.save(record())
        claimed, lease = await taken(store)
        await other.delete("r")

        assert await store.load("r") is None
        with pytest.raises(RunConflictError):
            await store.save(saved)
        with pytest.raises(LeaseLostError):
            await store.save(claimed, lease)
        with pytest.raises(LeaseLostError):
            await store.renew(lease, HOUR)
        assert (await store.save(record())).version == 1

    async def test_records_are_found_by_status_and_name_oldest_first(self, store: RunStore) -> None:
        for number, status in enumerate(["waiting", "running", "waiting", "completed"]):
            await store.save(record(f"r{number}", status, "Clerk" if number % 2 else "Bank"))
        first = await store.load("r0")
        assert first is not None
        await store.save(replace(first, state="[]"))

        async def ids(statuses: tuple[str, ...] = (), names: tuple[str, ...] = (), limit: int = 1000) -> list[str]:
            return [one.run_id for one in await store.records(statuses=statuses, names=names, limit=limit)]

        assert await ids() == ["r0", "r1", "r2", "r3"]
        assert await ids(limit=2) == ["r0", "r1"]
        assert await ids(limit=0) == []
        assert await ids(("waiting",)) == ["r0", "r2"]
        assert await ids(("completed", "running")) == ["r1", "r3"]
        assert await ids(names=("Clerk",)) == ["r1", "r3"]
        assert await ids(("waiting", "running"), ("Bank", "Clerk")) == ["r0", "r1", "r2"]
        assert await ids(("waiting",), ("Clerk",)) == []

    @pytest.mark.parametrize(
        ("status", "by_anybody", "by_id"),
        [
            ("running", True, True),
            ("not started", True, True),
            ("waiting", False, True),
            ("paused", False, True),
            ("stuck", False, True),
            ("completed", False, False),
            ("failed", False, False),
            ("terminated", False, False),
            ("killed", False, False),
        ],
    )
    async def test_which_runs_can_be_claimed(self, store: RunStore, status: str, by_anybody: bool, by_id: bool) -> None:
        saved = await store.save(record(status=status))

        assert (await store.claim("w", 0.0) is not None) is by_anybody
        claimed = await store.claim("w", HOUR, run_id="r")

        assert (claimed is not None) is by_id
        if claimed is not None:
            assert claimed[0] == saved
            assert (claimed[1].run_id, claimed[1].owner, claimed[1].fence) == ("r", "w", 2 if by_anybody else 1)
            assert time() < claimed[1].expires_at <= time() + HOUR + 5

    async def test_only_what_was_asked_for_is_claimed(self, store: RunStore) -> None:
        await store.save(record("r1", name="Clerk"))
        await store.save(record("r2", name="Bank"))

        assert await store.claim("w", HOUR, names=("Shop",)) is None
        assert await store.claim("w", HOUR, run_id="r2", names=("Clerk",)) is None
        claimed = await store.claim("w", HOUR, names=("Shop", "Bank"))
        assert claimed is not None
        assert claimed[0].run_id == "r2"

    async def test_what_is_passed_over_is_not_claimed(self, store: RunStore) -> None:
        for number in range(3):
            await store.save(record(f"r{number}"))

        assert await store.claim("w", HOUR, run_id="r0", passing_over=("r0",)) is None
        assert await store.claim("w", HOUR, passing_over=("r0", "r1", "r2")) is None
        claimed = await store.claim("w", HOUR, passing_over=("r0", "r1"))
        assert claimed is not None
        assert claimed[0].run_id == "r2"

    async def test_the_oldest_is_claimed_first(self, store: RunStore) -> None:
        for number in range(5):
            await store.save(record(f"r{number}"))
        second = await store.load("r1")
        assert second is not None
        await store.save(replace(second, state="[]"))

        claimed = [await store.claim("w", HOUR) for _ in range(5)]

        assert [one[0].run_id for one in claimed if one is not None] == ["r0", "r1", "r2", "r3", "r4"]

    async def test_each_run_is_claimed_once(self, stores: list[RunStore]) -> None:
        for number in range(100):
            await stores[0].save(record(f"r{number}"))

        claimed, raised = await outcomes(stores[at % 4].claim(f"w{at}", HOUR) for at in range(CLAIMERS))

        assert raised == []
        found = [one for one in claimed if one is not None]
        assert sorted(one[0].run_id for one in found) == sorted(f"r{number}" for number in range(100))
        assert {lease.fence for _, lease in found} == {1}
        assert len({lease.owner for _, lease in found}) == 100

    async def test_of_many_who_claim_a_run_by_its_id_one_gets_it(self, stores: list[RunStore]) -> None:
        await stores[0].save(record(status="waiting"))

        claimed, raised = await outcomes(stores[at % 4].claim(f"w{at}", HOUR, run_id="r") for at in range(CLAIMERS))

        assert raised == []
        assert len([one for one in claimed if one is not None]) == 1

    async def test_a_run_that_is_held_is_claimed_when_it_is_given_back(self, store: RunStore, other: RunStore) -> None:
        await store.save(record())
        _, first = await taken(store)
        assert await other.claim("x", HOUR) is None
        assert await other.claim("x", HOUR, run_id="r") is None

        await store.release(first)

        _, second = await taken(other, "x")
        assert (second.owner, second.fence) == ("x", first.fence + 1)

    async def test_a_lease_is_taken_over_when_it_ends_and_not_before(self, store: RunStore, other: RunStore) -> None:
        await store.save(record())
        _, first = await taken(store, seconds=0.2)

        async with asyncio.timeout(20):
            while (claimed := await other.claim("x", HOUR)) is None:  # noqa: ASYNC110 - a store tells nobody
                await asyncio.sleep(0)

        assert claimed[1].expires_at - HOUR >= first.expires_at - 0.001
        assert claimed[1].fence == first.fence + 1

    async def test_who_thaws_after_its_lease_was_taken_is_fenced_out(self, store: RunStore, other: RunStore) -> None:
        await store.save(record())
        frozen, old = await taken(store, seconds=0.0)
        _, new = await taken(other, "x")

        with pytest.raises(LeaseLostError, match="The run r has been taken by another worker"):
            await store.save(replace(frozen, state="[1]"), old)
        with pytest.raises(LeaseLostError):
            await store.renew(old, HOUR)
        await store.release(old)

        assert await store.claim("y", HOUR, run_id="r") is None, "it could give back only what was its own"
        saved = await other.save(replace(frozen, state="[2]"), new)
        assert (saved.state, saved.version) == ("[2]", 2)

    async def test_a_heartbeat_keeps_a_lease(self, store: RunStore, other: RunStore) -> None:
        await store.save(record())
        _, lease = await taken(store, seconds=0.0)

        renewed = await store.renew(lease, HOUR)

        assert renewed == replace(lease, expires_at=renewed.expires_at)
        assert renewed.expires_at >= lease.expires_at + HOUR
        assert await other.claim("x", HOUR) is None

    async def test_a_lease_that_was_given_back_cannot_be_renewed(self, store: RunStore, other: RunStore) -> None:
        await store.save(record())
        _, lease = await taken(store)
        await store.release(lease)

        with pytest.raises(LeaseLostError):
            await store.renew(lease, HOUR)

        assert await other.claim("x", HOUR, run_id="r") is not None, "a heartbeat that is late takes nothing"

    async def test_its_holder_saves_a_run_again_and_again(self, store: RunStore, other: RunStore) -> None:
        await store.save(record())
        current, lease = await taken(store)
        for number in range(5):
            current = await store.save(replace(current, state=f"[{number}]"), lease)

        assert await other.load("r") == current
        assert current.version == 6
        assert await other.claim("x", HOUR) is None, "a save does not end the lease"

    async def test_the_holder_learns_that_somebody_without_a_lease_has_killed_the_run(
        self, store: RunStore, other: RunStore
    ) -> None:
        await store.save(record())
        running, lease = await taken(store)
        await other.save(replace(running, status="killed"))

        with pytest.raises(RunConflictError):
            await store.save(running, lease)
        await store.release(lease)
        assert await other.claim("x", HOUR) is None

    async def test_a_run_that_waits_is_claimed_when_it_has_to_wake(self, store: RunStore) -> None:
        await store.save(record("late", "waiting", wakes_at=time() + HOUR))
        await store.save(record("ended", "completed", wakes_at=time() - HOUR))
        assert await store.claim("w", HOUR) is None
        await store.save(record("due", "waiting", wakes_at=time() - HOUR))

        claimed = await store.claim("w", HOUR)

        assert claimed is not None
        assert claimed[0].run_id == "due"
        waiting = await store.save(replace(claimed[0], wakes_at=time() + HOUR), claimed[1])
        await store.release(claimed[1])
        assert await store.claim("w", HOUR) is None, "it has to wake later now"
        await store.save(replace(waiting, wakes_at=None))
        assert await store.claim("w", HOUR) is None, "it does not have to wake any more"

    async def test_a_run_that_goes_on_can_be_claimed(self, store: RunStore) -> None:
        waiting = await store.save(record(status="waiting"))
        running = await store.save(replace(waiting, status="running"))
        claimed = await store.claim("w", HOUR)
        assert claimed is not None
        assert claimed[0] == running
        await store.release(claimed[1])

        await store.save(replace(running, status="completed"))

        assert await store.claim("w", HOUR) is None

    async def test_contexts_are_kept(self, stores: list[RunStore]) -> None:
        store, other = stores[:2]
        assert await store.load_context("lynda") is None

        assert await store.save_context("lynda", "[1]", 0) == 1
        assert await other.load_context("lynda") == ("[1]", 1)
        assert await other.save_context("lynda", "[1, 2]", 1) == 2

        for version in (0, 1, 3):
            with pytest.raises(RunConflictError, match="The context 'lynda' has been changed by somebody else"):
                await store.save_context("lynda", "[3]", version)
        with pytest.raises(RunConflictError):
            await store.save_context("nobody", "[3]", 1)
        assert await store.load_context("lynda") == ("[1, 2]", 2)

    @pytest.mark.parametrize("version", [0, 1])
    async def test_of_many_who_save_a_context_one_succeeds(self, stores: list[RunStore], version: int) -> None:
        if version:
            await stores[0].save_context("lynda", "[]", 0)

        saved, refused = await outcomes(stores[at % 4].save_context("lynda", f"[{at}]", version) for at in range(40))

        assert saved == [version + 1]
        assert {type(error) for error in refused} == {RunConflictError}
