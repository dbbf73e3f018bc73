"""Further promises of requests: clocks, deadlines, large values, leases, and ways of delivery."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from tactician import MemoryStore, Platform, RunStatus, runnable
from tactician.errors import RequestRejectedError
from tactician.mesh import Delivery, Mesh, Node
from tactician.mesh.messages.cards import NodeCard
from tactician.mesh.messages.replies import MeshReply
from tactician.testing import FakeClock, ScriptedModel
from tests.mesh.conformance import take
from tests.support.waiting import eventually


class Kitchen:
    """Work that takes a minute, or until the test lets it end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def cook(self, order: str) -> str:
        """Cook."""
        self.begun.append(order)
        await self.may_end.wait()
        return order


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def create_node(mesh: Mesh, kitchen: Kitchen, **options: timedelta) -> Node:
    platform = Platform(ScriptedModel(), store=MemoryStore(clock=mesh.clock), clock=mesh.clock)
    node = Node("kitchen", platform, mesh, max_concurrent=1, lease=options.get("lease", timedelta(seconds=30)))
    node.offer(runnable(kitchen.cook))
    return node


async def test_a_node_whose_clock_is_wrong_is_named_once(realm: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    async with Mesh(f"memory://{realm}", clock=clock) as mesh:
        fast, right, slow = [
            NodeCard(node=name, instance=name, realm="default", state="READY", sent_at=clock.time() + skew)
            for name, skew in (("fast", 2.5), ("right", 1.5), ("slow", -3.0))
        ]
        with caplog.at_level(logging.WARNING, "tactician"):
            for card in (fast, right, slow, fast, slow):
                mesh.directory.note(card)

    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "The clock of the node 'fast' (fast) is 2.5 s ahead of the clock of this machine",
        "The clock of the node 'slow' (slow) is 3.0 s behind the clock of this machine",
    ]


async def test_a_request_that_must_meet_its_deadline_is_refused_when_the_node_expects_to_miss_it(
    realm: str, kitchen: Kitchen
) -> None:
    clock = FakeClock()
    soon = timedelta(seconds=30)
    async with Mesh(f"memory://{realm}", clock=clock) as mesh, create_node(mesh, kitchen):
        kitchen.may_end.clear()
        ticket = await mesh.submit("cook", "a minute's work", on="kitchen")
        await eventually(lambda: kitchen.begun == ["a minute's work"])
        clock.advance(60)
        kitchen.may_end.set()
        await ticket.result()

        with pytest.raises(RequestRejectedError) as refusal:
            await mesh.submit("cook", "soon", on="kitchen", deadline=soon, must_meet_deadline=True)
        with pytest.raises(RequestRejectedError):
            await mesh.task("cook", on="kitchen", deadline=soon, must_meet_deadline=True).run("soon")
        tried = await mesh.submit("cook", "try", on="kitchen", deadline=soon)
        met = await mesh.submit("cook", "later", on="kitchen", deadline=timedelta(seconds=150), must_meet_deadline=True)
        assert [await tried.result(), await met.result()] == ["try", "later"]

    assert refusal.value.reason == "deadline"
    assert kitchen.begun == ["a minute's work", "try", "later"]


async def test_input_and_output_above_a_million_bytes_go_through_the_store(
    url: str, realm: str, kitchen: Kitchen
) -> None:
    text, store = "a" * 1_100_000, MemoryStore()
    async with Mesh(url, realm=realm, store=store) as mesh, create_node(mesh, kitchen):
        result = await mesh.task("cook", on="kitchen").run(text)

        assert result.output == text
        assert kitchen.begun == [text]
        assert len(await store.list_ids("mesh-values")) == 2


@pytest.mark.parametrize(("letter", "count"), [("🍜", 130_000), ("🍜", 490_000), ("\x01", 170_000), ("é", 490_000)])
async def test_the_bytes_of_a_text_count_and_not_its_letters(
    realm: str, kitchen: Kitchen, letter: str, count: int
) -> None:
    async with Mesh(f"memory://{realm}", store=MemoryStore()) as mesh, create_node(mesh, kitchen):
        assert (await mesh.task("cook", on="kitchen").run(letter * count)).output == letter * count


async def test_the_lease_of_a_long_request_is_extended(url: str, realm: str, kitchen: Kitchen) -> None:
    kitchen.may_end.clear()
    lease, store = timedelta(seconds=0.6), MemoryStore()
    async with (
        Mesh(url, realm=realm, store=store) as mesh,
        Mesh(url, realm=realm, store=store) as other,
        create_node(mesh, kitchen, lease=lease),
    ):
        ticket = await mesh.submit("cook", "Wagyu", on="kitchen")
        await eventually(lambda: kitchen.begun == ["Wagyu"])

        if not url.startswith("ws:"):  # where a queue is in the program of its node
            queue = mesh.name_queue("kitchen")
            assert await other.transport.receive(queue, limit=1, lease=30.0, wait=0.9) == []
        kitchen.may_end.set()
        assert await ticket.result(timeout=30) == "Wagyu"
    assert kitchen.begun == ["Wagyu"]


async def test_a_reply_goes_into_a_queue(url: str, realm: str, kitchen: Kitchen) -> None:
    if url.startswith("ws:"):
        pytest.skip("a queue is that of a node")
    queue = f"{realm}/meals"
    async with Mesh(url, realm=realm) as mesh, create_node(mesh, kitchen):
        await mesh.transport.receive(queue, limit=1, lease=1.0, wait=0.0)
        await mesh.submit("cook", "Wagyu", on="kitchen", deliver=Delivery.queue(queue))
        (leased,) = await take(mesh.transport, queue)
        reply = mesh.decode(leased.body).message

    assert isinstance(reply, MeshReply)
    assert (reply.status, reply.output) == ("completed", "Wagyu")


async def test_nobody_gets_a_reply_that_nobody_wants(realm: str, kitchen: Kitchen) -> None:
    async with Mesh(f"memory://{realm}") as mesh, create_node(mesh, kitchen) as node:
        with mesh.calls.listen("17") as call:
            await mesh.submit("cook", "Wagyu", on="kitchen", deliver=Delivery.none(), request_id="17")
            await eventually(lambda: kitchen.begun == ["Wagyu"] and node.running == 0)
            status = await mesh.ticket("17", on="kitchen", name="cook").status()
            assert call.reply is None
    assert status.status == RunStatus.COMPLETED.value
