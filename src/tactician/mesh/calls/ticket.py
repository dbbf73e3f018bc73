"""Tickets: what callers hold who do not wait for a reply."""

from __future__ import annotations

from math import inf
from typing import cast
from weakref import finalize

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from tactician.clock import wait_for_event
from tactician.errors import (
    MeshUnavailableError,
    RequestFailedError,
    RequestRejectedError,
    RequestTimeoutError,
)
from tactician.mesh.calls.dispatch import Dispatch
from tactician.mesh.calls.fallback import is_for_fallback, name_fallback
from tactician.mesh.calls.options import MeshCallOptions
from tactician.mesh.calls.policies import ACCEPT_WITHIN
from tactician.mesh.calls.requester import Requester, Target, raise_rejection
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import FallbackUsed
from tactician.mesh.messages.replies import MeshReply, RequestAcceptance, StatusReport
from tactician.mesh.messages.requests import MeshRequest, StatusQuery
from tactician.mesh.nodes.delivery import ReplyDelivery
from tactician.runs import Input, RunContext
from tactician.suggestions import suggest_options

_FIRST_POLL, _LONGEST_POLL = 0.1, 5.0
"""Seconds between questions about a request whose reply goes elsewhere."""


@suggest_options
class Ticket:
    """Ticket of a request. Create it with `Mesh.submit`, or with `Mesh.ticket` for a request that was sent before.

    Attributes:
        request_id: id of the request.
        node: name of the node that was asked.
        position: number of requests that were to be started before it when it was accepted; `None` if unknown.
        expected_at: time of the reply in seconds since the epoch, as the node expected it then; `None` if unknown.
        mesh: the connection.
        request: the request.
        call: what was heard of the request.
    """

    def __init__(
        self, mesh: MeshConnection, target: Target, request: MeshRequest, acceptance: RequestAcceptance | None = None
    ) -> None:
        # The reply may come before anybody asks for it: the ticket listens as long as somebody holds it.
        self.call = mesh.calls.open(request.id)
        finalize(self, mesh.calls.close, request.id, self.call)
        self.request_id = request.id
        self.node = target.node
        self.position = None if acceptance is None else acceptance.position
        self.expected_at = None if acceptance is None else acceptance.expected_end
        self.mesh = mesh
        self._target = target
        self.request = request

    def __repr__(self) -> str:
        return f"Ticket({self.request_id!r}, {self.request.capability!r} at {self._target.node!r})"

    async def status(self) -> StatusReport:
        """Return the status of the request.

        Raises:
            MeshUnavailableError: when the node does not answer.
        """
        if not await self._ask(ACCEPT_WITHIN) or self.call.status is None:
            raise MeshUnavailableError(f"The node {self._target.node!r} does not answer.")
        return self.call.status

    async def result(self, timeout: float | None = None) -> JsonValue:  # noqa: ASYNC109 - the clock of the mesh bounds it
        """Return the output, once the work has ended.

        Args:
            timeout: seconds to wait; as long as it takes, when `None`.

        Raises:
            RequestTimeoutError: when it has not ended in time; it goes on.
            RequestFailedError: when it has failed.
            RequestRejectedError: when the node refuses the request.
        """
        clock = self.mesh.clock
        ends_at, poll = inf if timeout is None else clock.monotonic() + timeout, _FIRST_POLL
        call = self.call
        while call.reply is None:
            left, poll = min(poll, ends_at - clock.monotonic()), min(2 * poll, _LONGEST_POLL)
            if left <= 0:
                raise RequestTimeoutError(f"{self!r} has no reply after {timeout:g} s", self, call.progress)
            await self._ask(min(ACCEPT_WITHIN, ends_at - clock.monotonic()))
            if call.status is not None and call.status.reply is not None:
                call.reply = call.status.reply
            else:
                await wait_for_event(call.is_answered, left, clock)
        return await self.read(call.reply)

    async def cancel(self, reason: str = "") -> None:
        """Cancel the request: its work ends, wherever it runs."""
        await Requester(self.mesh).cancel(self._target, self.request, reason)

    async def _ask(self, seconds: float) -> bool:
        """Ask for the status, and return whether the node has answered."""
        self.call.is_reported.clear()
        query = StatusQuery(
            request_id=self.request_id,
            sender=self.request.sender,
            reply_to=self.mesh.reply_queue,
            attempt=self.request.attempt,
        )
        await self.mesh.send(self._target.queue, query)
        return await wait_for_event(self.call.is_reported, seconds, self.mesh.clock)

    async def read(self, reply: MeshReply) -> JsonValue:
        """Return the output of a reply, also where the message has only its key.

        Raises:
            RequestFailedError: when the work has failed.
            RequestRejectedError: when the node has refused the request, or the store of the mesh lacks the output.
        """
        raise_rejection(reply)
        if reply.failure is not None:
            text = f"{reply.node}: {self.request.capability} has failed: {reply.failure.message}"
            raise RequestFailedError(text, reply.failure.type, reply.request_id)
        return await self.mesh.values.unpack(reply.output, reply.output_reference)


class _Submission:
    """Request that is the same for each node."""

    def __init__(self, request: MeshRequest) -> None:
        self._request = request

    async def prepare_request(self, target: Target) -> MeshRequest:
        return self._request

    async def note_target(self, target: Target) -> None:
        return


async def submit_request(
    mesh: MeshConnection,
    target: Target | None,
    request: MeshRequest,
    context: RunContext | None,
    options: MeshCallOptions,
    value: Input = None,
) -> Ticket:
    """Send a request, and return its ticket once a node has accepted.

    Args:
        mesh: the connection.
        target: the node; chosen, when `None`.
        request: the request.
        context: context of the run that asks, if any.
        options: options of the call.
        value: the input, for a sticky choice and a fallback.

    Raises:
        RequestRejectedError: when the node refuses the request.
        MeshUnavailableError: when it does not accept the request in time.
    """
    # The same request may be sent again later: it is withdrawn only if the fallback does its work.
    dispatch = Dispatch(mesh, request.capability, options, context, withdraws=options.fallback is not None)
    with mesh.calls.listen(request.id) as call:
        query = dispatch.create_query(value, request.deadline)
        try:
            target = target or await dispatch.find_target(query)
            target, request = await dispatch.send(target, _Submission(request), call, query)
        except (RequestRejectedError, MeshUnavailableError) as error:
            if not is_for_fallback(options, error):
                raise
            ticket = Ticket(mesh, target or Requester(mesh).name_target("fallback"), request)
            return await _answer_by_fallback(ticket, context, options, value, error)
        return Ticket(mesh, target, request, call.acceptance)


async def _answer_by_fallback(
    ticket: Ticket, context: RunContext | None, options: MeshCallOptions, value: Input, error: Exception
) -> Ticket:
    """Deliver the answer of the fallback as the reply to a request that no node has accepted."""
    request, fallback = ticket.request, options.fallback
    if context is not None:
        context.emit(FallbackUsed, capability=request.capability, fallback=name_fallback(fallback), reason=str(error))
    output = fallback if fallback is None or isinstance(fallback, str) else (await fallback.run(value)).output
    plain = cast("JsonValue", to_jsonable_python(output))
    reply = MeshReply(request_id=request.id, node="fallback", status="completed", output=plain)
    await ReplyDelivery(ticket.mesh).deliver(request, reply)
    ticket.call.reply = reply
    return ticket
