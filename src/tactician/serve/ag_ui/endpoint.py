"""The endpoint of each agent for AG-UI clients."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from time import time
from typing import Final

from ag_ui.core import RunAgentInput
from starlette.applications import Starlette
from starlette.responses import Response

from tactician.agents import BaseRunnable
from tactician.conversation import ChatUser
from tactician.errors import AgentNotFoundError, ResponseError
from tactician.platform import Platform
from tactician.runs import PendingRequest, Respondent, RunContext, Runnable, RunResult
from tactician.serve.ag_ui.client_run import ClientRun, Work
from tactician.serve.ag_ui.conversation import read_input, read_request
from tactician.serve.ag_ui.interrupts import read_resumption
from tactician.serve.ag_ui.translator import EventTranslator
from tactician.serve.api import (
    ApiError,
    ApiOperation,
    ApiServer,
    Call,
    Person,
    RequestLimits,
    create_application,
    find_runnable,
)

_NO_LIMITS: Final = RequestLimits()


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
    return create_application(server, [create_operation("").route(server)], people=people, hosts=hosts)


def create_operation(path: str = "/agui") -> ApiOperation:
    """Return the operation that runs an agent, at the id of the agent below a path."""
    return ApiOperation("POST", f"{path}/{{agent_id}}", run_agent, "Run an agent over AG-UI")


async def run_agent(call: Call) -> Response:
    """Start a run of an agent, or resume one that waits, and stream its events."""
    request, agent = read_request(await call.request.body()), find_runnable(call)
    right = "answer" if request.resume else "start"
    if right not in call.person.rights:
        raise ApiError(403, f"This needs the right {right!r}.")
    if call.server.streams.is_full:
        raise ApiError(503, "Too many streams are open.", {"retry-after": "5"})
    work = _resume(call, request, agent) if request.resume else _start(call.person, request, agent)
    return call.server.streams.respond(ClientRun(call.server, request, work).stream())


def _start(person: Person, request: RunAgentInput, agent: Runnable) -> Work:
    value, user = read_input(request, agent), person.user
    inside: dict[type, object] = {} if user is None else {ChatUser: user}
    return lambda context, _: agent.run(value, context=context.inside(inside))


def _resume(call: Call, request: RunAgentInput, agent: Runnable) -> Work:
    async def work(context: RunContext, translator: EventTranslator) -> RunResult[object]:
        if not isinstance(agent, BaseRunnable):
            raise AgentNotFoundError(f"{agent.name!r} cannot continue a run.")
        resumption = read_resumption(request.resume or ())
        pending = await agent.list_pending(resumption.run_id, context=context)
        responses = resumption.read(pending, time())
        translator.resume(resumption.run_id, pending)
        result: RunResult[object] | None = None
        for respondent, asked in _list_respondents(call.person, pending):
            given = {name: responses[name] for name in asked if name in responses}
            answering = context.inside({Respondent: respondent})
            result = await agent.resume(resumption.run_id, given, context=answering)
        if result is None:
            raise ResponseError(f"The run {resumption.run_id} does not wait for anything.")
        return result

    return work


def _list_respondents(
    person: Person, pending: tuple[PendingRequest, ...]
) -> Iterator[tuple[Respondent, frozenset[str]]]:
    """Yield the roles that the requests need, as far as the person has them, with the ids of the requests."""
    for role in dict.fromkeys(request.required_role for request in pending):
        asked = frozenset(request.id for request in pending if request.required_role == role)
        yield Respondent(person.find_role(role), person.name), asked
