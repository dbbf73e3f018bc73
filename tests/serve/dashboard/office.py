"""A server with agents that wait, replan, spend and fail, for a browser to look at."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from threading import Event, Thread
from typing import Annotated, Final, TypeVar

import httpx
import uvicorn
from pydantic import BaseModel, Field

from tactician import (
    Agent,
    Ensemble,
    Image,
    Platform,
    Review,
    Task,
    UserInput,
    achieves_goal,
    action,
    confirm,
    planned_agent,
    tool,
)
from tactician.errors import ModelError
from tactician.llm import (
    AssistantMessage,
    Deployment,
    Features,
    ModelPrice,
    ModelRequest,
    ModelResponse,
    ModelRetryPolicy,
    ModelRouter,
    Text,
    Usage,
)
from tactician.llm import ToolCall as CalledTool
from tactician.llm.model import Delta
from tactician.process import ask_human
from tactician.serve import Person, RequestLimits, app
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.api.serving import Json

T = TypeVar("T")
ANNA: Final = "anna-has-a-secret-token"
BERT: Final = "bert-has-a-secret-token"
CARL: Final = "carl-has-a-secret-token"
DORA: Final = "dora-has-a-secret-token"
PEOPLE: Final = {
    ANNA: Person("Anna", roles=frozenset({"editor"})),
    BERT: Person("Bert", roles=frozenset({"cook"})),
    CARL: Person("Carl", rights=frozenset({"see"})),
    DORA: Person("Dora", rights=frozenset({"see", "start"})),
}
EVIL: Final = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'"javascript:window.hacked=1'
_LIMITS: Final = RequestLimits(rate=10_000, burst=10_000)


class Class(StrEnum):
    FIRST = "first"
    SECOND = "second"


class Guest(BaseModel):
    name: Annotated[str, Field(min_length=2, max_length=40, description="as in the passport")]
    age: Annotated[int, Field(ge=0, le=120)]


class Trip(BaseModel):
    city: Annotated[str, Field(description="where to go")]
    nights: Annotated[int, Field(ge=1, le=30)] = 2
    comfort: Class = Class.SECOND
    guests: Annotated[list[Guest], Field(max_length=4)] = []
    contact: Guest | None = None
    insurance: bool = False


class Train(BaseModel):
    number: str


class Bus(BaseModel):
    number: str


class Ticket(BaseModel):
    text: str


@planned_agent(name="Traveller", description="Books a trip, and finds another way when there is none")
class Traveller:
    @action
    async def ask(self, wish: UserInput) -> Trip:
        return await ask_human(Trip, f"Where to, and for how long? {wish.content}")

    @action(cost=0.1)
    def find_train(self, trip: Trip) -> Train | None:
        return None  # there is a strike

    @action(cost=0.4)
    def find_bus(self, trip: Trip) -> Bus:
        return Bus(number=f"bus to {trip.city}")

    @action(cost=0.1)
    def write_train_ticket(self, train: Train) -> Ticket:
        return Ticket(text=train.number)

    @action(cost=0.2)
    async def write_bus_ticket(self, bus: Bus) -> Ticket | None:
        question = "There is only a bus. Is that all right?"
        agreed = await confirm(bus, question, deadline=timedelta(hours=2), default=False)
        return Ticket(text=bus.number) if agreed else None

    @achieves_goal("The trip is booked")
    @action
    def book(self, trip: Trip, ticket: Ticket) -> str:
        return f"{trip.city}, {trip.nights} nights, {len(trip.guests)} guests: {ticket.text}"


class TurnModel:
    """Model whose answer depends on the turn of the conversation only, so that runs may go on side by side."""

    def __init__(self, name: str, *turns: str | CalledTool | Exception) -> None:
        self.name = name
        self.features = Features(tools=True)
        self._turns = turns

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Give the answer of the turn; the last one again and again."""
        number = sum(isinstance(message, AssistantMessage) for message in request.messages)
        turn = self._turns[min(number, len(self._turns) - 1)]
        if isinstance(turn, Exception):
            raise turn
        part = Text(turn) if isinstance(turn, str) else turn
        usage = Usage(1200, 300, requests=1, model=self.name, price=ModelPrice(2.0, 8.0))
        return ModelResponse(AssistantMessage((part,)), usage, "stop", self.name)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """Give the same at once."""
        yield await self.generate(request)


class Gate:
    """A place where an agent waits until a test opens it."""

    def __init__(self) -> None:
        self.is_open = Event()

    async def wait(self) -> None:
        """Wait."""
        await asyncio.to_thread(self.is_open.wait)


class Office:
    """A server in a thread, and how to call it."""

    def __init__(self, platform: Platform, gate: Gate) -> None:
        self.platform = platform
        self.gate = gate
        self.url = ""
        self._ready = Event()
        self._server = uvicorn.Server(
            uvicorn.Config(
                app(platform, people=PEOPLE, limits=_LIMITS),
                port=0,
                log_level="error",
                timeout_graceful_shutdown=1,
            )
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client = httpx.Client(verify=False, timeout=20)
        self._thread = Thread(target=self._run, daemon=True)

    @property
    def pages(self) -> str:
        """Address of the dashboard."""
        return f"{self.url}/ui/"

    def call(self, method: str, path: str, body: object = None, token: str = ANNA) -> httpx.Response:
        """Call the server as a program does."""
        return self._client.request(
            method, f"{self.url}{path}", json=body, headers={"Authorization": f"Bearer {token}"}
        )

    def start_run(self, agent: str, input: object) -> str:
        """Start a run, and return its id."""
        done = self.call("POST", f"/api/agents/{agent}/runs", {"input": input})
        assert done.status_code == 202, done.text
        run_id: str = done.json()["id"]
        return run_id

    def wait_for(self, run_id: str, *statuses: str) -> Json:
        """Return a run, once it has any of the statuses."""
        shown: Json = {}
        for _ in range(1000):
            shown = self.call("GET", f"/api/runs/{run_id}").json()
            if shown["status"] in statuses:
                return shown
            Event().wait(0.01)
        raise AssertionError(f"{run_id} is {shown['status']}: {shown['failure']}")

    def cancel_all(self) -> None:
        """End all runs that have not ended, so that the next test begins with none that wait."""
        for run in self.call("GET", "/api/runs?status=waiting&status=running&status=paused").json()["runs"]:
            self.call("DELETE", f"/api/runs/{run['id']}")

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Do some work where the server runs, and return its result."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def open(self) -> None:
        """Begin to serve."""
        self._thread.start()
        while not self._server.started:
            Event().wait(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def close(self) -> None:
        """End."""
        self.gate.is_open.set()
        self._client.close()
        self._server.should_exit = True
        self._thread.join(10)

    def _run(self) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            await self._server.serve()

        asyncio.run(serve())


def draw_png(size: int = 40) -> bytes:
    """Return a picture of so many pixels in each direction."""
    rows = b"".join(
        b"\0" + bytes((x * 6, y * 6, x * y % 251)[c] for x in range(size) for c in range(3)) for y in range(size)
    )
    parts = {b"IHDR": struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0), b"IDAT": zlib.compress(rows), b"IEND": b""}
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def create_platform(gate: Gate, *, has_evil: bool, store: DocumentStore | None = None) -> Platform:
    """Return a platform with agents of every kind that the dashboard shows."""
    words = f" {EVIL}" if has_evil else "."

    @tool(needs_approval=True)
    def pay(amount: int, currency: str = "EUR") -> str:
        """Pay an amount."""
        return f"paid {amount} {currency}{words}"

    @tool
    async def wait() -> str:
        """Wait for the gate."""
        await gate.wait()
        return "the gate is open"

    @tool
    def paint() -> Image:
        """Paint."""
        return Image.from_bytes(draw_png())

    painter = TurnModel("painter", CalledTool("call", "paint", "{}"), "There it is.")
    poet = TurnModel("poet", "Roses are red.")
    broken = TurnModel("broken", ModelError("broken: the provider is down", status=503))
    router = ModelRouter(
        [
            Deployment("eu", "poet", poet, requests_per_second=50.0, max_concurrency=8),
            Deployment("us", "poet", poet, max_concurrency=4),
            Deployment("eu", "broken", broken),
        ],
        retries=ModelRetryPolicy.with_attempts(1),
        default_model="poet",
    )
    payments = TurnModel("cashier", CalledTool("call", "pay", '{"amount": 5}'), f"The hotel is paid{words}")
    drafts = ScriptedModel(name="writer")
    drafts.when(prompt_contains="Revision Instructions").reply("Frogs hear with their lungs.")
    drafts.when(prompt_contains="Write about").reply("Frogs are nice.")
    waiting = TurnModel("waiter", CalledTool("call", "wait", "{}"), "At last.")
    write = Task(
        "Write about {topic}", id="write", review=Review.after("Good enough?", required_role="editor", timeout=600)
    )
    return Platform(router, store=store or MemoryStore()).register(
        Agent("Poet", description="Writes verses", model="poet"),
        Agent("Broken", description="Its provider is down", model="broken"),
        Agent("Cashier", description="Pays what is due", model=payments, tools=[pay]),
        Agent("Painter", description="Paints", model=painter, tools=[paint]),
        Agent("Slow", description="Waits for a gate", model=waiting, tools=[wait]),
        *([Agent(EVIL, id="evil", description=EVIL, model=TurnModel("evil", EVIL))] if has_evil else []),
        Traveller(),
        Ensemble("Newsroom", [write], model=drafts),
    )


@contextmanager
def open_office(*, has_evil: bool = True, store: DocumentStore | None = None) -> Iterator[Office]:
    """Serve the agents until the end: also one whose every word is a script, unless it is left out."""
    gate = Gate()
    office = Office(create_platform(gate, has_evil=has_evil, store=store), gate)
    office.open()
    try:
        yield office
    finally:
        office.close()
