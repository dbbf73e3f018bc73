"""Requests that are not as they should be, callers that leave, and code of agents that raises: each is answered."""

from __future__ import annotations

import json
import logging

import pytest
from starlette.routing import WebSocketRoute
from starlette.types import Message, Scope
from starlette.websockets import WebSocket

from tactician import Platform, runnable
from tactician.errors import ConfigurationError
from tactician.serve import Person, app
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.api.serving import create_platform, read_events, served

TOKEN = "anna-has-a-secret"
PEOPLE = {TOKEN: Person("Anna")}


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//", "http://\u00e9]"])
async def test_an_origin_that_is_no_address_may_not_call(origin: str) -> None:
    async with served(create_platform()) as client:
        refused = await client.get("/api/runs", headers={b"Origin": origin.encode("latin-1")})

    assert refused.status_code == 403
    assert refused.json()["error"]["message"] == "Pages of other servers may not call this server."


async def test_a_caller_that_leaves_before_its_body_has_come_starts_nothing() -> None:
    platform = create_platform()
    application = app(platform)
    parts: list[Message] = [
        {"type": "http.request", "body": b"", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async with application.router.lifespan_context(application), platform:
        headers = [(b"host", b"localhost"), (b"content-length", b"100")]
        await application(_create_scope("http", "/api/agents/talker/runs", headers), receive, send)
        assert await platform.runs() == []

    assert sent == []


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "x", "\u0663"])
async def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    platform = create_platform()
    application = app(platform)
    headers = [(b"host", b"localhost"), (b"content-length", length.encode("latin-1", "replace"))]
    await application(_create_scope("http", "/api/agents/talker/runs", headers), receive, send)

    assert sent[0]["status"] == 413


class TestCodeThatRaises:
    async def test_the_answer_is_json(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.ERROR):
            async with served(_create_broken()) as client:
                done = await client.post("/api/conversations/c/messages", json={"agent": "broken", "message": "Hi"})

        assert done.status_code == 500
        assert done.json() == {"error": {"type": "ValueError", "message": "ValueError: no ink"}}
        assert "no ink" in caplog.text

    async def test_the_stream_ends_with_an_error(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.ERROR):
            async with served(_create_broken()) as client:
                done = await client.post(
                    "/api/conversations/c/messages",
                    json={"agent": "broken", "message": "Hi"},
                    headers={"Accept": "text/event-stream"},
                )

        _, kind, data = read_events(done.text)[-1]
        assert (kind, json.loads(data)) == ("error", {"type": "ValueError", "message": "ValueError: no ink"})
        assert "no ink" in caplog.text


class TestFurtherRoutes:
    """WebSockets among the further routes are behind the guard as well."""

    @pytest.mark.parametrize(
        ("headers", "people", "is_accepted"),
        [
            ([], PEOPLE, False),
            ([(b"authorization", f"Bearer {TOKEN}".encode())], PEOPLE, True),
            ([(b"authorization", b"Bearer another-token-of-somebody")], PEOPLE, False),
            ([(b"origin", b"http://evil.example")], None, False),
            ([(b"origin", b"http://localhost")], None, True),
        ],
        ids=["no token", "a token", "another token", "a page of another server", "an own page"],
    )
    async def test_who_may_open_one(
        self, headers: list[tuple[bytes, bytes]], people: dict[str, Person] | None, is_accepted: bool
    ) -> None:
        async def greet(socket: WebSocket) -> None:
            await socket.accept()
            await socket.send_text(socket.scope["person"].name)
            await socket.close()

        application = app(create_platform(), people=people, routes=[WebSocketRoute("/chat", greet)])
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await application(_create_scope("websocket", "/chat", [(b"host", b"localhost"), *headers]), receive, send)

        assert ("websocket.accept" in [message["type"] for message in sent]) == is_accepted
        assert sent[-1]["type"] == "websocket.close"
        assert is_accepted or sent[-1]["code"] == 1008


class TestTokens:
    @pytest.mark.parametrize("token", ["sixteen-letters-\u00e9", "sixteen-letters-and\n", "sixteen letters and more"])
    def test_one_that_no_header_can_have_is_refused(self, token: str) -> None:
        with pytest.raises(ConfigurationError, match="only letters, digits and punctuation of ASCII"):
            app(create_platform(), people={token: Person("Anna")})


def _create_broken() -> Platform:
    async def fail(text: str) -> str:
        raise ValueError("no ink")

    broken = runnable(fail, name="Broken", description="Fails")
    return Platform(ScriptedModel(), store=MemoryStore()).register(broken)


def _create_scope(kind: str, path: str, headers: list[tuple[bytes, bytes]]) -> Scope:
    scope: Scope = {
        "type": kind,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "root_path": "",
        "http_version": "1.1",
    }
    if kind == "http":
        return {**scope, "method": "POST", "scheme": "http"}
    return {**scope, "scheme": "ws", "subprotocols": []}
