"""Topics that start runs: once for each event, also after the node was away, on every transport that has topics."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from tactician import MemoryStore, Platform, RunContext, runnable
from tactician.errors import ConfigurationError
from tactician.mesh import Mesh, Node
from tactician.testing import ScriptedModel
from tests.support.waiting import eventually

KEY = "k" * 32


class Storeroom:
    """Work that notes its input."""

    def __init__(self) -> None:
        self.stock: list[object] = []

    async def restock(self, delivery: dict[str, int]) -> str:
        """Put a delivery into the storeroom."""
        self.stock.append(delivery)
        return f"{len(self.stock)} deliveries"


def create(mesh: Mesh, storeroom: Storeroom, store: MemoryStore, topic: str = "hotel.*") -> Node:
    node = Node("kitchen", Platform(ScriptedModel(), store=store), mesh)
    node.subscribe(topic, runnable(storeroom.restock))
    return node


async def test_an_event_starts_a_run_once_also_while_the_node_is_away(url: str, realm: str) -> None:
    if url.startswith("sqs"):
        pytest.skip("SQS has no topics")
    storeroom, store = Storeroom(), MemoryStore()
    topic = f"{realm}.deliveries"
    async with Mesh(url, realm=realm, key=KEY, store=store) as people:
        async with (
            Mesh(url, realm=realm, key=KEY, store=store) as mesh,
            create(mesh, storeroom, store, f"{realm}.*") as kitchen,
        ):
            assert kitchen.card().topics == (f"{realm}.*",)
            await people.publish(topic, {"beer": 1})
            await eventually(lambda: storeroom.stock == [{"beer": 1}])
        await people.publish(topic, {"beer": 2})
        await people.publish(f"{topic}.other", {"wine": 1})
        async with (
            Mesh(url, realm=realm, key=KEY, store=store) as mesh,
            create(mesh, storeroom, store, f"{realm}.*"),
        ):
            await eventually(lambda: len(storeroom.stock) > 1)
            await people.publish(topic, {"beer": 3})
            await eventually(lambda: len(storeroom.stock) > 2)

    assert storeroom.stock == [{"beer": 1}, {"beer": 2}, {"beer": 3}]


async def test_of_several_instances_one_does_the_work() -> None:
    storeroom, shared = Storeroom(), MemoryStore()
    async with (
        Mesh("memory://topic-instances") as mesh,
        create(mesh, storeroom, shared),
        create(mesh, storeroom, shared),
        create(mesh, storeroom, MemoryStore()),
    ):
        for number in range(5):
            await mesh.publish("hotel.deliveries", {"beer": number})
        await eventually(lambda: len(storeroom.stock) >= 5)

    assert sorted(map(str, storeroom.stock)) == [str({"beer": number}) for number in range(5)]


async def test_the_output_of_a_run_is_the_input_of_the_next_and_a_circle_ends() -> None:
    seen = list[str]()

    async def add(text: str) -> str:
        """Add."""
        seen.append(text)
        return f"{text}+"

    async def pass_on(text: str, context: RunContext) -> str:
        """Publish again what came."""
        seen.append(text)
        await mesh.publish("a", f"{text}!")
        return text

    async with Mesh("memory://topic-chain") as mesh:
        first = Node("first", Platform(ScriptedModel(), store=MemoryStore()), mesh)
        first.subscribe("a", runnable(add), publish_to="b")
        second = Node("second", Platform(ScriptedModel(), store=MemoryStore()), mesh)
        second.subscribe("b", runnable(pass_on), publish_to="c")
        async with first, second, mesh.open_subscription("c") as ends:
            await mesh.publish("a", "x")
            value = (await anext(ends)).value

    assert isinstance(value, dict)
    assert value["output"] == "x+"
    assert seen == ["x", "x+"], "the event of the second node has come from the first, which does not begin again"


@pytest.mark.parametrize("value", ["text", 3, None, [{}]])
async def test_an_event_that_does_not_fit_starts_no_work(value: JsonValue) -> None:
    storeroom, store = Storeroom(), MemoryStore()

    def count(beer: int) -> int:
        """Count."""
        storeroom.stock.append(beer)
        return beer

    async with Mesh("memory://topic-input") as mesh:
        node = Node("kitchen", Platform(ScriptedModel(), store=store), mesh)
        node.subscribe("hotel.*", count)
        async with node:
            await mesh.publish("hotel.deliveries", value)
            await mesh.publish("hotel.deliveries", {"beer": 1})
            await eventually(lambda: storeroom.stock == [1])


async def test_a_mesh_without_topics_says_so() -> None:
    node = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore()), Mesh("sqs://eu-west-1"))
    with pytest.raises(ConfigurationError, match="no topics"):
        node.subscribe("hotel.*", runnable(Storeroom().restock))
