"""All that a server speaks at once, behind the same guard, and its end."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import httpx
import httpx2
import pytest
from mcp import Client
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from tactician import Agent, Platform, tool
from tactician.a2a import RemoteAgent
from tactician.serve import Person, RequestLimits, app
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.ag_ui.newsroom import Json, ask, read_stream
from tests.serve.ag_ui.newsroom import create_platform as create_newsroom
from tests.serve.ag_ui.order import check_order
from tests.serve.api.serving import Gate, create_platform, find, read_events, served, start
from tests.serve.listening import listening
from tests.serve.mcp.kitchen import read

CLERK, EDITOR, GUEST = "a-token-of-the-clerk", "a-token-of-the-editor", "a-token-of-the-guest"
PEOPLE = {
    CLERK: Person("Anna", roles=frozenset({"clerk"})),
    EDITOR: Person("Bert", roles=frozenset({"editor"})),
    GUEST: Person("Carl", rights=frozenset({"see", "start"})),
}


def create_talkers(number: int = 1) -> Platform:
    talker = Agent("Talker", description="Talks", model=ScriptedModel(*["Hello."] * number))
    return Platform(ScriptedModel(), store=MemoryStore()).register(talker)


@pytest.mark.parametrize("people", [None, PEOPLE])
async def test_the_card_of_a2a_says_that_it_needs_a_token(people: dict[str, Person] | None) -> None:
    application = app(create_talkers(), people=people, url="http://localhost")
    headers = {"Authorization": f"Bearer {CLERK}"}
    transport = httpx.ASGITransport(app=application, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        card = (await client.get("/.well-known/agent-card.json")).json()

    schemes, requirements = card.get("securitySchemes", {}), card.get("securityRequirements", [])
    assert [*schemes] == ([] if people is None else ["bearer"])
    assert [[*requirement["schemes"]] for requirement in requirements] == [[*schemes] for _ in schemes]


@pytest.mark.parametrize("root", ["", "/agents"])
async def test_the_root_leads_to_the_dashboard_unless_a_route_takes_it(root: str) -> None:
    async def greet(request: Request) -> Response:
        return PlainTextResponse("hello")

    answers = []
    for routes in ((), (Route("/", greet),)):
        transport = httpx.ASGITransport(
            app=app(create_talkers(), routes=routes), root_path=root, client=("127.0.0.1", 1)
        )
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answers.append(await client.get("/"))
    assert (answers[0].status_code, answers[0].headers["location"]) == (307, f"{root}/ui/")
    assert answers[1].text == "hello"


async def test_one_server_speaks_five_protocols_at_once() -> None:
    platform = create_talkers(4)

    async def use_rest(address: str) -> list[str]:
        async with httpx.AsyncClient(base_url=address) as client:
            run_id = await start(client, "talker", "Hi")
            shown = await find(client, run_id, "completed")
            events = read_events((await client.get(f"/api/runs/{run_id}/events")).text)
            return [shown["result"], json.loads(events[-1][2])["result"]]

    async def use_ag_ui(address: str) -> list[str]:
        async with httpx.AsyncClient(base_url=address) as client:
            events = read_stream((await client.post("/agui/talker", json=ask())).text)
            check_order(events)
            return [getattr(events[-1], "result", "")]

    async def use_mcp(address: str) -> list[str]:
        async with Client(f"{address}/mcp") as client:
            return [read(await client.call_tool("talker", {"request": "Hi"}))]

    async def use_a2a(address: str) -> list[str]:
        remote = await RemoteAgent.discover(address, allow_private=True)
        return [str((await remote.run("Hi")).output)]

    async with platform, listening(lambda address: app(platform, url=address)) as address:
        answers = await asyncio.gather(*(use(address) for use in (use_rest, use_ag_ui, use_mcp, use_a2a)))

    assert answers == [["Hello.", "Hello."], ["Hello."], ["Hello."], ["Hello."]]


@pytest.mark.parametrize("path", ["/mcp", "/a2a/", "/a2a/message:send", "/agui/talker", "/.well-known/agent-card.json"])
async def test_all_protocols_are_behind_the_guard(path: str) -> None:
    platform = create_talkers()
    method = "GET" if path.endswith("json") else "POST"
    application = app(platform, people=PEOPLE, url="http://localhost")
    transport = httpx.ASGITransport(app=application, client=("127.0.0.1", 1))
    async with (
        platform,
        application.router.lifespan_context(application),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        nobody = await client.request(method, path, json={})
        headers = {"Authorization": f"Bearer {GUEST}"}
        guest = await client.request(method, path, json={"resume": [], **ask()}, headers=headers)
        elsewhere = await client.request(method, path, headers={**headers, "Origin": "http://evil.example"})

    assert (nobody.status_code, elsewhere.status_code) == (401, 403)
    assert guest.status_code == (200 if path == "/agui/talker" else 403)


async def test_a_person_of_the_server_uses_a2a() -> None:
    platform = create_talkers(2)
    headers = {"Authorization": f"Bearer {CLERK}"}
    async with platform, listening(lambda address: app(platform, people=PEOPLE, url=address)) as address:
        remote = await RemoteAgent.discover(address, allow_private=True, headers=headers)
        answer = await remote.run("Hi")
        (run,) = await platform.runs(names=["a2a"])

    assert (answer.output, run.status) == ("Hello.", "completed")


@pytest.mark.parametrize("approves", [True, False])
async def test_who_may_answer_a_review_with_the_tool_of_mcp(approves: bool) -> None:
    platform = create_newsroom()

    async def call(token: str, name: str, **arguments: object) -> Json:
        params = {"name": name, "arguments": arguments, "_meta": _META}
        headers = {"Authorization": f"Bearer {token}", "mcp-name": name, **_MCP}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        async with httpx2.AsyncClient(base_url=address, headers=headers) as client:
            done = await client.post("/mcp", json=body)
        result: Json = json.loads(done.text.partition("data: ")[2] or done.text)["result"]
        return result

    async with platform, listening(lambda _: app(platform, people=PEOPLE, lets_callers_approve=approves)) as address:
        waiting = (await call(CLERK, "press", request="Print"))["structuredContent"]
        answer = {"run_id": waiting["run_id"], "request_id": waiting["requests"][0]["id"]}
        decision = {**answer, "answer": {"decision": "approve"}}
        refused = await call(EDITOR, "respond", **decision)
        done = await call(CLERK, "respond", **decision)

    assert refused["isError"]
    assert ("role 'clerk'" if approves else "A person decides") in refused["content"][0]["text"]
    assert ("printed" if approves else "A person decides") in done["content"][0]["text"]


async def test_without_an_address_there_is_no_a2a() -> None:
    async with served(create_talkers()) as client:
        statuses = [(await client.get(path)).status_code for path in ("/.well-known/agent-card.json", "/a2a/v1/card")]

    assert statuses == [404, 404]


async def test_a_server_with_streams_of_all_kinds_stops_in_less_than_two_seconds() -> None:
    reached = asyncio.Semaphore(0)

    @tool
    async def wait() -> None:
        """Wait."""
        reached.release()
        await asyncio.Event().wait()

    slow = Agent("Slow", model=ScriptedModel(*[ToolCall("wait")] * 3), tools=[wait])
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(slow)
    async with AsyncExitStack() as stack, AsyncExitStack() as server:
        await stack.enter_async_context(platform)
        address = await server.enter_async_context(listening(lambda address: app(platform, url=address)))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=address, timeout=30))
        events = await stack.enter_async_context(client.stream("GET", "/api/events"))
        await anext(events.aiter_lines())
        calls = [asyncio.create_task(call(address)) for call in (_call_slow, _follow_slow, _run_slow)]
        async with asyncio.timeout(20):
            for _ in calls:
                await reached.acquire()
        began = asyncio.get_running_loop().time()
        await server.aclose()
        took = asyncio.get_running_loop().time() - began
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        statuses = {run.status for run in await platform.runs()}

    assert took < 2
    assert statuses == {"running"}  # they are in the store, for the next server


async def _call_slow(address: str) -> None:
    async with Client(f"{address}/mcp") as client:
        await client.call_tool("slow", {"request": "Go"})


async def _follow_slow(address: str) -> None:
    remote = await RemoteAgent.discover(address, allow_private=True, skill="slow")
    await remote.run("Go")


async def _run_slow(address: str) -> None:
    async with httpx.AsyncClient(base_url=address) as client:
        await client.post("/agui/slow", json=ask())


@pytest.mark.parametrize("path", ["/agui/slow", "/api/agents/slow/runs", "/api/conversations/c/messages"])
async def test_a_run_is_held_for_the_time_of_the_lease(path: str) -> None:
    gate = Gate()
    bodies: dict[str, Json] = {
        "/agui/slow": ask(),
        "/api/agents/slow/runs": {"input": "Go"},
        "/api/conversations/c/messages": {"agent": "slow", "message": "Go"},
    }
    platform, limits = create_platform(gate), RequestLimits(lease=5)
    async with served(platform, limits=limits) as client:
        running = asyncio.create_task(client.post(path, json=bodies[path]))
        await gate.reached.wait()
        (run,) = await platform.runs()
        now = (await client.get("/api/store")).json()["now"]
        gate.open.set()
        await running
        await find(client, run.id, "completed")

    assert run.lease_ends_at is not None
    assert run.lease_ends_at - now <= limits.lease


class TestTimeLimit:
    async def test_an_answer_that_does_not_come(self) -> None:
        gate = Gate()
        platform = create_platform(gate)
        async with served(platform, limits=RequestLimits(seconds=0.2)) as client:
            late = await client.post("/api/conversations/c/messages", json={"agent": "slow", "message": "Go"})
            gate.open.set()
            (run,) = await platform.runs()
            await find(client, run.id, "completed")

        assert late.status_code == 504
        assert "after 0.2 s" in late.json()["error"]["message"]

    async def test_a_body_that_does_not_come(self) -> None:
        platform = create_talkers()
        application = app(platform, limits=RequestLimits(seconds=0.1))
        sent: list[Message] = []

        async def receive() -> Message:
            if sent or not parts:
                await asyncio.Event().wait()
            return parts.pop()

        async def send(message: Message) -> None:
            sent.append(message)

        parts: list[Message] = [{"type": "http.request", "body": b'{"input"', "more_body": True}]
        async with platform, application.router.lifespan_context(application):
            await application(_create_scope("/api/agents/talker/runs"), receive, send)

        assert sent[0]["status"] == 408
        assert b"did not come" in sent[1]["body"]

    async def test_streams_may_take_any_time(self) -> None:
        gate = Gate()
        async with served(create_platform(gate), limits=RequestLimits(seconds=0.5)) as client:
            run_id = await start(client, "slow", "Go")
            reading = asyncio.create_task(client.get(f"/api/runs/{run_id}/events"))
            await gate.reached.wait()
            await asyncio.sleep(0.7)
            gate.open.set()
            events = read_events((await reading).text)

        assert events[-1][1] == "end"


def _create_scope(path: str) -> dict[str, object]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "scheme": "http",
    }


_MCP = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
}
_META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
