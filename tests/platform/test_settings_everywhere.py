"""Settings of a Runnable hold for each of its runs, whichever way it begins: budget, listeners, and captured trace."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import httpx
import pytest
from mcp import Client

from tactician import Agent, Budget, Platform, RouterAgent, Runnable, SupervisorAgent
from tactician.a2a import RemoteAgent
from tactician.ensemble import Ensemble, Loop, Phase, Task, TaskCompleted
from tactician.events import Event
from tactician.platform import Worker
from tactician.runs import RunContext
from tactician.serve import app
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.trace.capture import CaptureMode
from tests.serve.ag_ui.newsroom import ask
from tests.serve.api.serving import find, start
from tests.serve.listening import listening

Way = Callable[["Office"], Awaitable[object]]
BUDGET = Budget(turns=2)


class Office:
    """Ensemble of three tasks with a budget for two of them, on a platform with a store."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.captured: set[CaptureMode | None] = set()
        self.model = ScriptedModel("a", "b", "c")
        self.ensemble = Ensemble(
            "Office",
            [Task("One"), Task("Two"), Task("Three")],
            model=self.model,
            description="Works",
            budget=BUDGET,
            listeners=[self.hear],
            capture="full",
        )
        self.platform = Platform(self.model, store=MemoryStore()).register(self.ensemble)

    def hear(self, event: Event) -> None:
        self.heard.append(event)
        current = RunContext.find_current()
        self.captured.add(None if current is None else current.find(CaptureMode))

    async def run_in(self, outer: Runnable) -> None:
        await outer.run("Work")

    def count_tasks(self) -> int:
        return sum(isinstance(event, TaskCompleted) for event in self.heard)


async def read_all(office: Office, *, text: bool) -> None:
    stream = office.ensemble.stream_text("Work") if text else office.ensemble.stream("Work")
    async for _ in stream:
        pass


async def work_off(office: Office) -> None:
    await office.platform.enqueue("Office", "Work")
    await Worker(office.platform).run_once()


async def resume(office: Office) -> None:
    await office.platform.resume(await office.platform.enqueue("Office", "Work"))


async def use_http(office: Office) -> None:
    async with (
        listening(lambda address: app(office.platform, url=address)) as address,
        httpx.AsyncClient(base_url=address) as client,
    ):
        await find(client, await start(client, "office", "Work"), "terminated")


async def use_ag_ui(office: Office) -> None:
    async with (
        listening(lambda address: app(office.platform, url=address)) as address,
        httpx.AsyncClient(base_url=address) as client,
    ):
        await client.post("/agui/office", json=ask("Work"))


async def use_mcp(office: Office) -> None:
    async with (
        listening(lambda address: app(office.platform, url=address)) as address,
        Client(f"{address}/mcp") as client,
    ):
        await client.call_tool("office", {"request": "Work"})


async def use_a2a(office: Office) -> None:
    async with listening(lambda address: app(office.platform, url=address)) as address:
        await (await RemoteAgent.discover(address, allow_private=True)).run("Work")


async def use_as_tool(office: Office) -> None:
    model = ScriptedModel(ToolCall("office", request="Work"), "done")
    await Agent("Boss", model=model, tools=[office.ensemble.as_tool("office")]).run("Work")


async def use_as_worker(office: Office) -> None:
    model = ScriptedModel(ToolCall("invoke_office", request="Work"), "done")
    await SupervisorAgent("Boss", model=model, workers={"office": office.ensemble}).run("Work")


async def use_as_route(office: Office) -> None:
    await RouterAgent("Router", routes={"all": office.ensemble}, model=ScriptedModel("1")).run("Work")


WAYS: dict[str, Way] = {
    "run": lambda office: office.ensemble.run("Work"),
    "run_sync": lambda office: asyncio.to_thread(office.ensemble.run_sync, "Work"),
    "run on a platform": lambda office: office.ensemble.run("Work", context=office.platform.context()),
    "stream": lambda office: read_all(office, text=False),
    "stream_text": lambda office: read_all(office, text=True),
    "worker": work_off,
    "resume": resume,
    "http": use_http,
    "ag_ui": use_ag_ui,
    "mcp": use_mcp,
    "a2a": use_a2a,
    "tool": use_as_tool,
    "worker of a supervisor": use_as_worker,
    "route": use_as_route,
    "task": lambda office: office.run_in(Ensemble("Outer", [office.ensemble])),
    "task of a task": lambda office: office.run_in(Ensemble("Outer", [Ensemble("Middle", [office.ensemble])])),
    "loop": lambda office: office.run_in(Ensemble("Outer", [Loop([office.ensemble], max_iterations=1)])),
    "loop alone": lambda office: office.run_in(Loop([office.ensemble], max_iterations=1)),
    "phase": lambda office: office.run_in(Ensemble("Outer", phases=[Phase("First", [office.ensemble])])),
    "agent of a task": lambda office: office.run_in(Ensemble("Outer", [Task("Work", agent=office.ensemble)])),
    "typed": lambda office: office.run_in(office.ensemble.with_output_type(str)),
}


@pytest.mark.parametrize("way", WAYS)
async def test_budget_listeners_and_capture_hold_for_each_way_to_begin(way: str) -> None:
    office = Office()

    with suppress(Exception):  # how it is told differs by the way
        await WAYS[way](office)

    assert len(office.model.calls) == 2
    assert office.count_tasks() == 2
    assert CaptureMode.FULL in office.captured
