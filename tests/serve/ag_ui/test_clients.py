"""Clients on the network: the reference client of AG-UI, clients that leave, and clients that do not read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
from starlette.types import Message

from tactician import Agent, Platform
from tactician.serve import ag_ui_app
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.ag_ui.newsroom import Json, ask, create_platform, read_stream
from tests.serve.api.serving import Gate, until
from tests.serve.listening import listening
from tests.support.npm import install_locked

CLIENT = Path(__file__).parent / "client"


async def run_client(folder: Path, **sent: object) -> Json:
    """Return what the reference client makes of a run."""
    program = await asyncio.create_subprocess_exec(
        "node", str(folder / "client.mjs"), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        output, _ = await program.communicate(json.dumps(sent).encode())
    made: Json = json.loads(output)
    return made


async def test_the_reference_client_accepts_a_replan_a_nested_agent_and_an_approval(tmp_path: Path) -> None:
    folder = await asyncio.to_thread(install_locked, CLIENT)
    store = str(tmp_path / "runs.db")
    talk: Json = {"threadId": "t1", "messages": ask()["messages"], "state": {"theme": "dark"}}
    async with create_platform(SqliteStore(store)) as platform, listening(lambda _: ag_ui_app(platform)) as address:
        first = await run_client(folder, url=f"{address}/newsroom", **talk)
    (interrupt,) = first["events"][-1]["outcome"]["interrupts"]
    talk.update(messages=first["messages"], state=first["state"])
    talk["resume"] = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    async with (
        create_platform(SqliteStore(store), is_resumed=True) as platform,
        listening(lambda _: ag_ui_app(platform)) as address,
    ):
        second = await run_client(folder, url=f"{address}/newsroom", **talk)

    assert (first["failure"], second["failure"]) == (None, None)
    plans = dict.fromkeys(state["plan"]["actions"][0]["name"] for state in first["states"])
    assert list(plans) == ["search_archive", "write_draft"]
    assert second["state"] == first["state"]
    assert second["events"][-1]["outcome"] == {"type": "success"}
    roles = [(message["role"], message.get("content")) for message in second["messages"]]
    assert roles[2] == ("tool", "published Frogs")
    assert set(roles[3:-1]) == {("reasoning", "Is it ready?"), ("assistant", "It is out.")}
    assert roles[-1] == ("assistant", '{"text":"It is out."}')


async def test_the_reference_client_calls_a_tool_of_the_application(tmp_path: Path) -> None:
    folder = await asyncio.to_thread(install_locked, CLIENT)
    painter = Agent("Painter", model=ScriptedModel(ToolCall("paint", color="blue"), "All is blue."))
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(painter)
    talk: Json = {"threadId": "t1", "messages": ask()["messages"], "state": {}}
    talk["tools"] = [{"name": "paint", "description": "Paints the page", "parameters": {"type": "object"}}]
    async with platform, listening(lambda _: ag_ui_app(platform)) as address:
        first = await run_client(folder, url=f"{address}/painter", **talk)
        (call,) = first["messages"][-1]["toolCalls"]
        result = {"id": "r1", "role": "tool", "toolCallId": call["id"], "content": "painted"}
        talk["messages"] = [*first["messages"], result]
        second = await run_client(folder, url=f"{address}/painter", **talk)

    assert (first["failure"], second["failure"]) == (None, None)
    assert first["events"][-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call["id"]]}
    assert call["function"] == {"name": "paint", "arguments": '{"color":"blue"}'}
    assert second["messages"][-1]["content"] == "All is blue."


async def test_a_client_that_leaves_ends_its_run() -> None:
    gate = Gate()
    async with create_platform(gate=gate) as platform, listening(lambda _: ag_ui_app(platform)) as address:
        async with httpx.AsyncClient(base_url=address) as client, client.stream("POST", "/slow", json=ask()) as stream:
            await anext(stream.aiter_lines())
            await gate.reached.wait()

        async def look() -> Json | None:
            (run,) = await platform.runs()
            return {"failure": run.failure} if run.status == "killed" else None

        assert await until(look) == {"failure": "the AG-UI client left"}


async def test_a_server_that_stops_leaves_the_run_to_the_next() -> None:
    gate = Gate()
    platform = create_platform(gate=gate)
    async with listening(lambda _: ag_ui_app(platform)) as address, httpx.AsyncClient(base_url=address) as client:
        running = asyncio.create_task(client.post("/slow", json=ask()))
        await gate.reached.wait()
        began = asyncio.get_running_loop().time()
    await asyncio.gather(running, return_exceptions=True)
    assert asyncio.get_running_loop().time() - began < 2
    gate.open.set()
    async with platform, listening(lambda _: ag_ui_app(platform)):

        async def look() -> Json | None:
            (run,) = await platform.runs()
            return {} if run.status == "completed" else None

        await until(look)


async def test_a_client_that_does_not_read_is_dropped_and_the_run_continues() -> None:
    talker = Agent("Talker", model=ScriptedModel("word " * 20_000))
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(talker)
    application, reads, sent = ag_ui_app(platform), asyncio.Event(), bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps(ask()).encode(), "more_body": False}

    async def send(message: Message) -> None:
        sent.extend(message.get("body", b""))
        if sent:
            await reads.wait()

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "method": "POST",
        "path": "/talker",
        "raw_path": b"/talker",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def look() -> Json | None:
        runs = await platform.runs(status="completed")
        return {} if runs else None

    async with platform, application.router.lifespan_context(application):
        serving = asyncio.create_task(application(scope, receive, send))
        await until(look)
        reads.set()
        await serving

    events = read_stream(sent.decode())
    assert len(events) < 12_000
    assert "continues without it" in getattr(events[-1], "message", "")
