"""The ASGI application of a server of A2A."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import ContentTypeNotSupportedError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tactician.errors import ConfigurationError, StoredStateError, StoreError
from tactician.extras import require_extra
from tactician.loggers import get_logger
from tactician.platform import Autonomy, Platform
from tactician.runs import Runnable
from tactician.serve.a2a.card import CARD_PATH, CardSource, is_authenticated
from tactician.serve.a2a.contexts import ENDPOINT, EndpointContextBuilder
from tactician.serve.a2a.handler import TaskHandler
from tactician.serve.a2a.legacy_rpc import answer_legacy_calls
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.skills import PublishedSkill, find_skills
from tactician.serve.a2a.task_run import PublishedTask
from tactician.serve.bodies import BodyLimit

if TYPE_CHECKING:
    from tactician.serve.a2a.grpc_server import GrpcServer

_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_logger = get_logger(__name__)
_DEFAULTS = A2aSettings()


class JsonOnly:
    """Middleware that refuses requests that are not JSON.

    A form of a web page cannot send JSON, so that no page makes a browser send a task.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused."""
        if scope["type"] == "http" and scope["method"] in _WITH_BODY and not _is_json(Headers(scope=scope)):
            await _refuse(scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_json(headers: Headers) -> bool:
    """Return whether a request has JSON, or no body."""
    if "transfer-encoding" not in headers and headers.get("content-length", "0") == "0":
        return True
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")


def _refuse(scope: Scope) -> Response:
    error = ContentTypeNotSupportedError("The content type of a request must be application/json.")
    if scope["path"].removeprefix(scope.get("root_path", "")) == "" or scope["path"].endswith("/"):  # JSON-RPC
        return JSONResponse(build_error_response(None, error))
    return JSONResponse(build_rest_error_payload(error), status_code=415)


def create_routes(handler: TaskHandler, cards: CardSource, *, supports_v03: bool) -> list[BaseRoute]:
    """Return the routes of a server, and below the id of each skill the same routes for that skill alone.

    Args:
        handler: handler of the requests.
        cards: source of the cards.
        supports_v03: true to answer clients of version 0.3 too.
    """
    builder = EndpointContextBuilder()
    rpc = create_jsonrpc_routes(handler, "/", builder, enable_v0_3_compat=supports_v03)
    rest = create_rest_routes(handler, builder, enable_v0_3_compat=supports_v03)
    if supports_v03:
        rpc = [Route(route.path, answer_legacy_calls(route.endpoint), methods=["POST"]) for route in rpc]
    # The SDK repeats its routes below any name of a tenant. Here these names are the ids of skills.
    routes = [
        Route(CARD_PATH, cards.serve, methods=["GET"]),
        *rpc,
        *(route for route in rest if isinstance(route, Route)),
    ]
    guard = Middleware(_OnlyPublished, cards=cards)
    return [*routes, Mount(f"/{{{ENDPOINT}}}", routes=routes, middleware=[guard])]


class _OnlyPublished:
    """Middleware that answers 404 below the id of a skill that the caller may not use."""

    def __init__(self, app: ASGIApp, cards: CardSource) -> None:
        self._app = app
        self._cards = cards

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = scope["path_params"][ENDPOINT]
        if not self._cards.list_skills(endpoint, is_authenticated=is_authenticated(scope)):
            raise HTTPException(404, f"There is no agent {endpoint!r} here.")
        await self._app(scope, receive, send)


def a2a_app(
    platform: Platform,
    url: str,
    *,
    publish: Sequence[Runnable] = (),
    extended: Sequence[Runnable] = (),
    settings: A2aSettings = _DEFAULTS,
) -> Starlette:
    """Return an ASGI application that offers the exported goals of a platform, and Runnables, to other programs.

    Each skill also has a card and an endpoint of its own, below its id. Where a message to the server names none of
    several skills, a model chooses, as `Autonomy` does.

    A task is a durable run: the store of the platform has it, and it survives restarts. Tasks that were interrupted
    continue when the lifespan of the application begins. A mounted application has no lifespan of its own: enter
    `app.router.lifespan_context(app)` in the lifespan of the outer application.

    Args:
        platform: platform with a store.
        url: address at which clients reach the application, such as `https://example.com/a2a`.
        publish: Runnables to offer beside the goals with `Export(remote=True)`.
        extended: Runnables to offer to authenticated users only, whose extended card has them.
        settings: settings of the server.

    Raises:
        ConfigurationError: when the platform has no store, the signing key cannot be used, or the address is not HTTP.
        DeclarationError: when an exported goal cannot be offered.
        MissingExtraError: when the settings ask for gRPC, and the extra `a2a-grpc` is not installed.
    """
    if not platform.is_durable:
        raise ConfigurationError("Tasks of A2A are kept in the store of the platform: Platform(store=...)")
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"{url!r} is not an address: write it with http:// or https://.")

    def get_skills() -> Mapping[str, PublishedSkill]:
        return find_skills(platform, publish)

    def get_all_skills() -> Mapping[str, PublishedSkill]:
        return find_skills(platform, (*publish, *extended))

    runnable = PublishedTask(get_all_skills, Autonomy(platform))
    platform.register_internal(runnable)
    more = get_all_skills if extended else None
    card = CardSource(url, get_skills, settings, platform.services.clock.time, more)
    card.get_card()  # a key that cannot sign is an error now
    handler = TaskHandler(platform, runnable, card, settings)
    grpc = _create_grpc_server(handler, card, settings)
    routes = create_routes(handler, card, supports_v03=settings.supports_v03)

    @asynccontextmanager
    async def work(_: Starlette) -> AsyncIterator[None]:
        async with grpc.work() if grpc is not None else nullcontext():
            continuing = asyncio.create_task(_continue_tasks(handler))
            try:
                yield
            finally:
                handler.closing.set()
                continuing.cancel()
                await asyncio.gather(continuing, handler.executor.runs.aclose(), return_exceptions=True)

    guard = [Middleware(JsonOnly), Middleware(BodyLimit, max_bytes=settings.max_request_bytes)]
    return Starlette(routes=routes, middleware=guard, lifespan=work)


def _create_grpc_server(handler: TaskHandler, cards: CardSource, settings: A2aSettings) -> GrpcServer | None:
    if settings.grpc is None:
        return None
    with require_extra("a2a-grpc", "A2A over gRPC needs"):
        from tactician.serve.a2a.grpc_server import GrpcServer
    server = GrpcServer(handler, settings, settings.grpc)
    cards.find_grpc_url = lambda: server.url
    return server


async def _continue_tasks(handler: TaskHandler) -> None:
    """Continue tasks that can continue, and send notifications that were not sent, again and again."""
    while not handler.closing.is_set():
        try:
            await handler.notifier.notify_all()
            while await handler.executor.start():
                pass
        except (StoreError, StoredStateError) as error:
            _logger.warning("%s", error)
        await handler.executor.runs.pause(handler.closing)
