"""Choice among nodes: a full, stopping or silent node is passed over, and two versions live side by side."""

from __future__ import annotations

import asyncio

import pytest

from tactician import MemoryStore, Platform, runnable
from tactician.errors import MeshUnavailableError, RequestRejectedError
from tactician.events import Event
from tactician.mesh import Mesh, Node, RequestRejected, RequestSent
from tactician.testing import ScriptedModel
from tests.support.waiting import eventually


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


def create_node(name: str, mesh: Mesh, gate: asyncio.Event | None = None, version: str | None = None) -> Node:
    node = Node(name, Platform(ScriptedModel(), store=MemoryStore()), mesh, max_concurrent=1, queue_limit=1)

    async def cook(order: str) -> str:
        if gate is not None:
            await gate.wait()
        return f"{order} from {name}"

    node.offer(runnable(cook), name="cook", version=version)
    return node


async def show_as_slow(mesh: Mesh, node: Node) -> None:
    """Let the callers believe that a node is slow, so that they ask another node first."""
    await mesh.publish_card(node.card().model_copy(update={"seconds_per_request": 100.0}))


async def test_a_request_that_a_full_node_refuses_goes_to_another_node(url: str) -> None:
    gate, heard = asyncio.Event(), list[Event]()
    async with Mesh(url) as mesh, create_node("bar", mesh) as bar, create_node("kitchen", mesh, gate) as kitchen:
        tickets = [await mesh.submit("cook", "1", on="kitchen")]
        await eventually(lambda: kitchen.running == 1)
        tickets.append(await mesh.submit("cook", "2", on="kitchen"))
        await show_as_slow(mesh, bar)
        await mesh.publish_card(kitchen.card().model_copy(update={"queue_depth": 0}))  # a card that is out of date
        context = Platform(ScriptedModel(), on_event=heard.append).context()
        result = await mesh.task("cook").run("3", context=context)
        with pytest.raises(RequestRejectedError):
            await mesh.task("cook", on="kitchen").run("4")
        gate.set()
        for ticket in tickets:
            await ticket.result(timeout=30)

    assert result.output == "3 from bar"
    (rejected,) = [event for event in heard if isinstance(event, RequestRejected)]
    assert (rejected.node, rejected.reason, rejected.next_node) == ("kitchen", "at_capacity", "bar")


async def test_a_node_that_does_not_accept_is_passed_over_with_the_same_id(url: str) -> None:
    heard = list[Event]()
    async with Mesh(url) as mesh, create_node("kitchen", mesh) as kitchen:
        await mesh.publish_card(kitchen.card().model_copy(update={"node": "ghost"}))
        await show_as_slow(mesh, kitchen)
        context = Platform(ScriptedModel(), on_event=heard.append).context()
        result = await mesh.task("cook", accept_within=0.2).run("1", context=context)

    assert result.output == "1 from kitchen"
    (rejected,) = [event for event in heard if isinstance(event, RequestRejected)]
    assert (rejected.node, rejected.reason, rejected.next_node) == ("ghost", "not_accepted", "kitchen")
    ids = {event.request_id for event in heard if isinstance(event, RequestRejected | RequestSent)}
    assert len(ids) == 1


async def test_two_versions_live_side_by_side(url: str) -> None:
    async with (
        Mesh(url) as mesh,
        create_node("old", mesh, version="1"),
        create_node("new", mesh, version="2"),
    ):
        outputs = [(await mesh.task("cook", version=version).run("x")).output for version in ("1", "2")]
        submitted = await (await mesh.submit("cook", "x", version="2")).result(timeout=30)
        with pytest.raises(MeshUnavailableError, match="version 3"):
            await mesh.task("cook", version="3").run("x")

    assert (outputs, submitted) == (["x from old", "x from new"], "x from new")
