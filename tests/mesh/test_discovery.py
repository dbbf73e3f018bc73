"""Discovery: cards come and expire, queries, catalogs, watchers, and a registry that is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from tactician import Agent, MemoryStore, Platform, runnable
from tactician.events import Event
from tactician.mesh import Mesh, Node, NodeJoined, NodeLeft
from tactician.mesh.messages.bounds import JsonObject
from tactician.mesh.messages.cards import CapabilityCard, NodeCard
from tactician.mesh.messages.codec import MessageCodec
from tactician.mesh.transports.memory import MemoryTransport
from tactician.mesh.transports.transport import TransportError
from tactician.testing import FakeClock, ScriptedModel, ToolCall

NODES, CAPABILITIES = 50, 20


@dataclass
class Order:
    dish: str
    guests: int = 1


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(sleeps_wait=True)


async def cook(order: Order) -> str:
    """Cook."""
    return order.dish


async def serve(text: str) -> str:
    """Serve."""
    return text


def count_stock(item: str) -> int:
    """Count."""
    return len(item)


def create(name: str, mesh: Mesh, heard: list[Event] | None = None, version: str | None = None) -> Node:
    on_event = None if heard is None else heard.append
    platform = Platform(ScriptedModel(), store=MemoryStore(clock=mesh.clock), clock=mesh.clock, on_event=on_event)
    node = Node(name, platform, mesh)
    node.offer(runnable(cook), tags={"food", "cooking"}, version=version)
    node.offer(runnable(serve), tags={"food", "drinks"})
    node.offer(count_stock, tags={"stock"})
    return node


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["cook", "count_stock", "serve"]),
        ({"name": "cook"}, ["cook"]),
        ({"name": "bake"}, []),
        ({"tags": {"food"}}, ["cook", "serve"]),
        ({"tags": {"food", "drinks"}}, ["serve"]),
        ({"any_tags": {"drinks", "stock"}}, ["count_stock", "serve"]),
        ({"tags": {"food"}, "any_tags": {"cooking"}}, ["cook"]),
        ({"kind": "tool"}, ["count_stock"]),
        ({"version": "2"}, ["cook"]),
        ({"version": "1"}, []),
        ({"accepts": {"dish": "Ramen"}}, ["cook"]),
        ({"accepts": {"item": "beer"}}, ["count_stock"]),
        ({"accepts": {"item": 3}}, []),
        ({"accepts": "text"}, ["serve"]),
    ],
)
async def test_capabilities_are_found_by_name_tags_kind_version_and_schema(
    url: str, query: dict[str, object], expected: list[str]
) -> None:
    async with Mesh(url) as mesh, create("kitchen", mesh, version="2"):
        found = await mesh.capabilities(**query)  # type: ignore[arg-type]
        assert sorted(card.name for card in found) == expected


async def test_a_catalog_is_resolved_for_each_run_and_follows_changes(url: str) -> None:
    first, last = ToolCall("serve", request="beer"), ToolCall("serve", request="x")
    model = ScriptedModel(first, "done", "nothing there", last, "ok")
    async with Mesh(url) as mesh:
        waiter = Agent("waiter", model=model, tools=[mesh.catalog(tags={"drinks"})])
        async with create("bar", mesh):
            assert (await waiter.run("Beer")).output == "done"
        assert (await waiter.run("Beer")).output == "nothing there"
        async with create("pub", mesh):
            assert (await waiter.run("Beer")).output == "ok"

    shown = [[tool.name for tool in call.tools] for call in model.calls]
    assert shown == [["serve"], ["serve"], [], ["serve"], ["serve"]]


async def test_two_versions_are_two_capabilities_of_a_list_and_a_catalog_has_one(url: str) -> None:
    async with Mesh(url) as mesh, create("old", mesh, version="1"), create("new", mesh, version="2"):
        assert sorted(card.version or "" for card in await mesh.capabilities(name="cook")) == ["1", "2"]
        tools = await mesh.catalog(tags={"cooking"}).load_tools()
        assert [tool.spec.name for tool in tools] == ["cook"]
        assert len(await mesh.catalog(tags={"cooking"}, version="3").load_tools()) == 0


async def test_cards_are_announced_every_ten_seconds_and_expire_after_thirty(url: str, clock: FakeClock) -> None:
    async with Mesh(url, clock=clock) as people, Mesh(url, clock=clock) as mesh:
        node = create("kitchen", mesh)
        await node.start()
        await clock.run_for(100)
        assert [card.node for card in await people.nodes()] == ["kitchen"]
        card = (await people.nodes())[0]
        assert clock.time() - card.sent_at <= 10
        for task in node._tasks:  # it is killed: nobody says goodbye
            task.cancel()
        await asyncio.gather(*node._tasks, return_exceptions=True)
        await clock.run_for(19)
        assert len(await people.nodes()) == 1
        await clock.run_for(12)
        assert await people.nodes() == []
        await node.drain(0)


async def test_a_watcher_sees_who_comes_changes_and_goes_and_nothing_else(url: str, clock: FakeClock) -> None:
    seen = list[list[str]]()

    async def watch(mesh: Mesh) -> None:
        async for cards in mesh.watch():
            seen.append([f"{card.node} {len(card.capabilities)}" for card in cards])

    async with Mesh(url, clock=clock) as people, Mesh(url, clock=clock) as mesh:
        watching = asyncio.create_task(watch(people))
        await clock.run_for(1)
        async with create("kitchen", mesh) as kitchen:
            await clock.run_for(60)
            assert seen == [[], ["kitchen 3"]]
            kitchen.offer(count_stock, name="count again")
            await clock.run_for(11)
        await clock.run_for(1)
        watching.cancel()

    assert seen[-1] == []
    assert ["kitchen 4"] in seen


async def test_a_node_tells_who_joins_and_leaves(url: str, clock: FakeClock) -> None:
    heard = list[Event]()
    async with Mesh(url, clock=clock) as mesh, Mesh(url, clock=clock) as other, create("kitchen", mesh, heard):
        async with create("bar", other) as bar:
            await clock.run_for(5)
        await clock.run_for(5)

    changes = [event for event in heard if isinstance(event, NodeJoined | NodeLeft)]
    assert [(type(event).__name__, event.node, event.instance) for event in changes] == [
        ("NodeJoined", "bar", bar.instance),
        ("NodeLeft", "bar", bar.instance),
    ]


class Cable(MemoryTransport):
    """Transport whose broker can be away."""

    is_cut = False

    async def publish(self, topic: str, body: bytes) -> None:
        if self.is_cut:
            raise TransportError("The broker is away.")
        await super().publish(topic, body)


async def test_while_the_registry_is_away_the_nodes_stay_and_the_state_says_so(url: str, clock: FakeClock) -> None:
    broker = MemoryTransport("away", clock)  # keeps the broker
    async with AsyncExitStack() as stack:
        meshes = [Mesh(url, clock=clock) for _ in range(2)]
        cables = [Cable("away", clock) for _ in range(2)]
        for mesh, cable in zip(meshes, cables, strict=True):
            mesh.transport = cable
        assert meshes[0].state == "CLOSED"
        people, mesh = [await stack.enter_async_context(mesh) for mesh in meshes]
        await stack.enter_async_context(create("kitchen", mesh))
        await clock.run_for(20)
        assert str(people.state) == "CONNECTED"
        for cable in cables:
            cable.is_cut = True
        await clock.run_for(300)

        assert str(people.state) == "AWAY"
        assert [card.node for card in await people.nodes()] == ["kitchen"]
        assert (await people.capabilities(name="serve"))[0].name == "serve"

        for cable in cables:
            cable.is_cut = False
        await clock.run_for(30)
        assert people.state == "CONNECTED"
        assert len(await people.nodes()) == 1
        cables[1].is_cut = True  # the node alone is away: it expires as ever
        await clock.run_for(60)
        assert people.state == "CONNECTED"
        assert await people.nodes() == []
        cables[1].is_cut = False
    await broker.aclose()


async def test_a_named_node_needs_no_registry(url: str) -> None:
    async with Mesh(url) as mesh, create("kitchen", mesh), Mesh(url) as people:
        people.directory._cards.clear()
        assert (await people.task("serve", on="kitchen").run("beer")).output == "beer"


def create_cards() -> list[NodeCard]:
    """Return the cards of fifty nodes with a thousand capabilities."""
    schema: JsonObject = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    return [
        NodeCard(
            node=f"node-{number}",
            instance=f"instance-{number}",
            state="READY",
            sent_at=1.0,
            capabilities=tuple(
                CapabilityCard(
                    name=f"capability-{number}-{place}", kind="tool", tags=("a", "b"), input_schema=dict(schema)
                )
                for place in range(CAPABILITIES)
            ),
        )
        for number in range(NODES)
    ]


async def test_of_fifty_nodes_and_a_thousand_capabilities_a_change_is_seen_within_a_second(
    url: str, clock: FakeClock
) -> None:
    seen = list[int]()
    async with Mesh(url, clock=clock) as people, Mesh(url, clock=clock) as nodes:
        for card in create_cards():
            await nodes.publish_card(card)
        await clock.run_for(0.1)

        async def watch() -> AsyncIterator[None]:
            async for cards in people.watch():
                seen.append(sum(len(card.capabilities) for card in cards))
                yield

        watching = asyncio.create_task(_drain(watch()))
        await clock.run_for(0.1)
        for card in create_cards():  # the same again, as every ten seconds: nothing is new
            await nodes.publish_card(card)
        await nodes.publish_card(create_cards()[0].model_copy(update={"state": "STOPPED"}))
        await clock.run_for(1)
        assert len(await people.capabilities()) == (NODES - 1) * CAPABILITIES
        watching.cancel()

    assert seen == [NODES * CAPABILITIES, (NODES - 1) * CAPABILITIES]


async def _drain(iterator: AsyncIterator[None]) -> None:
    async for _ in iterator:
        pass


@pytest.mark.soak
def test_announcing_costs_a_node_at_most_a_hundredth_of_a_core() -> None:
    """A node writes a card every ten seconds, and reads those of the fifty others: 100 ms are a hundredth of that."""
    import time

    codec, cards = MessageCodec("node", ["k" * 32]), create_cards()
    best = 1.0
    for _ in range(10):
        bodies = [codec.encode(card) for card in cards]
        reader = MessageCodec("reader", ["k" * 32])
        start = time.process_time()
        codec.encode(cards[0])
        for body in bodies:
            reader.decode(body)
        best = min(best, time.process_time() - start)
    assert best <= 0.1, f"{best * 1000:.1f} ms of processor time in ten seconds"
