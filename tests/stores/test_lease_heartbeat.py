"""Leases as their owner knows them: never longer than the store does."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from queue import SimpleQueue
from threading import Condition
from time import monotonic
from typing import ClassVar

import pytest

from tactician.errors import StoreError
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.stores.document import Lease
from tactician.stores.lease_heartbeat import HeldLease, LeaseHeartbeat
from tests.stores.conformance import claimed, document

SECONDS = 30.0


class SlowStore(MemoryStore):
    """Store that answers a renewal when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = asyncio.Event()

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        await self.answers.wait()
        return await super().renew(lease, seconds)


class Freezes:
    """Monotonic time of a program that is frozen now and then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr("tactician.clock.SystemClock.monotonic", lambda _: monotonic() + self.seconds)


@pytest.fixture
def freezes(monkeypatch: pytest.MonkeyPatch) -> Freezes:
    return Freezes(monkeypatch)


async def test_a_lease_is_renewed_once_the_store_has_answered(freezes: Freezes) -> None:
    store = SlowStore()
    await store.save(document())
    _, lease = await claimed(store, seconds=SECONDS)
    held = HeldLease(store, lease, "a run", SECONDS)
    freezes.seconds += SECONDS

    renewal = asyncio.create_task(held.renew())
    await asyncio.sleep(0)

    assert held.may_have_expired, "somebody else may have claimed it"
    assert not held.is_late, "it is being renewed"
    store.answers.set()
    await renewal
    assert not held.may_have_expired


class WatchedCondition(Condition):
    """Condition that tells how long its thread is about to wait."""

    waits: ClassVar[SimpleQueue[float | None]] = SimpleQueue()

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.put(timeout)
        return super().wait(timeout)


def test_a_shorter_lease_beside_a_longer_one_is_looked_at_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.stores.lease_heartbeat.Condition", WatchedCondition)
    heartbeat, store, waits = LeaseHeartbeat(), MemoryStore(), WatchedCondition.waits
    held = [HeldLease(store, Lease("docs", f"{seconds}", "w", 1, 0.0), "a run", seconds) for seconds in (3600, 60)]
    heartbeat.add(held[0])
    assert waits.get(timeout=30) == 600

    heartbeat.add(held[1])

    assert waits.get(timeout=30) == 10
    for lease in held:
        heartbeat.discard(lease)


class RenewalLog(MemoryStore):
    """Store that notes which leases are renewed, and fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.renewals: SimpleQueue[str] = SimpleQueue()
        self.is_down = False

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        if self.is_down:
            raise StoreError("the disk is full")
        self.renewals.put(lease.id)
        return lease


class EagerCondition(Condition):
    """Condition whose thread looks again at once."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(0.001)


def test_a_thread_renews_a_lease_whose_event_loop_has_missed_a_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.clock.SystemClock.monotonic", lambda _: 1000.0)
    monkeypatch.setattr("tactician.stores.lease_heartbeat.Condition", EagerCondition)
    heartbeat, store = LeaseHeartbeat(), RenewalLog()
    late, fresh = (HeldLease(store, Lease("docs", name, "w", 1, 0.0), "a run", SECONDS) for name in ("late", "fresh"))
    late.tried_at -= SECONDS / 2 + 1
    fresh.tried_at -= SECONDS / 2
    assert late.is_late
    assert not fresh.is_late

    heartbeat.add(fresh)
    heartbeat.add(late)

    assert [store.renewals.get(timeout=30) for _ in range(3)] == ["late"] * 3
    heartbeat.discard(late)
    heartbeat.discard(fresh)


def test_a_blocked_event_loop_is_told_once_and_a_store_that_is_down_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = RenewalLog()
    held = HeldLease(store, Lease("docs", "1", "w", 1, 0.0), "the run 1 of News", SECONDS)
    held.renew_in_thread()
    held.renew_in_thread()
    store.is_down = True
    held.renew_in_thread()

    assert store.renewals.qsize() == 2
    told, failed = (record.getMessage() for record in caplog.records)
    assert told.startswith("the run 1 of News holds up the event loop for more than 15.0 seconds")
    assert failed == "the lease of the run 1 of News was not renewed: the disk is full"


@pytest.mark.parametrize("work", ["claim", "renew"])
async def test_a_lease_has_begun_when_the_store_was_asked_for_it(tmp_path: Path, work: str) -> None:
    store = SqliteStore(tmp_path / "documents.db")
    await store.save(document())
    other = sqlite3.connect(tmp_path / "documents.db", isolation_level=None)
    lease = None if work == "claim" else (await claimed(store, seconds=SECONDS))[1]
    other.execute("BEGIN IMMEDIATE")
    asking = asyncio.create_task(ask(store, lease))
    await asyncio.sleep(0)
    asked_at = monotonic()
    other.execute("COMMIT")  # until then, the store does not answer

    lease = await asking

    assert lease.requested_at <= asked_at
    other.close()
    await store.aclose()


async def ask(store: DocumentStore, lease: Lease | None) -> Lease:
    return (await claimed(store, seconds=SECONDS))[1] if lease is None else await store.renew(lease, SECONDS)
