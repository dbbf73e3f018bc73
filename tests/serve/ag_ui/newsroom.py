"""Agents that AG-UI clients run in these tests, and a client in Python."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from ag_ui.core import Event
from pydantic import BaseModel, TypeAdapter

from tactician import Agent, Ai, Ensemble, Platform, Review, Task, UserInput, achieves_goal, action, planned_agent, tool
from tactician.events.event import new_id
from tactician.llm import AssistantMessage, ModelResponse, Text, Thinking
from tactician.process import ask_human, confirm
from tactician.serve import Person, RequestLimits, ag_ui_app
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import Gate

Json = dict[str, Any]
_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)


class Draft(BaseModel):
    text: str


class Opinion(BaseModel):
    good: bool


class Article(BaseModel):
    text: str


class Order(BaseModel):
    number: int


class Address(BaseModel):
    city: str


class Parcel(BaseModel):
    label: str


@tool(needs_approval=True)
def publish(text: str) -> str:
    """Publish a text."""
    return f"published {text}"


def create_publisher(*, is_resumed: bool) -> Agent:
    thinks = ModelResponse(AssistantMessage((Thinking("Is it ready?"), Text("It is out."))))
    steps = (thinks,) if is_resumed else (ToolCall("publish", text="Frogs"), thinks)
    return Agent("Publisher", model=ScriptedModel(*steps), tools=[publish])


@planned_agent(name="Newsroom", description="Writes an article and publishes it")
class Newsroom:
    """Plans, finds that its first way leads nowhere, plans again, and lets another agent publish."""

    def __init__(self, publisher: Agent) -> None:
        self.publisher = publisher

    @action(cost=0.1)
    def search_archive(self, user_input: UserInput) -> Draft | None:
        return None

    @action(cost=0.5)
    async def write_draft(self, user_input: UserInput, ai: Ai) -> Draft:
        return Draft(text=await ai.generate_text(f"Write about {user_input.content}"))

    @action
    async def review(self, draft: Draft, ai: Ai) -> Opinion:
        return await ai.create(Opinion, draft.text)

    @achieves_goal("An article is published")
    @action
    async def publish_article(self, draft: Draft, opinion: Opinion) -> Article:
        done = await self.publisher.run(draft.text)
        return Article(text=done.output)


@planned_agent(name="Shop", description="Sends parcels")
class Shop:
    @action
    async def ask(self, order: Order) -> Address:
        return await ask_human(Address, f"Where does order {order.number} go?")

    @achieves_goal("A parcel is sent")
    @action
    async def send(self, order: Order, address: Address) -> Parcel:
        if not await confirm(address, "Is that right?"):
            return Parcel(label="nowhere")
        return Parcel(label=f"{order.number} to {address.city}")


def create_platform(
    store: DocumentStore | None = None, gate: Gate | None = None, *, is_resumed: bool = False
) -> Platform:
    """Return a platform with a newsroom, a shop, a press, a talker, a broken agent, and one that waits at the gate.

    Args:
        store: the store; one in memory by default.
        gate: the gate.
        is_resumed: true when the newsroom waits for an approval already.
    """

    @tool
    async def wait() -> str:
        """Wait."""
        assert gate is not None
        gate.reached.set()
        await gate.open.wait()
        return "done"

    newsroom = Newsroom(create_publisher(is_resumed=is_resumed))
    talker = Agent("Talker", model=ScriptedModel("Hello.", "Again."))
    broken = Agent("Broken", model=ScriptedModel(RuntimeError("it is broken")))
    slow = Agent("Slow", model=ScriptedModel(ToolCall("wait"), "At last."), tools=[wait])
    check = Review.before("Print it?", required_role="clerk")
    press = Ensemble("Press", [Task("Print", id="print", handler=lambda _: "printed", review=check)])
    models = ScriptedModel("A draft.", Opinion(good=True), "Frogs")
    return Platform(models, store=store or MemoryStore()).register(newsroom, Shop(), press, talker, broken, slow)


@asynccontextmanager
async def served(
    platform: Platform, people: dict[str, Person] | None = None, token: str | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve a platform to AG-UI clients inside this program."""
    application = ag_ui_app(platform, people=people, limits=RequestLimits())
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app=application, client=("127.0.0.1", 1))
    async with (
        platform,
        application.router.lifespan_context(application),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
    ):
        yield client


def ask(text: str = "Frogs", **fields: object) -> Json:
    """Return what a client sends, for a run of its own."""
    message = {"id": "m1", "role": "user", "content": text}
    return {"threadId": "t1", "runId": new_id(), "messages": [message], "state": {"theme": "dark"}, **fields}


async def run(client: httpx.AsyncClient, agent: str, body: Mapping[str, object]) -> list[Event]:
    """Return the events of a run, each of which is valid."""
    response = await client.post(f"/{agent}", json=body)
    assert response.status_code == 200, response.text
    return read_stream(response.text)


def read_stream(text: str) -> list[Event]:
    """Return the events of a stream."""
    blocks = [block for block in text.split("\n\n") if block.startswith("data: ")]
    return [_EVENTS.validate_python(json.loads(block.removeprefix("data: "))) for block in blocks]
