"""A real HTTP server that behaves as the prompts of Langfuse's public API do (version 2)."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeAlias

from aiohttp import web

PUBLIC_KEY = "pk-lf-1234567890"
SECRET_KEY = "sk-lf-very-secret-0987654321"
ENCODED_KEYS = b64encode(f"{PUBLIC_KEY}:{SECRET_KEY}".encode()).decode()
Fault: TypeAlias = Callable[[web.Request], Awaitable[web.Response | None]]


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a prompt: its text, or its messages."""

    prompt: str | list[dict[str, str]]
    labels: tuple[str, ...] = ("production",)


@dataclass(slots=True)
class LangfuseServer:
    """Listens on a free port of the loopback interface while its `async with` block runs.

    Attributes:
        prompts: the versions of each, the first one first.
        asked: the path and the query of every request, as they came.
        fault: what it does instead of answering, if it is broken; it answers all the same when that gives `None`.
        reached: set once a request has come in.
    """

    prompts: dict[str, list[Version]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fault: Fault | None = None
    url: str = ""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        self.asked.append(request.raw_path)
        self.reached.set()
        if self.fault is not None and (faulty := await self.fault(request)) is not None:
            return faulty
        if request.headers.get("Authorization") != f"Basic {ENCODED_KEYS}":
            return _error(401, "UnauthorizedError", "Invalid credentials. Confirm that you've configured the host.")
        # A name is one part of the path: slashes in it must be encoded.
        parts = request.rel_url.raw_path.split("/")
        if request.method != "GET" or parts[:5] != ["", "api", "public", "v2", "prompts"] or len(parts) != 6:
            return web.Response(status=404, text="<!DOCTYPE html><html></html>", content_type="text/html")
        return self._prompt(request.rel_url.parts[-1], request.query)

    def _prompt(self, name: str, query: Mapping[str, str]) -> web.Response:
        version, label = query.get("version"), query.get("label")
        if version is not None and label is not None:
            return _error(400, "InvalidRequestError", "Cannot specify both version and label")
        if version is not None and not version.isdecimal():
            return _error(400, "ZodError", "Invalid request data")
        for number, one in enumerate(self.prompts.get(name, ()), start=1):
            if version == str(number) or (version is None and (label or "production") in one.labels):
                return web.json_response(_body(name, number, one))
        which = f"version {version}" if version else f"label '{label or 'production'}'"
        return _error(404, "LangfuseNotFoundError", f"Prompt not found: '{name}' with {which}")


def gives(status: int, body: str = "", media_type: str = "application/json", **headers: str) -> Fault:
    """An answer that is no prompt."""

    async def fault(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body, content_type=media_type, headers=headers)

    return fault


async def stalls(_: web.Request) -> None:
    """No answer, until the client gives up."""
    await asyncio.Event().wait()


async def hangs_up(request: web.Request) -> None:
    """The connection breaks."""
    assert request.transport is not None
    request.transport.abort()


def _body(name: str, number: int, version: Version) -> Mapping[str, object]:
    return {
        "id": "3f5b6c1e",
        "createdAt": "2026-01-05T10:00:00.000Z",
        "updatedAt": "2026-01-05T10:00:00.000Z",
        "projectId": "project",
        "createdBy": "API",
        "name": name,
        "version": number,
        "type": "text" if isinstance(version.prompt, str) else "chat",
        "prompt": version.prompt,
        "config": {},
        "labels": list(version.labels),
        "tags": [],
        "commitMessage": None,
        "resolutionGraph": None,
    }


def _error(status: int, kind: str, message: str) -> web.Response:
    return web.json_response({"message": message, "error": kind}, status=status)
