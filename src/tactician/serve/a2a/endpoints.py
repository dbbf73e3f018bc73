"""Endpoints of a server: the root for all skills, and an endpoint for each skill at the id of the skill."""

from __future__ import annotations

from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tactician.serve.a2a.card import CARD_PATH, CardSource, is_authenticated
from tactician.serve.a2a.contexts import ENDPOINT, EndpointContextBuilder
from tactician.serve.a2a.handler import TaskHandler
from tactician.serve.a2a.legacy_rpc import answer_legacy_calls


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
