"""Tickets: what callers hold who do not wait for a reply."""

from __future__ import annotations

from math import inf
from weakref import finalize

from pydantic import JsonValue

from tactician.clock import wait_for_event
from tactician.errors import MeshUnavailableError, RequestFailedError, RequestTimeoutError
from tactician.mesh.calls.requester import ACCEPT_WITHIN, Requester, Target, raise_rejection
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.replies import MeshReply, RequestAcceptance, StatusReport
from tactician.mesh.messages.requests import MeshRequest, StatusQuery
from tactician.runs import RunContext
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
    """

    def __init__(
        self, mesh: MeshConnection, target: Target, request: MeshRequest, acceptance: RequestAcceptance | None = None
    ) -> None:
        # The reply may come before anybody asks for it: the ticket listens as long as somebody holds it.
        self._call = mesh.calls.open(request.id)
        finalize(self, mesh.calls.close, request.id, self._call)
        self.request_id = request.id
        self.node = target.node
        self.position = None if acceptance is None else acceptance.position
        self.expected_at = None if acceptance is None else acceptance.expected_end
        self._mesh = mesh
        self._target = target
        self._request = request

    def __repr__(self) -> str:
        return f"Ticket({self.request_id!r}, {self._request.capability!r} at {self._target.node!r})"

    async def status(self) -> StatusReport:
        """Return the status of the request.

        Raises:
            MeshUnavailableError: when the node does not answer.
        """
        if not await self._ask(ACCEPT_WITHIN) or self._call.status is None:
            raise MeshUnavailableError(f"The node {self._target.node!r} does not answer.")
        return self._call.status

    async def result(self, timeout: float | None = None) -> JsonValue:  # noqa: ASYNC109 - the clock of the mesh bounds it
        """Return the output, once the work has ended.

        Args:
            timeout: seconds to wait; as long as it takes, when `None`.

        Raises:
            RequestTimeoutError: when it has not ended in time; it goes on.
            RequestFailedError: when it has failed.
            RequestRejectedError: when the node refuses the request.
        """
        clock = self._mesh.clock
        ends_at, poll = inf if timeout is None else clock.monotonic() + timeout, _FIRST_POLL
        call = self._call
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
        await Requester(self._mesh).cancel(self._target, self._request, reason)

    async def _ask(self, seconds: float) -> bool:
        """Ask for the status, and return whether the node has answered."""
        self._call.is_reported.clear()
        query = StatusQuery(
            request_id=self.request_id,
            sender=self._request.sender,
            reply_to=self._mesh.reply_queue,
            attempt=self._request.attempt,
        )
        await self._mesh.send(self._target.queue, query)
        return await wait_for_event(self._call.is_reported, seconds, self._mesh.clock)

    async def read(self, reply: MeshReply) -> JsonValue:
        """Return the output of a reply, also where the message has only its key.

        Raises:
            RequestFailedError: when the work has failed.
            RequestRejectedError: when the node has refused the request, or the store of the mesh lacks the output.
        """
        raise_rejection(reply)
        if reply.failure is not None:
            text = f"{reply.node}: {self._request.capability} has failed: {reply.failure.message}"
            raise RequestFailedError(text, reply.failure.type, reply.request_id)
        return await self._mesh.values.unpack(reply.output, reply.output_reference)


async def submit_request(
    mesh: MeshConnection, target: Target, request: MeshRequest, context: RunContext | None, within: float
) -> Ticket:
    """Send a request, and return its ticket once the node has accepted.

    Args:
        mesh: the connection.
        target: the node.
        request: the request.
        context: context of the run that asks, if any.
        within: seconds to wait for the acceptance.

    Raises:
        RequestRejectedError: when the node refuses the request.
        MeshUnavailableError: when it does not accept the request in time.
    """
    requester = Requester(mesh)
    with mesh.calls.listen(request.id) as call:
        await requester.send(target, request, context)
        await requester.wait_for_acceptance(target, request, call, within)
        return Ticket(mesh, target, request, call.acceptance)
