"""ASGI application of a platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from tactician.platform import Platform
from tactician.serve.api.agents import AGENT_OPERATIONS
from tactician.serve.api.guard import Guard, RequestLimits
from tactician.serve.api.health import HEALTH_OPERATIONS
from tactician.serve.api.openapi import build_openapi
from tactician.serve.api.people import Person, Tokens
from tactician.serve.api.problems import ApiError, describe_problem
from tactician.serve.api.runs import RUN_OPERATIONS
from tactician.serve.api.server import ApiServer

_NO_LIMITS: Final = RequestLimits()


def app(
    platform: Platform,
    *,
    people: Mapping[str, Person] | None = None,
    hosts: Collection[str] | None = None,
    limits: RequestLimits = _NO_LIMITS,
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """Return the ASGI application of a platform, to run by itself or to mount in another.

    While it runs, it continues runs of the store, as a worker does. An application that mounts it must enter its
    lifespan: `async with app.router.lifespan_context(app)`.

    Args:
        platform: the platform, with a store.
        people: bearer tokens, and who has each; without tokens, only programs on this machine may call.
        hosts: names by which the server may be called, without ports; without tokens, those of this machine by default.
        limits: limits of requests.
        routes: further routes, behind the same guard.

    Raises:
        ConfigurationError: when the platform has no store, or a token is too short.
    """
    server = ApiServer(platform, limits)
    operations = (*HEALTH_OPERATIONS, *AGENT_OPERATIONS, *RUN_OPERATIONS)

    async def describe(request: Request) -> Response:
        return JSONResponse(build_openapi(operations, platform.agents_by_id))

    @asynccontextmanager
    async def lifespan(application: Starlette) -> AsyncIterator[None]:
        async with server.work():
            yield

    tokens = None if people is None else Tokens(people)
    names = None if hosts is None else frozenset(host.lower() for host in hosts)
    application = Starlette(
        routes=[Route("/api/openapi.json", describe), *(operation.route(server) for operation in operations), *routes],
        middleware=[Middleware(Guard, tokens=tokens, hosts=names, limits=limits)],
        exception_handlers={ApiError: _answer_problem, HTTPException: _answer_http_problem},
        lifespan=lifespan,
    )
    application.state.streams = server.streams
    return application


async def _answer_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return describe_problem(error)


async def _answer_http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return describe_problem(ApiError(error.status_code, error.detail, dict(error.headers or {})))
