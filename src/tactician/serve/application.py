"""The ASGI application of a platform: all that it serves, side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from starlette.applications import Starlette
from starlette.authentication import BaseUser, SimpleUser, UnauthenticatedUser
from starlette.routing import BaseRoute, Mount, Route

from tactician.agents import planned_spec
from tactician.frozen import frozen
from tactician.platform import Platform
from tactician.runs import Runnable
from tactician.serve.api import ApiOperation, ApiServer, Person, RequestLimits, api_routes, create_application
from tactician.serve.dashboard import dashboard_routes
from tactician.serve.mounted import MountedServer

_NO_LIMITS: Final = RequestLimits()
_MCP: Final = "/mcp"
_A2A: Final = "/a2a"
_CARD: Final = "/.well-known/agent-card.json"


def app(
    platform: Platform,
    *,
    people: Mapping[str, Person] | None = None,
    hosts: Collection[str] | None = None,
    limits: RequestLimits = _NO_LIMITS,
    url: str | None = None,
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """Return the ASGI application of a platform, to run by itself or to mount in another.

    Beside the API and the dashboard, it speaks AG-UI, MCP and A2A, as far as the extras are installed. MCP and A2A
    offer the goals with `Export(remote=True)`, or all agents that are registered, where there is no such goal.

    While it runs, it continues runs of the store, as a worker does. An application that mounts it must enter its
    lifespan: `async with app.router.lifespan_context(app)`.

    Args:
        platform: the platform, with a store.
        people: bearer tokens, and who has each; without tokens, only programs on this machine may call.
        hosts: names by which the server may be called, without ports; without tokens, those of this machine by default.
        limits: limits of requests.
        url: address at which clients reach the application. The card of A2A has it; without it, there is no A2A.
        routes: further routes, behind the same guard.

    Raises:
        ConfigurationError: when the platform has no store, or a token is too short.
        DeclarationError: when an exported goal cannot be offered.
    """
    server = ApiServer(platform, limits)
    parts = [_offer_mcp(server), _offer_a2a(server, url, needs_token=people is not None)]
    further = [route for part in parts for route in part.routes]
    offered = [*api_routes(server, *_list_ag_ui_operations()), *further, *dashboard_routes(), *routes]
    mounted = [part.app for part in parts if part.app is not None]
    return create_application(server, offered, people=people, hosts=hosts, mounted=mounted)


@frozen
class _Offer:
    """Part of the application: routes, and an inner application, if any."""

    routes: Sequence[BaseRoute] = ()
    app: Starlette | None = None


def _list_ag_ui_operations() -> tuple[ApiOperation, ...]:
    if find_spec("ag_ui") is None:
        return ()
    from tactician.serve.ag_ui import create_operation

    return (create_operation(),)


def _offer_mcp(server: ApiServer) -> _Offer:
    if find_spec("mcp") is None:
        return _Offer()
    from tactician.serve.mcp import McpPublisher, create_user

    publisher = McpPublisher(server.platform, *_list_published(server.platform))
    inner = publisher.create_mounted_app(path=_MCP, is_stopping=lambda: server.streams.are_stopped)
    return _Offer([Route(_MCP, MountedServer(inner, server, lambda person: create_user(person.name)))], inner)


def _offer_a2a(server: ApiServer, url: str | None, *, needs_token: bool) -> _Offer:
    if url is None or find_spec("a2a") is None:
        return _Offer()
    from tactician.serve.a2a import A2aSettings, a2a_app

    limits = server.limits
    settings = A2aSettings(lease=limits.lease, max_request_bytes=limits.body, needs_token=needs_token)
    published = _list_published(server.platform)
    inner = a2a_app(server.platform, f"{url.rstrip('/')}{_A2A}", publish=published, settings=settings)
    mounted = MountedServer(inner, server, _create_user)
    return _Offer([Route(_CARD, mounted), Mount(_A2A, mounted)], inner)


def _create_user(person: Person) -> BaseUser:
    return UnauthenticatedUser() if person.user is None else SimpleUser(person.user.id)


def _list_published(platform: Platform) -> tuple[Runnable, ...]:
    """Return the agents to offer where no goal is exported: all but those whose goals nothing leads to."""
    if platform.goal_tools(remote=True):
        return ()
    reachable = {tool.agent.name for tool in platform.goal_tools()}
    agents = platform.agents.values()
    return tuple(agent for agent in agents if planned_spec(agent) is None or agent.name in reachable)
