"""All of a run is there after the server was killed and started again: plans, calls of tools, and conversations."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from tactician import Agent, OperationContext, PlannedAgent, Platform, UserInput, achieves_goal, action, planned_agent
from tactician.process import ask_human
from tactician.serve import RequestLimits
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.api.serving import find, read_events, served, start, until
from tests.serve.api.test_processes import ask, serving
from tests.stores import postgres

JOURNEY = """
from pydantic import BaseModel
from tactician import Agent, Ai, UserInput, achieves_goal, action, planned_agent, tool
from tactician.process import ask_human
from tactician.testing import ScriptedModel, ToolCall

class Train(BaseModel):
    number: str

class Bus(BaseModel):
    number: str

class Ticket(BaseModel):
    text: str

@tool
def look_up(town: str) -> str:
    "Look buses up."
    return f"bus 7 to {town}, api_key=abcdefghijkl"

@planned_agent(description="Finds a way")
class Traveller:
    @action(cost=0.1)
    def find_train(self, wish: UserInput) -> Train | None:
        return None  # there is a strike

    @action(cost=0.4)
    async def find_bus(self, wish: UserInput) -> Bus:
        model = ScriptedModel(ToolCall("look_up", town="Rome"), "It is bus 7.")
        clerk = Agent("Clerk", model=model, tools=[look_up], instructions="Find a bus.")
        return Bus(number=(await clerk.run(wish.content)).output)

    @achieves_goal("ticket by train")
    @action(cost=0.1)
    def write_train_ticket(self, train: Train) -> Ticket:
        return Ticket(text=train.number)

    @achieves_goal("ticket by bus")
    @action(cost=0.2)
    async def write_bus_ticket(self, bus: Bus) -> Ticket:
        return Ticket(text=await ask_human(str, f"{bus.number} Is that all right?"))
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "journeys.db")
    else:
        with postgres.running(postgres.installed()) as server:
            yield f"postgresql://{server.address}/{server.create_database()}"


async def read_run(client: httpx.AsyncClient, run_id: str) -> list[dict[str, Any]]:
    """Return the events that the server sends of a run at once."""
    received: list[str] = []
    query = {"brief": "true"}
    async with client.stream("GET", f"/api/runs/{run_id}/events", params=query) as stream:
        async for line in stream.aiter_lines():
            received.append(line)
            if line.startswith("data: ") and json.loads(line.removeprefix("data: "))["type"] == "RunSuspended":
                break
    return [json.loads(data) for _, _, data in read_events("\n".join(received))]


async def wait_for_use(client: httpx.AsyncClient) -> dict[str, Any]:
    """Return the use of models, once the server has read that of the time before it."""
    async with asyncio.timeout(60):
        while True:
            models: dict[str, Any] = (await client.get("/api/models")).json()
            if models["use"]:
                return models
            await asyncio.sleep(0.02)


async def test_a_restart_loses_no_plan_and_no_conversation(tmp_path: Path, store: str) -> None:
    options = ("--lease", "1", "--store", store)
    async with (
        serving(tmp_path, *options, program=JOURNEY) as (process, address),
        httpx.AsyncClient(base_url=address) as client,
    ):
        started = await client.post("/api/agents/traveller/runs", json={"input": "To Rome"})
        run_id = started.json()["id"]
        await ask(client, run_id, "waiting")
        before = await read_run(client, run_id)
        plans = (await client.get(f"/api/runs/{run_id}/plans")).json()
        process.send_signal(signal.SIGKILL)
        await process.wait()

    async with (
        serving(tmp_path, *options, program=JOURNEY) as (_, address),
        httpx.AsyncClient(base_url=address) as client,
    ):
        after = await read_run(client, run_id)
        assert (await client.get(f"/api/runs/{run_id}/plans")).json() == plans
        trace = (await client.get(f"/api/runs/{run_id}/trace")).json()
        models = await wait_for_use(client)

    assert sum(point["calls"] for model in models["use"] for point in model["points"]) == 2
    assert models["since"] < before[0]["time"]
    planning = {"PlanningStarted", "PlanningEnded"}  # of which a run keeps only what asked a model
    assert [e["id"] for e in after] == [e["id"] for e in before if e["type"] not in planning]
    assert [plan["steps"][0]["name"] for plan in plans["plans"]] == ["find_train", "find_bus"]
    turns = [event["request"]["messages"] for event in after if event["type"] == "TurnStarted"]
    assert [message["role"] for message in turns[0]] == ["system", "user"]
    assert turns[1][0]["content"] == "bus 7 to Rome, api_key=***"
    assert "abcdefghijkl" not in json.dumps([before, after, trace])
    assert "It is bus 7." in json.dumps(trace)


class Draft(BaseModel):
    text: str


@planned_agent(description="Writes")
class Inner:
    @achieves_goal("a draft")
    @action
    def write(self, wish: UserInput) -> Draft:
        return Draft(text=wish.content)


@planned_agent(description="Lets another write")
class Outer:
    @action
    async def delegate(self, wish: UserInput) -> Draft:
        return (await PlannedAgent[Draft](Inner()).run(wish)).output

    @achieves_goal("a title")
    @action
    async def ask(self, draft: Draft) -> str:
        return await ask_human(str, "Which title?")


async def test_a_run_inside_another_is_found_after_a_restart() -> None:
    store = MemoryStore()
    async with Platform(ScriptedModel(), store=store) as first:
        process = await first.register(Outer()).start("Outer", "x")
        (child,) = (await first.tree(process.id)).children

    async with served(Platform(ScriptedModel(), store=store).register(Outer())) as client:

        async def look() -> dict[str, Any] | None:
            answer = await client.get(f"/api/runs/{child.run.id}")
            return answer.json() if answer.status_code == 200 else None

        found = await until(look)

    assert (found["agent"], found["parent_id"], found["status"]) == ("Inner", process.id, "completed")


class Note(BaseModel):
    text: str


@planned_agent(description="Asks another process")
class Asker:
    @achieves_goal("noted")
    @action
    async def ask(self, wish: UserInput, context: OperationContext) -> Note:
        return await context.run_agent(Relay(), Note, wish)


@planned_agent(description="Asks an agent")
class Relay:
    @achieves_goal("noted")
    @action
    async def ask(self, wish: UserInput) -> Note:
        return Note(text=(await Agent("Inner", model=ScriptedModel("Noted.")).run(wish.content)).output)


def create_asking_platform(store: DocumentStore) -> Platform:
    return Platform(ScriptedModel(), store=store).register(Asker())


async def read_stream(client: httpx.AsyncClient, run_id: str) -> list[dict[str, Any]]:
    text = (await client.get(f"/api/runs/{run_id}/events")).text
    return [json.loads(data) for _, kind, data in read_events(text) if kind != "end"]


async def test_the_stream_of_an_inner_run_has_the_runs_inside_it() -> None:
    store = MemoryStore()
    async with served(create_asking_platform(store)) as client:
        run_id = await start(client, "asker", "A wish")
        await find(client, run_id, "completed")
        whole = await read_stream(client, run_id)
        (middle,) = {event["run_id"] for event in whole if event["type"] == "ProcessStarted"} - {run_id}
        inside = await read_stream(client, middle)
    paths = {tuple(event["path"]) for event in inside}
    assert any(path[-1] == "Inner" for path in paths), paths
    assert ("Asker",) not in paths


@planned_agent(description="Asks a process that asks another")
class Visitor:
    @achieves_goal("noted")
    @action
    async def visit(self, wish: UserInput, context: OperationContext) -> Note:
        return await context.run_agent(Asker(), Note, wish)


async def read_inner_stream(unread: int, most: int) -> list[tuple[str, str]]:
    """Return the agents and types of the events of the process in the middle.

    Args:
        unread: number of events of the whole run that the reader has not seen.
        most: number of events that the server keeps.
    """
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(Visitor())
    async with served(platform, limits=RequestLimits(events_per_run=most)) as client:
        run_id = await start(client, "visitor", "A wish")
        await find(client, run_id, "completed")
        whole = [event for event in read_events((await client.get(f"/api/runs/{run_id}/events")).text) if event[0]]
        (middle,) = (await client.get(f"/api/runs/{run_id}/details")).json()["children"]
        session, _, number = whole[-1][0].rpartition("-")
        answer = await client.get(
            f"/api/runs/{middle['run']['id']}/events",
            headers={"Last-Event-ID": f"{session}-{int(number) - unread}"},
        )
    events = [json.loads(data) for _, kind, data in read_events(answer.text) if kind != "end"]
    return [(event["path"][-1], event["type"]) for event in events]


async def test_a_reader_of_an_inner_run_goes_on_where_earlier_events_are_not_kept() -> None:
    events = await read_inner_stream(unread=1_000, most=1_000)
    inside = events[events.index(("Relay", "ProcessStarted")) :]
    unread = len(inside) + 4  # and the end of the process around

    assert await read_inner_stream(unread, most=unread) == inside


@pytest.mark.parametrize("agent", ["asker", "talker"])
async def test_the_end_of_a_run_is_in_its_stream_after_a_restart(agent: str) -> None:
    store = MemoryStore()

    def create() -> Platform:
        return create_asking_platform(store).register(Agent("Talker", model=ScriptedModel("Hello.")))

    async with served(create()) as client:
        run_id = await start(client, agent, "A wish")
        await find(client, run_id, "completed")
        before = await read_stream(client, run_id)
    async with served(create()) as client:
        after = await read_stream(client, run_id)
        chosen = await client.get(f"/api/runs/{run_id}/events", params={"type": "TurnCompleted"})

    ends = [[event for event in events if event["run_id"] == run_id][-1] for events in (before, after)]
    assert ends[0]["type"] == ends[1]["type"] == ("ProcessEnded" if agent == "asker" else "RunEnded")
    assert [end["status"] for end in ends] == ["completed", "completed"]
    assert ends[0]["span_id"] == ends[1]["span_id"]
    assert {kind for _, kind, _ in read_events(chosen.text)} <= {"TurnCompleted", "end"}
    planning = ("PlanningStarted", "PlanningEnded")
    assert [event["type"] for event in before if event["type"] not in planning] == [event["type"] for event in after]
