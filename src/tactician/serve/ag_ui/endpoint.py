"""The endpoint of each agent for AG-UI clients."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from starlette.applications import Starlette
from starlette.responses import Response

from tactician.people.person import Person, Right
from tactician.platform import Platform
from tactician.serve.ag_ui.client_run import ClientRun
from tactician.serve.ag_ui.conversation import read_request
from tactician.serve.ag_ui.requested_run import RequestedRun
from tactician.serve.api.agents import find_runnable
from tactician.serve.api.application import create_application
from tactician.serve.api.serving.guard import Callers, RequestLimits
from tactician.serve.api.serving.operations import ApiOperation, Call
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.problems import ApiError

_NO_LIMITS: Final = RequestLimits()
_RIGHTS: Final[tuple[Right, ...]] = ("start", "answer")


def ag_ui_app(
    platform: Platform,
    *,
    people: Mapping[str, Person] | None = None,
    hosts: Collection[str] | None = None,
    limits: RequestLimits = _NO_LIMITS,
) -> Starlette:
    """Return an ASGI application with an endpoint `/{id}` for each agent of a platform, and nothing else.

    `tactician.serve.app` has the same endpoints at `/agui/{id}`.

    Args:
        platform: the platform, with a store.
        people: bearer tokens, and who has each, as in `tactician.serve.app`.
        hosts: names by which the server may be called.
        limits: limits of requests.

    Raises:
        ConfigurationError: when the platform has no store, or a token is too short.
    """
    server = ApiServer(platform, limits)
    return create_application(
        server,
        [create_operation("").route(server)],
        callers=Callers(people, limits, server.clock.monotonic),
        hosts=hosts,
    )


def create_operation(path: str = "/agui") -> ApiOperation:
    """Return the operation that runs an agent, at the id of the agent below a path."""
    return ApiOperation(
        "POST", f"{path}/{{agent_id}}", AgUiEndpoint().run_agent, "Run an agent over AG-UI", right=_RIGHTS
    )


class AgUiEndpoint:
    """Endpoint of the agents of a server."""

    def __init__(self) -> None:
        self._open: set[ClientRun] = set()

    async def run_agent(self, call: Call) -> Response:
        """Start a run of an agent, or resume one that waits, and stream its events."""
        request, agent = read_request(await call.request.body()), find_runnable(call)
        right = "answer" if request.resume else "start"
        if right not in call.person.rights:
            raise ApiError(403, f"This needs the right {right!r}.")
        if call.server.streams.is_full:
            raise ApiError(503, "Too many streams are open.", {"retry-after": "5"})
        client_run = ClientRun(call.server, request, RequestedRun(call, request, agent), self._open)
        return call.server.streams.respond(client_run.stream())
