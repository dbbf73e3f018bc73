"""The ASGI application of a platform: all that it serves, side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    BaseUser,
    SimpleUser,
    UnauthenticatedUser,
)
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from tactician.agents.planned.specs import planned_spec
from tactician.frozen import frozen
from tactician.people.person import Person, Right
from tactician.platform import Platform
from tactician.runs import Runnable
from tactician.serve.api.application import api_routes, create_application
from tactician.serve.api.directives import create_directive_operations
from tactician.serve.api.serving.guard import Callers, RequestLimits
from tactician.serve.api.serving.operations import ApiOperation
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.api.serving.time_limit import lift_time_limit
from tactician.serve.api.work import create_work_operations
from tactician.serve.dashboard.pages import dashboard_routes, home_route
from tactician.serve.problems import ApiError

if TYPE_CHECKING:
    from tactician.mesh import Mesh
    from tactician.serve.a2a.settings import A2aSettings

_RIGHTS: Final[tuple[Right, ...]] = ("start", "answer")
_NO_LIMITS: Final = RequestLimits()
_MCP: Final = "/mcp"
_A2A: Final = "/a2a"
_CARD: Final = "/.well-known/agent-card.json"


def check_rights(person: Person) -> None:
    """Check that a person may use another protocol, with which all can be asked for that the protocol has.

    Raises:
        ApiError: when the person may not.
    """
    if missing := [right for right in _RIGHTS if right not in person.rights]:
        raise ApiError(403, f"This needs the right {missing[0]!r}.")


class MountedServer:
    """Server of another protocol. It ends its streams when the application stops.

    What a request asks for is in its body, in the words of the protocol. So callers need the rights to start
    runs and to answer requests; roles are checked where a request requires one.

    Args:
        app: the server.
        server: the server of the platform.
        identify: returns the user of the protocol's library for a person.
    """

    def __init__(self, app: ASGIApp, server: ApiServer, identify: Callable[[Person], object]) -> None:
        self._app = app
        self._server = server
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, as long as the application runs.

        Raises:
            ApiError: when the caller has no right to do so.
        """
        person: Person = scope["person"]
        check_rights(person)
        lift_time_limit(scope)
        await self._serve({**scope, "user": self._identify(person)}, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def answer(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        serving = asyncio.create_task(self._run(scope, receive, answer))
        stopped = asyncio.create_task(self._server.streams.wait_stopped())
        try:
            await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
                return
        finally:
            for task in (serving, stopped):
                task.cancel()
            await asyncio.gather(serving, stopped, return_exceptions=True)
        if not has_begun:
            raise ApiError(503, "The server stops.", {"retry-after": "1"})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def app(
    platform: Platform,
    *,
    people: Mapping[str, Person] | None = None,
    hosts: Collection[str] | None = None,
    limits: RequestLimits = _NO_LIMITS,
    url: str | None = None,
    a2a: A2aSettings | None = None,
    lets_callers_approve: bool = False,
    routes: Sequence[BaseRoute] = (),
    mesh: Mesh | None = None,
) -> Starlette:
    """Return the ASGI application of a platform, to run by itself or to mount in another.

    Beside the API and the dashboard, it speaks AG-UI, MCP and A2A, as far as the extras are installed. MCP and A2A
    offer the goals with `Export(remote=True)`, or all agents that are registered, where there is no such goal.

    While it runs, it continues runs of the store, as a worker does. An application that mounts it must enter its
    lifespan: `async with app.router.lifespan_context(app)`.

    Args:
        platform: the platform, with a store.
        people: bearer tokens, and who has each; without tokens, only programs on this machine may call.
        hosts: names by which the server may be called, without ports; without tokens, this machine's names by default.
        limits: limits of requests.
        url: address at which clients reach the application. The card of A2A has it; without it, there is no A2A.
        a2a: further settings of A2A; `limits` and `people` decide the size of requests, the lease and who calls.
        lets_callers_approve: true when programs that call over MCP or A2A may approve calls of tools themselves.
        routes: further routes, behind the same guard.
        mesh: mesh to whose nodes callers may send work, with `POST /api/work`; the caller closes it.

    Raises:
        ConfigurationError: when the platform has no store, or a token is too short.
        DeclarationError: when an exported goal cannot be offered.
    """
    server = ApiServer(platform, limits)
    callers = Callers(people, limits, server.clock.monotonic)
    parts = [
        _offer_mcp(server, lets_callers_approve=lets_callers_approve),
        _offer_a2a(server, url, a2a, callers, lets_callers_approve=lets_callers_approve),
    ]
    further = [route for part in parts for route in part.routes]
    operations = list(_list_ag_ui_operations())
    if mesh is not None:
        operations += [*create_work_operations(mesh, platform.store), *create_directive_operations(mesh)]
    offered = [*api_routes(server, *operations), *further, *dashboard_routes(), *routes, home_route()]
    mounted = [part.app for part in parts if part.app is not None]
    return create_application(server, offered, callers=callers, hosts=hosts, mounted=mounted)


@frozen
class _Offer:
    """Part of the application: routes, and an inner application, if any."""

    routes: Sequence[BaseRoute] = ()
    app: Starlette | None = None


def _list_ag_ui_operations() -> tuple[ApiOperation, ...]:
    if find_spec("ag_ui") is None:
        return ()
    from tactician.serve.ag_ui.endpoint import create_operation

    return (create_operation(),)


def _offer_mcp(server: ApiServer, *, lets_callers_approve: bool) -> _Offer:
    if find_spec("mcp") is None:
        return _Offer()
    from tactician.serve.mcp.access import create_user
    from tactician.serve.mcp.publisher import McpPublisher

    published = _list_published(server.platform)
    publisher = McpPublisher(server.platform, *published, lets_callers_approve=lets_callers_approve)
    inner = publisher.create_mounted_app(path=_MCP, is_stopping=lambda: server.streams.are_stopped)
    return _Offer([Route(_MCP, MountedServer(inner, server, lambda person: create_user(person.name)))], inner)


def _offer_a2a(
    server: ApiServer, url: str | None, chosen: A2aSettings | None, callers: Callers, *, lets_callers_approve: bool
) -> _Offer:
    if url is None or find_spec("a2a") is None:
        return _Offer()
    from tactician.serve.a2a.app import a2a_app
    from tactician.serve.a2a.settings import A2aSettings

    limits, settings = server.limits, chosen or A2aSettings()
    grpc = settings.grpc and replace(settings.grpc, authentication=_GrpcCallers(callers))
    settings = replace(
        settings,
        lease=limits.lease,
        max_request_bytes=limits.body,
        needs_token=callers.need_tokens,
        lets_callers_approve=lets_callers_approve or settings.lets_callers_approve,
        grpc=grpc,
    )
    published = _list_published(server.platform)
    inner = a2a_app(server.platform, f"{url.rstrip('/')}{_A2A}", publish=published, settings=settings)
    mounted = MountedServer(inner, server, _create_user)
    return _Offer([Route(_CARD, mounted), Mount(_A2A, mounted)], inner)


class _GrpcCallers(AuthenticationBackend):
    """Callers over gRPC: the same people with the same tokens, rights and limits as over HTTP."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    @override
    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser]:
        person = self._callers.admit(conn.headers, conn.client.host if conn.client is not None else "")
        check_rights(person)
        return AuthCredentials(), _create_user(person)


def _create_user(person: Person) -> BaseUser:
    return UnauthenticatedUser() if person.user is None else SimpleUser(person.user.id)


def _list_published(platform: Platform) -> tuple[Runnable, ...]:
    """Return the agents to offer where no goal is exported: all but those whose goals nothing leads to."""
    if platform.goal_tools(remote=True):
        return ()
    reachable = {tool.agent.name for tool in platform.goal_tools()}
    agents = platform.agents.values()
    return tuple(agent for agent in agents if planned_spec(agent) is None or agent.name in reachable)
