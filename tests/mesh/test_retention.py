"""Retention: replies and directives are kept as long as somebody may need them, and no longer."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from tactician import MemoryStore, Platform, SqliteStore, runnable
from tactician.errors import ConfigurationError
from tactician.mesh import Mesh, Node
from tactician.mesh.calls.sent import SentRequests
from tactician.mesh.transports.documents import StoreTransport
from tactician.mesh.transports.signals import LocalSignals
from tactician.testing import FakeClock, ScriptedModel

DAY = 86_400.0


class Kitchen:
    """Work that counts how often it is done."""

    def __init__(self) -> None:
        self.orders: list[str] = []

    async def prepare(self, order: str) -> str:
        """Prepare a meal."""
        self.orders.append(order)
        return f"{order}, ready"


def create_kitchen(mesh: Mesh, store: MemoryStore, work: Kitchen) -> Node:
    node = Node("kitchen", Platform(ScriptedModel(), store=store, clock=mesh.clock), mesh)
    node.offer(runnable(work.prepare), name="prepare-meal")
    return node


async def test_a_reply_is_kept_for_the_retention_and_then_forgotten() -> None:
    clock, work = FakeClock(), Kitchen()
    store = MemoryStore(clock.time, clock=clock)
    statuses = []
    async with Mesh("memory://retention", clock=clock, retention=timedelta(days=10), store=store) as mesh:
        for days in (0, 9, 2):
            clock.advance(days * DAY)
            async with create_kitchen(mesh, store, work):
                if days == 0:
                    await (await mesh.submit("prepare-meal", "x" * 600_000, on="kitchen", request_id="17")).result()
                await clock.run_for(1)
                statuses.append((await mesh.ticket("17", on="kitchen").status()).status)
    values = await store.count_statuses("mesh-values")

    assert statuses == ["completed", "completed", "unknown"]
    assert len(work.orders) == 1
    assert sum(values.values()) == 2, "a message with the key of a value may wait in a queue for a week"


async def test_directives_that_have_ended_are_deleted_and_withdrawals_are_kept_for_the_retention() -> None:
    clock, kept = FakeClock(), []
    store = MemoryStore(clock.time, clock=clock)
    async with Mesh("memory://directives-kept", clock=clock, retention=timedelta(days=10)) as mesh:
        for days in (0, 1, 10):
            clock.advance(days * DAY)
            async with create_kitchen(mesh, store, Kitchen()):
                if days == 0:
                    await mesh.direct("kitchen", "For an hour", by="manager", ttl=timedelta(hours=1))
                    await mesh.withdraw((await mesh.direct("kitchen", "For ever", by="manager")).id)
                await clock.run_for(1)
                kept.append(len(await store.find("mesh-directives")))

    assert kept == [2, 1, 0]


async def test_a_server_forgets_requests_that_were_answered_long_ago_and_keeps_those_that_wait() -> None:
    clock = FakeClock()
    store, sent_store = MemoryStore(clock.time, clock=clock), MemoryStore(clock.time, clock=clock)
    async with Mesh("memory://sent", clock=clock, retention=timedelta(days=10)) as mesh:
        node = Node("kitchen", Platform(ScriptedModel(), store=store, clock=clock), mesh, max_concurrent=1)

        async def wait(order: str) -> str:
            await clock.sleep(0)
            if order == "waits":
                await never.wait()
            return order

        never = asyncio.Event()
        node.offer(runnable(wait))
        async with node:
            requests = SentRequests(mesh, sent_store)
            for order in ("done", "waits"):
                ticket = await requests.send(order, "wait", order, on="kitchen", user=None)
                if order == "done":
                    await ticket.result()
            clock.advance(11 * DAY)
            never.set()
            await requests.send("late", "wait", "late", on="kitchen", user=None)

    assert sorted(document.id for document in await sent_store.find("mesh-sent")) == ["late", "waits"]


@pytest.mark.parametrize("is_durable", [True, False])
async def test_replies_that_a_caller_keeps_are_deleted_after_the_retention(is_durable: bool) -> None:
    clock = FakeClock()
    caller, store = MemoryStore(clock.time, clock=clock), MemoryStore(clock.time, clock=clock)
    asking = Platform(ScriptedModel(), store=caller if is_durable else None, clock=clock)
    async with Mesh(f"memory://replies-{is_durable}", clock=clock, retention=timedelta(days=10)) as mesh:
        kept_in, counts = caller if is_durable else mesh.replies, []
        task = mesh.task("prepare-meal", on="kitchen", max_age=timedelta(days=365))
        async with create_kitchen(mesh, store, Kitchen()):
            for order, days in (("soup", 0), ("fish", 9), ("meat", 2), ("cake", 11)):
                clock.advance(days * DAY)
                await task.run(order, context=asking.context())
                counts.append(len(await kept_in.find("mesh-replies")))

    assert counts == [1, 2, 2, 1]


@pytest.mark.parametrize("is_durable", [True, False])
async def test_a_node_deletes_the_replies_of_callers_who_keep_no_more(is_durable: bool) -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time, clock=clock)
    asking = Platform(ScriptedModel(), store=store if is_durable else None, clock=clock)
    async with Mesh(f"memory://replies-node-{is_durable}", clock=clock, retention=timedelta(days=10)) as mesh:
        task = mesh.task("prepare-meal", on="kitchen", max_age=timedelta(days=365))
        async with create_kitchen(mesh, store, Kitchen()):
            await task.run("soup", context=asking.context())
        kept_in, counts = store if is_durable else mesh.replies, []
        for days in (9, 2):
            clock.advance(days * DAY)
            async with create_kitchen(mesh, store, Kitchen()):
                await clock.run_for(1)
            counts.append(len(await kept_in.find("mesh-replies")))

    assert counts == [1, 0]


async def test_claims_that_have_ended_are_deleted(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "mesh.db") as store:
        transport = StoreTransport(store, LocalSignals(str(tmp_path)), "sqlite:///mesh.db")
        assert await transport.claim("held", 3600)
        for number in range(400):
            assert await transport.claim(f"tick-{number}", 1e-6)
        assert not await transport.claim("held", 3600)
        assert len(await store.find("mesh-claim")) < 210


def test_a_retention_is_not_shorter_than_the_wait_in_a_queue() -> None:
    with pytest.raises(ConfigurationError, match="at least seven days"):
        Mesh("memory://short", retention=timedelta(days=1))
