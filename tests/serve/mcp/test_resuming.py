"""Streams of the revision 2025-11-25 that go on after the connection has broken."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest

from tactician import Platform, tool
from tactician.serve import McpPublisher
from tactician.testing import ScriptedModel
from tests.serve.mcp.test_transports import find_port, wait_until_it_listens

HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


async def open_session(http: httpx2.AsyncClient) -> dict[str, str]:
    """Shake hands, and return the headers of the session."""
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    headers = {
        **HEADERS,
        "mcp-session-id": (await http.post("/mcp", json=body, headers=HEADERS)).headers["mcp-session-id"],
    }
    await http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    return headers


async def break_off(http: httpx2.AsyncClient, headers: dict[str, str]) -> dict[str, str]:
    """Call a tool, and break off after the first event of the stream; return its fields."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
    fields: dict[str, str] = {}
    async with http.stream("POST", "/mcp", json=body, headers=headers) as stream:
        async for line in stream.aiter_lines():
            if not line:
                return fields
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    raise AssertionError("the stream has ended")


async def resume(http: httpx2.AsyncClient, headers: dict[str, str]) -> str:
    """Return the text of the result that a resumed stream brings."""
    async with http.stream("GET", "/mcp", headers=headers) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: {"):
                text: str = json.loads(line.removeprefix("data: "))["result"]["content"][0]["text"]
                return text
    return ""


async def test_a_client_gets_the_result_after_its_connection_has_broken() -> None:
    released = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        await released.wait()
        return "done"

    publisher = McpPublisher(Platform(ScriptedModel()), wait)
    port = find_port()
    serving = asyncio.create_task(publisher.run_http(port))
    await wait_until_it_listens(port)
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
        mine, others = await open_session(http), await open_session(http)
        first = await break_off(http, mine)
        assert (first["data"], first["retry"]) == ("", "2000")
        released.set()
        last = {"last-event-id": first["id"]}
        assert await resume(http, {**mine, **last}) == "done"
        assert await resume(http, {**others, **last}) == ""  # its own requests have the same numbers
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


@pytest.mark.parametrize("size", [10, 10_000])
async def test_the_oldest_messages_make_room(size: int) -> None:
    from tactician.serve.mcp.resuming import SentMessages, SessionMessages

    messages = SessionMessages(SentMessages(most=1_000))
    first = await messages.store_event("1", None)
    for _ in range(20):
        await messages.store_event("x" * size, None)

    async def send(_: object) -> None:
        raise AssertionError

    assert await messages.replay_events_after(first, send) is None
