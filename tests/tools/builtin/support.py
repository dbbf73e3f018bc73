"""What the tests of built-in tools share."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Self, TypeAlias

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tactician import RunContext, Tool
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import ToolError
from tactician.testing import ScriptedModel

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def create_context(clock: Clock = SYSTEM_CLOCK) -> RunContext:
    return RunContext.over(ScriptedModel(), clock=clock)


async def call(tool: Tool, context: RunContext | None = None, /, **arguments: object) -> str:
    """Call a tool as a model does."""
    output = await tool.call(json.dumps(arguments), context or create_context())
    assert isinstance(output, str)
    return output


async def call_json(tool: Tool, /, **arguments: object) -> dict[str, object]:
    answer = json.loads(await call(tool, **arguments))
    assert isinstance(answer, dict)
    return answer


async def refuse(tool: Tool, context: RunContext | None = None, /, **arguments: object) -> str:
    """Call a tool that refuses the arguments, and return the reason."""
    with pytest.raises(ToolError) as caught:
        await call(tool, context, **arguments)
    return str(caught.value)


class Site:
    """Web server on a loopback address, which notes the paths that are asked for."""

    def __init__(self, answer: Answer, host: str = "127.0.0.1") -> None:
        self.requests: list[web.Request] = []
        self.bodies: list[bytes] = []
        self._answer = answer
        application = web.Application()
        application.router.add_route("*", "/{rest:.*}", self._handle)
        self._server = TestServer(application, host=host)

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        return f"http://{self._server.host}:{self._server.port}"

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.read())
        return await self._answer(request)


def answers(text: str = "", status: int = 200, **options: str) -> Answer:
    """Answer everything with a text."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=text, status=status, **options)  # type: ignore[arg-type]

    return answer


def redirects(target: str, status: int = 302) -> Answer:
    """Redirect everything."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": target})

    return answer
