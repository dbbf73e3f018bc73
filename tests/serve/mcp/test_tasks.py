"""The tasks extension: calls that take their time are durable runs, also after a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from tactician import Agent, Export, Platform, achieves_goal, action, ask_human, planned_agent, tool
from tactician.people.person import Right
from tactician.serve import McpPublisher, Person, app
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.mcp.kitchen import Order, add, delete
from tests.support.waiting import eventually

Json = dict[str, Any]
TASKS = "io.modelcontextprotocol/tasks"
FORMS: Json = {"elicitation": {}}
ANNA, BERT = "a-token-of-anna-is-long", "a-token-of-bert-is-long"


class Taste(BaseModel):
    spicy: bool


class Meal(BaseModel):
    dish: str


class Oven:
    """What the agents below wait for."""

    def __init__(self) -> None:
        self.is_warm = asyncio.Event()


def create_cook(oven: Oven) -> object:
    @planned_agent(description="Cooks when the oven is warm.")
    class Cook:
        @achieves_goal("A meal is cooked", export=Export(remote=True, name="cook", starting_input_types=[Order]))
        @action
        async def cook(self, order: Order) -> Meal:
            await oven.is_warm.wait()
            if order.dish == "stone":
                raise ValueError("nobody eats that, password=hunter2")
            if order.pieces > 1:
                taste = await ask_human(Taste, "How?")
                return Meal(dish=f"{order.dish}, spicy: {taste.spicy}")
            return Meal(dish=order.dish)

    return Cook()


class Caller:
    """Client of the new era, whose requests are written by hand."""

    def __init__(self, http: httpx2.AsyncClient, *, capabilities: Json | None = None, token: str = "") -> None:
        self._http = http
        self._capabilities = {**FORMS, "extensions": {TASKS: {}}} if capabilities is None else capabilities
        self._token = token

    async def send(self, method: str, params: Json, name: str = "") -> Json:
        """Send a request, and return the whole answer."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self._capabilities,
        }
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
            **({"mcp-name": name} if name else {}),
            **({"authorization": f"Bearer {self._token}"} if self._token else {}),
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        answer = await self._http.post("/mcp", json=body, headers=headers)
        result: Json = json.loads(answer.text.rpartition("data: ")[2] or answer.text)
        return result

    async def call(self, tool_name: str, **arguments: object) -> Json:
        answer = await self.send("tools/call", {"name": tool_name, "arguments": arguments}, tool_name)
        return dict(answer.get("result", answer))

    async def ask(self, what: str, task_id: str, **params: object) -> Json:
        answer = await self.send(f"tasks/{what}", {"taskId": task_id, **params}, task_id)
        return dict(answer.get("result", answer))

    async def wait(self, task_id: str, *statuses: str) -> Json:
        """Look at a task until it has one of the statuses."""
        task: Json = {}

        async def is_there() -> bool:
            nonlocal task
            task = await self.ask("get", task_id)
            return task["status"] in statuses

        await eventually(is_there)
        return task


@asynccontextmanager
async def serve(
    platform: Platform, *sources: object, task_only: Sequence[str] = ()
) -> AsyncIterator[httpx2.AsyncClient]:
    """The server of `tactician mcp serve`."""
    application = McpPublisher(platform, *sources, task_only=task_only).app()
    async with (
        platform,
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://127.0.0.1:8000") as http,
    ):
        yield http


@asynccontextmanager
async def serve_application(platform: Platform, people: Mapping[str, Person]) -> AsyncIterator[httpx2.AsyncClient]:
    """The server of `tactician serve`, for people with tokens."""
    application = app(platform, people=people)
    async with (
        platform,
        application.router.lifespan_context(application),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=application, client=("127.0.0.1", 1)), base_url="http://localhost"
        ) as http,
    ):
        yield http


@pytest.fixture
def oven() -> Oven:
    return Oven()


@pytest.fixture
def platform(oven: Oven) -> Platform:
    return Platform(ScriptedModel(), store=MemoryStore()).register(create_cook(oven))


async def test_a_call_that_ends_soon_is_no_task(platform: Platform, oven: Oven) -> None:
    oven.is_warm.set()
    async with serve(platform, add) as http:
        result = await Caller(http).call("cook", dish="pie")
        assert (result["structuredContent"], result["resultType"]) == ({"dish": "pie"}, "complete")
        assert (await Caller(http).call("add", a=1, b=2))["structuredContent"] == {"result": 3}
        wrong = await Caller(http).call("cook", pieces="many")
        assert "The arguments are not valid" in wrong["content"][0]["text"]


async def test_a_call_that_takes_longer_is_a_task(platform: Platform, oven: Oven) -> None:
    async with serve(platform) as http:
        client = Caller(http)
        task = await client.call("cook", dish="pie")
        assert (task["resultType"], task["status"], task["ttlMs"]) == ("task", "working", None)
        assert (await client.ask("get", task["taskId"]))["status"] == "working"
        assert [run.id for run in await platform.runs(names=["mcp"])] == [task["taskId"]]
        oven.is_warm.set()
        done = await client.wait(task["taskId"], "completed")
    assert done["result"]["structuredContent"] == {"dish": "pie"}
    assert "isError" not in done["result"] or done["result"]["isError"] is False


async def test_a_task_asks_and_an_answer_that_does_not_fit_is_asked_again(platform: Platform, oven: Oven) -> None:
    async with serve(platform) as http:
        client = Caller(http)
        task_id = (await client.call("cook", dish="pie", pieces=2))["taskId"]
        oven.is_warm.set()
        keys: list[str] = []
        for answer in ("perhaps", True):
            asked = (await client.wait(task_id, "input_required"))["inputRequests"]
            ((key, request),) = asked.items()
            keys.append(key)
            assert request["method"] == "elicitation/create"
            response = {"action": "accept", "content": {"spicy": answer}}
            acknowledged = await client.ask("update", task_id, inputResponses={key: response, "unknown": {"x": 1}})
            assert "taskId" not in acknowledged
        done = await client.wait(task_id, "completed")
    assert len(set(keys)) == 2  # no key stands for two requests
    assert done["result"]["structuredContent"] == {"dish": "pie, spicy: True"}


async def test_a_call_that_asks_at_once_asks_before_it_becomes_a_task(platform: Platform, oven: Oven) -> None:
    oven.is_warm.set()
    async with serve(platform) as http:
        client = Caller(http)
        asked = await client.call("cook", dish="pie", pieces=2)
        assert asked["resultType"] == "input_required"
        answers = {key: {"action": "accept", "content": {"spicy": False}} for key in asked["inputRequests"]}
        arguments = {"name": "cook", "arguments": {"dish": "pie", "pieces": 2}}
        params = {**arguments, "inputResponses": answers, "requestState": asked["requestState"]}
        done = (await client.send("tools/call", params, "cook"))["result"]
    assert done["structuredContent"] == {"dish": "pie, spicy: False"}


async def test_a_task_that_is_cancelled_is_killed(platform: Platform) -> None:
    async with serve(platform) as http:
        client = Caller(http)
        task_id = (await client.call("cook", dish="pie"))["taskId"]
        await client.ask("cancel", task_id)
        assert (await client.wait(task_id, "cancelled"))["status"] == "cancelled"
        assert "error" not in await client.ask("cancel", task_id)
        assert [run.status for run in await platform.runs(names=["mcp"])] == ["killed"]


async def test_a_failure_is_a_result_without_secrets(platform: Platform, oven: Oven) -> None:
    async with serve(platform) as http:
        client = Caller(http)
        task_id = (await client.call("cook", dish="stone"))["taskId"]
        oven.is_warm.set()
        done = await client.wait(task_id, "completed")
    text = done["result"]["content"][0]["text"]
    assert (done["result"]["isError"], "nobody eats that" in text, "hunter2" in text) == (True, True, False)


async def test_a_task_survives_its_server(tmp_path: Path) -> None:
    """Once while it works, and once while it waits; each server is a program of its own over the same file."""
    ovens = [Oven(), Oven(), Oven()]

    @asynccontextmanager
    async def restart(number: int) -> AsyncIterator[Caller]:
        store = SqliteStore(str(tmp_path / "runs.db"))
        platform = Platform(ScriptedModel(), store=store).register(create_cook(ovens[number]))
        async with serve(platform) as http:
            yield Caller(http)

    async with restart(0) as client:
        task_id = (await client.call("cook", dish="pie", pieces=2))["taskId"]
    ovens[1].is_warm.set()
    async with restart(1) as client:
        asked = (await client.wait(task_id, "input_required"))["inputRequests"]
    ovens[2].is_warm.set()
    async with restart(2) as client:
        assert (await client.ask("get", task_id))["inputRequests"] == asked
        answers = {key: {"action": "accept", "content": {"spicy": True}} for key in asked}
        await client.ask("update", task_id, inputResponses=answers)
        done = await client.wait(task_id, "completed")
    assert done["result"]["structuredContent"] == {"dish": "pie, spicy: True"}


async def test_an_approval_is_asked_of_the_person(oven: Oven) -> None:
    @tool
    async def warm() -> str:
        """Warm the oven."""
        await oven.is_warm.wait()
        return "warm"

    model = ScriptedModel(ToolCall("warm"), ToolCall("delete", path="a"), "It is gone")
    platform = Platform(model, store=MemoryStore())
    async with serve(platform, Agent("Clerk", tools=[warm, delete])) as http:
        client = Caller(http)
        task_id = (await client.call("clerk", request="delete a"))["taskId"]
        oven.is_warm.set()
        asked = (await client.wait(task_id, "input_required"))["inputRequests"]
        answers = {key: {"action": "accept", "content": {"approved": True}} for key in asked}
        without_forms = Caller(http, capabilities={"extensions": {TASKS: {}}})
        waiting = await without_forms.ask("get", task_id)
        assert (waiting["status"], "waits for a person" in waiting["statusMessage"]) == ("working", True)
        await without_forms.ask("update", task_id, inputResponses=answers)
        assert (await client.ask("get", task_id))["status"] == "input_required"
        await client.ask("update", task_id, inputResponses=answers)
        done = await client.wait(task_id, "completed")
    assert done["result"]["content"][0]["text"] == "It is gone"


async def test_a_task_belongs_to_whoever_started_it(platform: Platform, oven: Oven) -> None:
    rights: frozenset[Right] = frozenset({"start", "answer"})
    people = {ANNA: Person("Anna", rights=rights), BERT: Person("Bert", rights=rights)}
    async with serve_application(platform, people) as http:
        anna, bert = Caller(http, token=ANNA), Caller(http, token=BERT)
        task_id = (await anna.call("cook", dish="pie"))["taskId"]
        for what in ("get", "update", "cancel"):
            assert (await bert.ask(what, task_id, inputResponses={}))["error"]["code"] == -32602
        oven.is_warm.set()
        assert (await anna.wait(task_id, "completed"))["result"]["structuredContent"] == {"dish": "pie"}


async def test_who_does_not_support_tasks_has_none(platform: Platform, oven: Oven) -> None:
    async with serve(platform, task_only=["cook"]) as http:
        old = Caller(http, capabilities=FORMS)
        refused = await old.ask("get", "x")
        needed = await old.call("cook", dish="pie")
    for answer in (refused, needed):
        assert answer["error"]["code"] == -32021
        assert answer["error"]["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


async def test_without_a_store_there_are_no_tasks(oven: Oven) -> None:
    oven.is_warm.set()
    async with serve(Platform(ScriptedModel()).register(create_cook(oven))) as http:
        client = Caller(http)
        offered = (await client.send("server/discover", {}))["result"]["capabilities"]
        assert TASKS not in offered.get("extensions", {})
        assert (await client.call("cook", dish="pie"))["structuredContent"] == {"dish": "pie"}
        assert (await client.ask("get", "x"))["error"]["code"] == -32601


async def test_a_task_that_nobody_knows_and_a_header_of_another(platform: Platform) -> None:
    async with serve(platform) as http:
        client = Caller(http)
        task_id = (await client.call("cook", dish="pie"))["taskId"]
        assert (await client.ask("get", "unknown"))["error"]["code"] == -32602
        assert (await client.send("tasks/get", {"taskId": task_id}, "another"))["error"]["code"] == -32020
