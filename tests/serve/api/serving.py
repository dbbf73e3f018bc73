"""Platforms that are served in these tests, and clients of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from pydantic import BaseModel

from tactician import Agent, Ensemble, Platform, Review, Task, achieves_goal, action, planned_agent, tool
from tactician.mesh import Mesh
from tactician.process import OperationContext, ask_human
from tactician.serve import Person, RequestLimits, app
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import ScriptedModel, ToolCall

Json = dict[str, Any]


class Order(BaseModel):
    number: int


class Address(BaseModel):
    city: str


class Parcel(BaseModel):
    label: str


@planned_agent(name="Shop", description="Sends parcels")
class Shop:
    @action
    async def ask(self, order: Order) -> Address:
        return await ask_human(Address, f"Where does order {order.number} go?")

    @achieves_goal("sent")
    @action
    def send(self, order: Order, address: Address) -> Parcel:
        return Parcel(label=f"{order.number} to {address.city}")


@planned_agent(name="Depot", description="Lets a shop without questions send parcels")
class Depot:
    @achieves_goal("delivered")
    @action
    async def deliver(self, order: Order, context: OperationContext) -> Parcel:
        return await context.run_agent(Van(), Parcel, order)


@planned_agent(name="Van", description="Drives")
class Van:
    @achieves_goal("driven")
    @action
    def drive(self, order: Order) -> Parcel:
        return Parcel(label=str(order.number))


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


class Gate:
    """A place where an agent waits, inside the program, until a test opens it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()


def create_platform(gate: Gate | None = None, store: DocumentStore | None = None) -> Platform:
    """Return a platform with a talker, a shop, a cashier and an agent that waits at the gate."""

    @tool
    async def wait() -> str:
        """Wait."""
        assert gate is not None
        gate.reached.set()
        await gate.open.wait()
        return "done"

    talker = Agent("Talker", model=ScriptedModel(*(["Hello."] * 500)))
    cashier = Agent("Cashier", model=ScriptedModel(ToolCall("pay", amount=5), "Paid."), tools=[pay])
    slow = Agent("Slow", model=ScriptedModel(ToolCall("wait"), "At last."), tools=[wait])
    write = Task("Write about {topic}", id="write", review=Review.after("Good enough?", required_role="editor"))
    newsroom = Ensemble("Newsroom", [write], model=ScriptedModel("Frogs are nice.", "Frogs hear with their lungs."))
    return Platform(ScriptedModel(), store=store or MemoryStore()).register(talker, Shop(), cashier, slow, newsroom)


@asynccontextmanager
async def served(
    platform: Platform,
    *,
    people: dict[str, Person] | None = None,
    token: str | None = None,
    host: str = "localhost",
    caller: str = "127.0.0.1",
    limits: RequestLimits | None = None,
    mesh: Mesh | None = None,
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve a platform inside this program, and give a client of it."""
    application = app(platform, people=people, limits=limits or RequestLimits(), mesh=mesh)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app=application, client=(caller, 1))
    async with (
        application.router.lifespan_context(application),
        platform,
        httpx.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers) as client,
    ):
        yield client


async def start(client: httpx.AsyncClient, agent: str, input: object, **fields: object) -> str:
    """Start a run, and return its id."""
    done = await client.post(f"/api/agents/{agent}/runs", json={"input": input, **fields})
    assert done.status_code == 202, done.text
    run_id: str = done.json()["id"]
    return run_id


async def find(client: httpx.AsyncClient, run_id: str, *statuses: str) -> Json:
    """Return a run, once it has any of the statuses."""

    async def look() -> Json | None:
        shown: Json = (await client.get(f"/api/runs/{run_id}")).json()
        return shown if shown["status"] in statuses else None

    return await until(look)


async def until(look: Callable[[], Awaitable[Json | None]]) -> Json:
    """Return what a look gives, as soon as it gives anything."""
    async with asyncio.timeout(20):
        while True:
            if (found := await look()) is not None:
                return found
            await asyncio.sleep(0.01)


def read_events(text: str) -> list[tuple[str, str, str]]:
    """Return the events of a stream: id, name and data."""
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")]
    return [(block.get("id", ""), block["event"], block["data"]) for block in blocks if "event" in block]
