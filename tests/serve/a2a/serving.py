"""A server of A2A on a loopback socket, and raw clients of both its transports."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx
import uvicorn
from pydantic_core import from_json
from starlette.authentication import AuthenticationBackend
from starlette.middleware.authentication import AuthenticationMiddleware

from tactician import Platform, Runnable
from tactician.events.event import new_id
from tactician.serve import A2aSettings, a2a_app

Json = dict[str, Any]
HEADERS = {"A2A-Version": "1.0"}
QUICK = A2aSettings(poll=0.05)


@asynccontextmanager
async def serve_a2a(
    platform: Platform,
    *publish: Runnable,
    settings: A2aSettings = QUICK,
    port: int = 0,
    extended: Sequence[Runnable] = (),
    backend: AuthenticationBackend | None = None,
) -> AsyncIterator[str]:
    """Serve a platform, and yield the address.

    Args:
        platform: the platform.
        *publish: Runnables to offer.
        settings: settings of the server.
        port: the port; a free one by default.
        extended: Runnables to offer to authenticated users.
        backend: tells who calls; nobody is authenticated by default.
    """
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = a2a_app(platform, url, publish=publish, extended=extended, settings=settings)
        if backend is not None:
            app.add_middleware(AuthenticationMiddleware, backend=backend)
        config = uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event for this
                await asyncio.sleep(0.01)
            yield url
        finally:
            server.should_exit = True
            await serving


class RefusedError(Exception):
    """The error that a server answers with: its code or HTTP status, and its message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def create_message(text: str = "hello", id: str | None = None, **fields: object) -> Json:
    """Return a message of a user."""
    return {"role": "ROLE_USER", "parts": [{"text": text}], "messageId": id or new_id(), **fields}


class RawClient(Protocol):
    """Client of a transport, which checks nothing."""

    async def call(self, method: str, params: Json) -> Json: ...

    def stream(self, method: str, params: Json) -> AsyncIterator[Json]: ...


class JsonRpc:
    """JSON-RPC by hand."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self.http = http
        self.url = f"{url}/"

    async def call(self, method: str, params: Json) -> Json:
        answer = await self.http.post(self.url, json=self._wrap(method, params), headers=HEADERS)
        return self._unwrap(answer.json())

    async def stream(self, method: str, params: Json) -> AsyncIterator[Json]:
        async with self.http.stream("POST", self.url, json=self._wrap(method, params), headers=HEADERS) as answer:
            if "text/event-stream" not in answer.headers["content-type"]:
                self._unwrap(from_json(await answer.aread()))
            async for event in read_events(answer):
                yield self._unwrap(event)

    def _wrap(self, method: str, params: Json) -> Json:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    def _unwrap(self, body: Json) -> Json:
        if "error" in body:
            raise RefusedError(body["error"]["code"], body["error"]["message"])
        result: Json = body["result"]
        return result


_PATHS: Mapping[str, tuple[str, str]] = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe"),
    "CreateTaskPushNotificationConfig": ("POST", "/tasks/{taskId}/pushNotificationConfigs"),
    "GetTaskPushNotificationConfig": ("GET", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "ListTaskPushNotificationConfigs": ("GET", "/tasks/{taskId}/pushNotificationConfigs"),
    "DeleteTaskPushNotificationConfig": ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
}


class Rest:
    """HTTP and JSON by hand."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self.http = http
        self.url = url

    async def call(self, method: str, params: Json) -> Json:
        answer = await self.http.request(**self._request(method, params))
        return self._unwrap(answer.status_code, answer.json())

    async def stream(self, method: str, params: Json) -> AsyncIterator[Json]:
        async with self.http.stream(**self._request(method, params)) as answer:
            if answer.status_code >= 400:
                self._unwrap(answer.status_code, from_json(await answer.aread()))
            async for event in read_events(answer):
                yield event

    def _request(self, method: str, params: Json) -> Json:
        verb, path = _PATHS[method]
        inside = {name for name in ("id", "taskId") if f"{{{name}}}" in path}
        rest = {name: value for name, value in params.items() if name not in inside}
        url = self.url + path.format(**{name: params[name] for name in inside})
        body = {"json": rest} if verb == "POST" and rest else {"params": rest} if verb == "GET" else {}
        return {"method": verb, "url": url, "headers": HEADERS, **body}

    def _unwrap(self, status: int, body: Json) -> Json:
        if status >= 400:
            raise RefusedError(status, body["error"]["message"])
        return body


async def read_events(answer: httpx.Response) -> AsyncIterator[Json]:
    """Yield the data of server-sent events."""
    async for line in answer.aiter_lines():
        if line.startswith("data:"):
            yield from_json(line.removeprefix("data:"))


CLIENTS: Sequence[type[JsonRpc] | type[Rest]] = (JsonRpc, Rest)
