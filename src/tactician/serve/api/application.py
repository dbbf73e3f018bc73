"""Routes of the API, and the application that serves routes behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from tactician.serve.api.agents import AGENT_OPERATIONS
from tactician.serve.api.conversations import CONVERSATION_OPERATIONS
from tactician.serve.api.evaluations import EVALUATION_OPERATIONS
from tactician.serve.api.openapi import build_openapi
from tactician.serve.api.overview import HEALTH_OPERATIONS, OVERVIEW_OPERATIONS
from tactician.serve.api.runs.event_streams import EVENT_OPERATIONS
from tactician.serve.api.runs.inspection import INSPECTION_OPERATIONS
from tactician.serve.api.runs.runs import RUN_OPERATIONS
from tactician.serve.api.serving.guard import Callers, Guard
from tactician.serve.api.serving.operations import ApiOperation, group_routes
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.api.serving.time_limit import RequestTimeLimit
from tactician.serve.api.uploads import UPLOAD_OPERATIONS, UPLOADS_PATH
from tactician.serve.bodies import BodyLimit
from tactician.serve.problems import ApiError, describe_problem

_COMPRESSION: Final = 5
"""Level of gzip: a list of 1,000 runs gets 14 times shorter. Level 9 gains 8 %, and takes nine times as long."""
OPERATIONS: Final = (
    *HEALTH_OPERATIONS,
    *OVERVIEW_OPERATIONS,
    *AGENT_OPERATIONS,
    *CONVERSATION_OPERATIONS,
    *UPLOAD_OPERATIONS,
    *RUN_OPERATIONS,
    *EVENT_OPERATIONS,
    *INSPECTION_OPERATIONS,
    *EVALUATION_OPERATIONS,
)


def api_routes(server: ApiServer, *further: ApiOperation) -> list[BaseRoute]:
    """Return the routes of the operations of a server, and of the document that describes them.

    Args:
        server: the server.
        *further: operations besides the API's.
    """
    operations = (*OPERATIONS, *further)

    async def describe(request: Request) -> Response:
        return JSONResponse(build_openapi(operations, server.platform.agents_by_id))

    return [Route("/api/openapi.json", describe), *group_routes(server, operations)]


def create_application(
    server: ApiServer,
    routes: Sequence[BaseRoute],
    *,
    callers: Callers,
    hosts: Collection[str] | None,
    mounted: Sequence[Starlette] = (),
) -> Starlette:
    """Create an application of a server, with routes behind the guard. While it runs, so does the server.

    Args:
        server: the server.
        routes: the routes.
        callers: people and programs that may call.
        hosts: names by which the server may be called.
        mounted: applications that the routes lead to, and that run as long.
    """

    @asynccontextmanager
    async def lifespan(application: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(server.work())
            for inner in mounted:
                await stack.enter_async_context(inner.router.lifespan_context(inner))
            yield

    names = None if hosts is None else frozenset(host.lower() for host in hosts)
    application = Starlette(
        routes=routes,
        middleware=[
            Middleware(Guard, callers=callers, hosts=names),
            Middleware(GZipMiddleware, compresslevel=_COMPRESSION),  # not of streams of events, nor of pictures
            Middleware(RequestTimeLimit, seconds=server.limits.seconds),
            Middleware(BodyLimit, max_bytes=server.limits.body, uploads={UPLOADS_PATH: server.limits.upload}),
        ],
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
