"""A real HTTP server that speaks `openai-chat` and says what a test tells it to say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from aiohttp import web

from tactician.llm import Endpoint
from tactician.llm.provider import Provider
from tactician.llm.remote import RemoteModel

USAGE: Mapping[str, object] = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 3},
}


@dataclass(frozen=True, slots=True)
class Received:
    """A request that came in. Header names are in lower case; `peer` is the client's port."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, object]
    peer: int


Reply: TypeAlias = Callable[[web.Request, Received], Awaitable[web.StreamResponse]]


class ChatServer:
    """Listens on a free port of the loopback interface while its `async with` block runs.

    Replies are given in order; the last one is given again and again.

    Attributes:
        url: where it listens.
        received: every request, in order.
        reached: set once a reply with `stall` has sent all that it sends.
        abandoned: set once a client has closed the connection of a reply that was not complete.
    """

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.received: list[Received] = []
        self.reached = asyncio.Event()
        self.abandoned = asyncio.Event()
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self.url = ""
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def open_connections(self) -> int:
        assert self._runner.server is not None
        return len(self._runner.server.connections)

    @property
    def bodies(self) -> list[dict[str, object]]:
        return [one.body for one in self.received]

    def will(self, *replies: Reply) -> None:
        """Gives these replies next, instead of those that are left."""
        self._replies = list(replies)

    def endpoint(self, provider: Provider | None = None, key: str | None = None, timeout: float = 20.0) -> Endpoint:
        """The endpoint of this server, in the manner of a provider."""
        made = (provider or Provider("test", None)).create_endpoint(key, self.url, api_version="2026-01-01")
        return replace(made, timeout=timeout)

    def model(self, provider: Provider | None = None, key: str | None = None, timeout: float = 20.0) -> RemoteModel:
        """A model of this server."""
        return RemoteModel("test-model", self.endpoint(provider, key, timeout))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        headers = {name.lower(): value for name, value in request.headers.items()}
        peer = request.transport.get_extra_info("peername")[1]
        body = json.loads(await request.read() or b"{}")
        received = Received(request.path_qs, headers, body, peer)
        self.received.append(received)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        try:
            return await reply(request, received)
        except (asyncio.CancelledError, ConnectionResetError):
            self.abandoned.set()
            raise

    def drop_connections(self) -> None:
        """Closes every connection, as a server does with those that were idle for too long."""
        assert self._runner.server is not None
        for connection in self._runner.server.connections:
            assert connection.transport is not None
            connection.transport.close()

    def stall(self, *pieces: bytes) -> Reply:
        """Sends the pieces, if there are any, and then nothing until the client gives up."""

        async def reply(request: web.Request, _: Received) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            if pieces:
                await response.prepare(request)
                await _write(response, pieces)
            self.reached.set()
            await asyncio.Event().wait()
            return response

        return reply


def answers(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A JSON body; bytes are sent as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def reply(_: web.Request, __: Received) -> web.StreamResponse:
        return web.Response(
            body=content, status=status, headers={"Content-Type": "application/json", **(headers or {})}
        )

    return reply


def echoes() -> Reply:
    """A completion that says what the last message says."""

    async def reply(_: web.Request, received: Received) -> web.StreamResponse:
        messages = received.body["messages"]
        assert isinstance(messages, list)
        return web.json_response(completion(messages[-1]["content"]))

    return reply


def fails(status: int, message: str = "no", headers: Mapping[str, str] | None = None) -> Reply:
    """An error in the form that OpenAI gives it."""
    return answers({"error": {"message": message}}, status, headers)


def sends(*pieces: bytes, breaks_off: bool = False) -> Reply:
    """A stream in exactly these pieces; `breaks_off` closes the connection instead of ending the stream."""

    async def reply(request: web.Request, _: Received) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await _write(response, pieces)
        if breaks_off:
            assert request.transport is not None
            request.transport.close()
        else:
            await response.write_eof()
        return response

    return reply


def hangs_up() -> Reply:
    """Closes the connection without an answer."""

    async def reply(request: web.Request, _: Received) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    return reply


def streams(*chunks: object, done: bool = True) -> Reply:
    """Server-sent events, one for each chunk."""
    return sends(sse(*chunks, done=done))


async def _write(response: web.StreamResponse, pieces: Sequence[bytes]) -> None:
    for piece in pieces:
        await response.write(piece)
        await asyncio.sleep(0)  # lets the client read this piece by itself


def sse(*chunks: object, newline: str = "\n", done: bool = True) -> bytes:
    """Chunks as server-sent events."""
    events = [json.dumps(chunk, ensure_ascii=False) for chunk in chunks] + (["[DONE]"] if done else [])
    return "".join(f"data: {event}{newline}{newline}" for event in events).encode()


def cut(data: bytes, size: int) -> tuple[bytes, ...]:
    """Bytes in pieces of one size."""
    return tuple(data[start : start + size] for start in range(0, len(data), size))


def call(id: str, name: str, arguments: str = "{}") -> dict[str, object]:
    """A tool call as a completion has it."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(
    text: str | None = None,
    *calls: Mapping[str, object],
    thinking: str | None = None,
    finish: str | None = None,
    usage: Mapping[str, object] | None = USAGE,
) -> dict[str, object]:
    """A chat completion."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if thinking is not None:
        message["reasoning_content"] = thinking
    if calls:
        message["tool_calls"] = list(calls)
    reason = finish or ("tool_calls" if calls else "stop")
    body: dict[str, object] = {
        "object": "chat.completion",
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    return body if usage is None else {**body, "usage": usage}


def chunk(finish: str | None = None, **delta: object) -> dict[str, object]:
    """A chunk of a streamed chat completion."""
    return {
        "object": "chat.completion.chunk",
        "model": "served-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def usage_chunk(usage: Mapping[str, object] = USAGE) -> dict[str, object]:
    """The last chunk of a stream that includes its usage."""
    return {"object": "chat.completion.chunk", "model": "served-model", "choices": [], "usage": usage}


def call_piece(index: int, arguments: str = "", id: str | None = None, name: str | None = None) -> dict[str, object]:
    """A fragment of a tool call, for `chunk(tool_calls=[...])`."""
    function: dict[str, object] = {"arguments": arguments}
    if name is not None:
        function["name"] = name
    piece: dict[str, object] = {"index": index, "function": function}
    return piece if id is None else {**piece, "id": id, "type": "function"}
