"""Requests from a program to another: each becomes a durable run, once, and the reply is its result."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tactician import Agent, MemoryStore, Platform, runnable, tool
from tactician.errors import MeshUnavailableError, RequestFailedError, RequestRejectedError
from tactician.mesh import Delivery, Mesh, Node, Priority
from tactician.mesh.nodes.node import NodeState
from tactician.testing import ScriptedModel, ToolCall


@runnable
async def prepare_meal(order: str) -> str:
    """Prepare a meal."""
    return f"{order}, ready"


@tool
def check_inventory(item: str) -> dict[str, int]:
    """Return how much of an item there is."""
    return {item: 40}


@runnable
async def burn(order: str) -> str:
    """Burn a meal."""
    raise ValueError(f"{order} is burnt")


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


def create_kitchen(url: str) -> Node:
    kitchen = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore()), Mesh(url))
    kitchen.offer(prepare_meal, name="prepare-meal", tags={"food"})
    kitchen.offer(check_inventory, tags={"food", "stock"})
    kitchen.offer(burn, allow={"chef"})
    return kitchen


async def test_a_task_on_another_node_is_a_runnable(url: str) -> None:
    async with Mesh(url) as mesh, create_kitchen(url) as kitchen:
        result = await mesh.task("prepare-meal", on="kitchen").run("Wagyu")
        found = await mesh.task("prepare-meal").run("Ramen", priority=Priority.HIGH, deadline=timedelta(minutes=3))

        assert (result.output, found.output) == ("Wagyu, ready", "Ramen, ready")
        states = [kitchen.state]
    assert [*states, kitchen.state] == [NodeState.READY, NodeState.STOPPED]


async def test_a_tool_on_another_node_has_its_schema(url: str) -> None:
    model = ScriptedModel(ToolCall("check_inventory", item="beer"), "There are 40 beers.")
    async with Mesh(url) as mesh, create_kitchen(url):
        waiter = Agent("Waiter", model=model, tools=[mesh.tool("check_inventory")])

        result = await waiter.run("How many beers are there?")

    assert result.output == "There are 40 beers."
    assert model.calls[0].tools[0].parameters["required"] == ["item"]
    assert '{"beer":40}' in model.calls[1].messages[-1].text.replace(" ", "")


async def test_a_refusal_says_why(url: str) -> None:
    async with Mesh(url, name="waiter") as mesh, create_kitchen(url):
        with pytest.raises(RequestRejectedError, match="Did you mean 'prepare-meal'") as unknown:
            await mesh.task("prepare-meals", on="kitchen").run("Wagyu")
        with pytest.raises(RequestRejectedError) as forbidden:
            await mesh.task("burn", on="kitchen").run("Toast")
        with pytest.raises(MeshUnavailableError, match="No node"):
            await mesh.task("sing").run("")

    assert unknown.value.reason == "unknown_capability"
    assert forbidden.value.reason == "not_allowed"


async def test_a_failure_of_the_work_has_its_type(url: str) -> None:
    async with Mesh(url, name="chef") as mesh, create_kitchen(url):
        with pytest.raises(RequestFailedError, match="Toast is burnt") as failure:
            await mesh.task("burn").run("Toast")

    assert failure.value.error_type == "ValueError"


async def test_a_ticket_tells_the_status_and_the_result(url: str) -> None:
    async with Mesh(url) as mesh, create_kitchen(url):
        ticket = await mesh.submit("prepare-meal", "Wagyu", on="kitchen", deliver=Delivery.store())

        assert await ticket.result(timeout=10) == "Wagyu, ready"
        assert (await ticket.status()).status == "completed"
        assert ticket.position == 0


async def test_replies_go_to_topics(url: str) -> None:
    async with Mesh(url) as mesh, create_kitchen(url), mesh.open_subscription("hotel.*") as events:
        await mesh.submit("prepare-meal", "Wagyu", deliver=Delivery.topic("hotel.meals"))
        event = await anext(events)

    assert isinstance(event.value, dict)
    assert (event.topic, event.value["output"]) == ("hotel.meals", "Wagyu, ready")
