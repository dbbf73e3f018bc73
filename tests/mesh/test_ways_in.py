"""Tasks and tools of a mesh over every way into a server: listed, run, suspended meanwhile, and cancelled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import httpx2
import pytest

from tactician import Agent, MemoryStore, Platform, RunContext, runnable, tool
from tactician.events.event import new_id
from tactician.mesh import Mesh, Node
from tactician.serve import app
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.a2a.serving import JsonRpc, create_message
from tests.serve.ag_ui.newsroom import ask, read_stream
from tests.serve.api.serving import Json, find, start
from tests.serve.mcp.test_tasks import Caller
from tests.support.waiting import eventually

A2A_ORDER = {
    "message": create_message() | {"parts": [{"text": "Wagyu"}], "metadata": {"skillId": "prepare_meal"}},
    "configuration": {"returnImmediately": True},
}


class Kitchen:
    """Work that a test lets end."""

    def __init__(self) -> None:
        self.orders: list[str] = []
        self.may_end = asyncio.Event()
        self.interrupted: list[str] = []

    async def prepare(self, order: str, context: RunContext) -> str:
        """Prepare a meal."""
        self.orders.append(order)
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.interrupted.append(order)
            raise
        return f"Ready: {order}"


@tool
def check_inventory(item: str) -> dict[str, int]:
    """Return how much of an item there is."""
    return {item: 40}


class Desk:
    """Server whose agents use the mesh, and its clients."""

    def __init__(self, http: httpx.AsyncClient, mcp: Caller, kitchen: Kitchen) -> None:
        self.http, self.mcp, self.kitchen = http, mcp, kitchen
        self.a2a = JsonRpc(http, "http://localhost/a2a")

    async def suspended(self, order: str) -> str:
        """Return the id of the run that waits for an order."""

        async def look() -> bool:
            runs = (await self.http.get("/api/runs?status=waiting")).json()["runs"]
            return order in self.kitchen.orders and bool(runs)

        await eventually(look)
        runs: list[Json] = (await self.http.get("/api/runs?status=waiting")).json()["runs"]
        return str(runs[0]["id"])


@asynccontextmanager
async def open_desk() -> AsyncIterator[Desk]:
    """Serve a desk that asks a kitchen. The server of MCP has to be closed by the task that opens it."""
    url, kitchen = f"memory://{new_id()}", Kitchen()
    async with AsyncExitStack() as stack:
        kitchen_mesh, mesh = [await stack.enter_async_context(Mesh(url, name=name)) for name in ("kitchen", "desk")]
        node = Node("kitchen", Platform(store=MemoryStore()), kitchen_mesh)
        node.offer(runnable(kitchen.prepare), name="prepare-meal")
        node.offer(check_inventory)
        await stack.enter_async_context(node)
        model = ScriptedModel(*(ToolCall("check_inventory", item="beer"), "There are 40.") * 2)
        platform = await stack.enter_async_context(Platform(model, store=MemoryStore()))
        platform.register(mesh.task("prepare-meal", on="kitchen", patience=0.0))
        platform.register(Agent("waiter", tools=[mesh.tool("check_inventory")]))
        await stack.enter_async_context(Node("desk", platform, mesh))
        served = app(platform, mesh=mesh, url="http://localhost")
        await stack.enter_async_context(served.router.lifespan_context(served))
        http = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=served, client=("127.0.0.1", 1)), base_url="http://localhost"
        )
        mcp = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=served, client=("127.0.0.1", 1)), base_url="http://localhost"
        )
        async with http, mcp:
            yield Desk(http, Caller(mcp), kitchen)
            kitchen.may_end.set()


async def test_every_way_in_lists_the_task() -> None:
    async with open_desk() as desk:
        agents = (await desk.http.get("/api/agents")).json()["agents"]
        tools = (await desk.mcp.send("tools/list", {}))["result"]["tools"]
        card = (await desk.http.get("/.well-known/agent-card.json")).json()

        assert ("prepare_meal", "Asks kitchen for prepare-meal.") in [
            (each["id"], each["description"]) for each in agents
        ]
        assert "prepare_meal" in [each["name"] for each in tools]
        assert "prepare_meal" in [each["id"] for each in card["skills"]]


async def test_http_runs_the_task_which_is_suspended_meanwhile() -> None:
    async with open_desk() as desk:
        run_id = await start(desk.http, "prepare_meal", "Wagyu")
        waiting = await find(desk.http, run_id, "waiting")
        assert [(each["kind"], each["may_answer"]) for each in waiting["pending"]] == [("reply", False)]
        desk.kitchen.may_end.set()
        assert (await find(desk.http, run_id, "completed"))["result"] == "Ready: Wagyu"


async def test_mcp_runs_the_task_and_a_task_of_mcp_works_while_it_is_suspended() -> None:
    async with open_desk() as desk:
        task = await desk.mcp.call("prepare_meal", request="Wagyu")
        task_id = task["taskId"]
        await desk.suspended("Wagyu")
        assert (await desk.mcp.ask("get", task_id))["status"] == "working"
        desk.kitchen.may_end.set()
        done = await desk.mcp.wait(task_id, "completed", "failed")
        assert done["status"] == "completed"
        assert "Ready: Wagyu" in json.dumps(done)


async def test_a_client_of_mcp_without_tasks_waits_for_the_result() -> None:
    async with open_desk() as desk:
        desk.mcp._capabilities = {}
        calling = asyncio.create_task(desk.mcp.call("prepare_meal", request="Wagyu"))
        await desk.suspended("Wagyu")
        desk.kitchen.may_end.set()
        assert "Ready: Wagyu" in json.dumps(await calling)


async def test_a2a_runs_the_task_and_its_state_is_working_while_it_is_suspended() -> None:
    async with open_desk() as desk:
        task = (await desk.a2a.call("SendMessage", A2A_ORDER))["task"]
        await desk.suspended("Wagyu")
        shown = await desk.a2a.call("GetTask", {"id": task["id"]})
        assert shown["status"]["state"] == "TASK_STATE_WORKING"
        desk.kitchen.may_end.set()

        async def is_done() -> bool:
            nonlocal shown
            shown = await desk.a2a.call("GetTask", {"id": task["id"]})
            return bool(shown["status"]["state"] == "TASK_STATE_COMPLETED")

        await eventually(is_done)
        assert "Ready: Wagyu" in json.dumps(shown)


async def test_ag_ui_runs_the_task_and_the_stream_stays_open_while_it_is_suspended() -> None:
    async with open_desk() as desk:
        calling = asyncio.create_task(desk.http.post("/agui/prepare_meal", json=ask("Wagyu"), timeout=30))
        await desk.suspended("Wagyu")
        desk.kitchen.may_end.set()
        events = read_stream((await calling).text)
        assert events[-1].type.value == "RUN_FINISHED"
        assert "Ready: Wagyu" in json.dumps([event.model_dump(mode="json") for event in events])


@pytest.mark.parametrize("way", ["http", "mcp", "a2a"])
async def test_cancelling_ends_the_work_of_the_node(way: str) -> None:
    async with open_desk() as desk:
        match way:
            case "http":
                run_id = await start(desk.http, "prepare_meal", "Wagyu")
                await desk.suspended("Wagyu")
                assert (await desk.http.delete(f"/api/runs/{run_id}")).status_code in (200, 202, 204)
            case "mcp":
                task_id = (await desk.mcp.call("prepare_meal", request="Wagyu"))["taskId"]
                await desk.suspended("Wagyu")
                await desk.mcp.ask("cancel", task_id)
            case _:
                body = {
                    "message": create_message()
                    | {"parts": [{"text": "Wagyu"}], "metadata": {"skillId": "prepare_meal"}},
                    "configuration": {"returnImmediately": True},
                }
                task = (await desk.a2a.call("SendMessage", body))["task"]
                await desk.suspended("Wagyu")
                await desk.a2a.call("CancelTask", {"id": task["id"]})
        await eventually(lambda: desk.kitchen.interrupted == ["Wagyu"])


async def test_a_tool_of_the_mesh_is_called_by_an_agent_over_each_way() -> None:
    async with open_desk() as desk:
        run_id = await start(desk.http, "waiter", "How much beer?")
        assert (await find(desk.http, run_id, "completed"))["result"] == "There are 40."
        text = await desk.mcp.call("waiter", request="How much beer?")
    assert "There are 40." in json.dumps(text)
