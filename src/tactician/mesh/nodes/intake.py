"""Intake of a node: a request becomes a run of the platform, once, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from pydantic import JsonValue

from tactician.errors import RequestRejectedError, RunNotFoundError
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.codec import Envelope
from tactician.mesh.messages.replies import (
    MeshReply,
    RejectionReason,
    RequestAcceptance,
    RequestFailure,
    RequestRejection,
    StatusReport,
)
from tactician.mesh.messages.requests import MAX_HOPS, Cancellation, MeshRequest, StatusQuery
from tactician.mesh.nodes.control import NodeControl
from tactician.mesh.nodes.ledger import RequestLedger
from tactician.mesh.nodes.load import POINTS, NodeLoad
from tactician.mesh.nodes.offer import OfferedInput, OfferedRunnable
from tactician.mesh.nodes.reporter import RunReporter
from tactician.mesh.nodes.shared_queue import SharedQueue
from tactician.platform import Platform
from tactician.platform.follow import RunClient
from tactician.runs import Budget
from tactician.suggestions import did_you_mean

_REASONS: Final[Mapping[str, RejectionReason]] = {
    "too_large": "too_large",
    "invalid_input": "invalid_input",
    "unsupported_version": "unsupported_version",
}
_logger = get_logger(__name__)


class Intake:
    """Intake of requests.

    Args:
        node: name of the node.
        platform: the platform of the runs.
        mesh: the connection.
        offers: what the node offers, by name.
        ledger: the accepted requests.
        load: the load of the instance.
        reporter: the reporter of the runs.
        queue: what waits at all instances.
        control: the control of the node.
        is_shareable: true when nodes of other realms may ask.
        is_draining: returns whether the node takes nothing new.
        wake: lets the worker look for runs at once.
    """

    def __init__(
        self,
        node: str,
        platform: Platform,
        mesh: MeshConnection,
        offers: Mapping[str, OfferedRunnable],
        ledger: RequestLedger,
        load: NodeLoad,
        reporter: RunReporter,
        queue: SharedQueue,
        *,
        control: NodeControl,
        is_shareable: bool,
        is_draining: Callable[[], bool],
        wake: Callable[[], None],
    ) -> None:
        self._node = node
        self._platform = platform
        self._mesh = mesh
        self._offers = offers
        self._ledger = ledger
        self._load = load
        self._reporter = reporter
        self._queue = queue
        self._control = control
        self._is_shareable = is_shareable
        self._is_draining = is_draining
        self._client = RunClient(platform, wake=wake, name=node)
        self._clock = mesh.clock

    async def take(self, envelope: Envelope) -> str | None:
        """Take a message, and return the key of the run that it asks for; `None` for what is done with.

        Raises:
            TransportError: when the broker does not answer.
            StoreError: when the store does not answer.
        """
        match envelope.message:
            case MeshRequest() as request:
                return await self._take_request(request, envelope)
            case Cancellation() as cancellation:
                await self._cancel(cancellation)
            case StatusQuery() as query:
                await self._answer(query)
            case message:
                self._mesh.calls.note(message)
        return None

    async def refuse(self, error: MessageError) -> None:
        """Tell the sender what is wrong with a message; a sender without a key of the mesh hears nothing."""
        _logger.warning("%s: a message was refused: %s", self._node, error)
        reason = _REASONS.get(error.reason)
        if reason is not None and error.reply_to and error.request_id and len(error.request_id) <= 300:
            rejection = RequestRejection(reason=reason, message=str(error)[:2000])
            await self._reject(error.request_id, error.reply_to, rejection)

    async def _take_request(self, request: MeshRequest, envelope: Envelope) -> str | None:
        key = request.run_key
        if (earlier := await self._ledger.find(key)) is not None:
            if earlier.reply is not None:
                if request.reply_to is not None:
                    await self._mesh.send(request.reply_to, earlier.reply)
                return None
            await self._ledger.readdress(earlier, request)
        else:
            await self._queue.recount()
        if earlier is None and (rejection := self._find_rejection(request, envelope.source)) is not None:
            self._reporter.emit_answer(request, rejection.reason)
            await self._reject(request.id, request.reply_to, rejection)
            return None
        if earlier is None and (reply := await self._ledger.find_reply(request, self._clock.time())) is not None:
            await self._reporter.repeat(await self._ledger.add(request, envelope.trace, self._clock.time()), reply)
            return None
        try:
            value = await self._mesh.values.unpack(request.input, request.input_reference)
        except RequestRejectedError as error:
            await self._reject(request.id, request.reply_to, RequestRejection(reason="too_large", message=str(error)))
            return None
        await self._begin(request, value, envelope.trace)
        return key

    async def take_own(self, request: MeshRequest, is_free: Callable[[], Awaitable[bool]]) -> bool:
        """Start work that the node gives itself, once for each id, and return whether this call has begun it.

        Args:
            request: the work; it has no caller who waits.
            is_free: asked before new work begins: whether no other instance has it.

        Raises:
            RequestRejectedError: when too many requests wait.
            TransportError: when the broker does not answer.
            StoreError: when the store does not answer.
        """
        earlier = await self._ledger.find(request.run_key)
        if earlier is None:
            await self._queue.recount()
            if (rejection := self._find_overload(request)) is not None:
                raise RequestRejectedError(rejection.message, rejection.reason)
        if (earlier is not None and earlier.reply is not None) or (earlier is None and not await is_free()):
            return False
        await self._begin(request, request.input, None)
        return earlier is None

    async def _begin(self, request: MeshRequest, value: JsonValue, trace_parent: str | None) -> None:
        """Accept a request, and start its run, unless that was done."""
        await self._accept(request, trace_parent)
        work_input = OfferedInput(
            key=request.run_key,
            id=request.id,
            sender=request.sender,
            hops=[*request.hops],
            input=value,
            reply_to=request.reply_to if request.delivery.method == "direct" else None,
        )
        await self._client.start(
            self._offers[request.capability],
            work_input,
            idempotency_key=request.run_key,
            priority=self._count_points(request),
            deadline=None if request.deadline is None else datetime.fromtimestamp(request.deadline, UTC),
            user=None if request.user is None else request.user.restore(),
            budget=_read_budget(request),
            trace_parent=trace_parent,
        )

    def _count_points(self, request: MeshRequest) -> int:
        """Return the priority of the run of a request: minutes of waiting."""
        return POINTS[request.priority] + self._control.weigh(self._offers[request.capability].offer)

    async def _accept(self, request: MeshRequest, trace_parent: str | None) -> None:
        """Accept a request: it is in the ledger, and the caller knows its position, before its run can start."""
        now = self._clock.time()
        entry = await self._ledger.add(request, trace_parent, now)
        position = self._load.find_position(request.run_key)
        if position is None and not self._load.is_running(request.run_key):
            points = self._count_points(request)
            position = self._load.enqueue(request.run_key, request.capability, points, entry.accepted_at)
        if request.reply_to is not None:
            acceptance = RequestAcceptance(
                request_id=request.id,
                node=self._node,
                position=position or 0,
                expected_end=self._load.expect_end(position or 0),
            )
            await self._mesh.send(request.reply_to, acceptance)

    def _find_rejection(self, request: MeshRequest, source: str) -> RequestRejection | None:
        """Return why a new request is refused, if it is."""
        if self._is_draining():
            return RequestRejection(reason="draining", message=f"The node {self._node} is being stopped.")
        if len(request.hops) >= MAX_HOPS or self._node in request.hops:
            path = " → ".join((*request.hops, self._node))
            return RequestRejection(
                reason="too_many_hops", message=f"The request goes in a circle or through too many nodes: {path}"
            )
        if request.realm not in (None, self._mesh.realm) and not self._is_shareable:
            message = f"{self._node} takes no requests of the realm {request.realm}: Node(..., shareable=True)"
            return RequestRejection(reason="not_allowed", message=message)
        if (offered := self._offers.get(request.capability)) is None or not offered.offer.is_public:
            return self._create_unknown(request.capability)
        offer = offered.offer
        if offer.allow is not None and not {request.sender, source} <= offer.allow:
            return RequestRejection(
                reason="not_allowed", message=f"{request.sender} may not ask {self._node} for {request.capability}."
            )
        if not self._control.is_enabled(offer):
            return RequestRejection(reason="disabled", message=f"{request.capability} is disabled at {self._node}.")
        if request.version not in (None, offer.version):
            message = f"{self._node} offers {request.capability} in the version {offer.version}."
            return RequestRejection(reason="unknown_capability", message=message)
        if request.input_reference is None and (problems := offer.find_problems(request.input)):
            message = f"The input of {request.capability} is not valid: {'; '.join(problems)}"
            return RequestRejection(
                reason="invalid_input", message=message[:2000], suggestions=tuple(place[:2000] for place in problems)
            )
        return self._find_overload(request)

    def _find_overload(self, request: MeshRequest) -> RequestRejection | None:
        depth = self._load.depth
        expected = self._load.expect_end(depth)
        if depth >= self._control.queue_limit:
            seconds = self._load.seconds_per_request
            return RequestRejection(
                reason="at_capacity",
                message=f"{depth:,} requests wait at {self._node}, which is its limit.",
                queue_depth=depth,
                retry_after=1.0 if seconds is None else seconds,
            )
        now = self._clock.time()
        is_late = request.deadline is not None and (
            request.deadline <= now
            or (request.must_meet_deadline and expected is not None and expected > request.deadline)
        )
        if is_late:
            return RequestRejection(reason="deadline", message=f"{self._node} cannot meet the deadline.")
        return None

    def _create_unknown(self, name: str) -> RequestRejection:
        names = sorted(offered.offer.name for offered in self._offers.values() if offered.offer.is_public)
        nearest, offered = did_you_mean(name, names), ", ".join(names) or "nothing"
        message = f"{self._node} does not offer {name!r}.{nearest} It offers {offered}."
        return RequestRejection(reason="unknown_capability", message=message[:2000], suggestions=tuple(names[:20]))

    async def _reject(self, request_id: str, reply_to: str | None, rejection: RequestRejection) -> None:
        if reply_to is not None:
            reply = MeshReply(request_id=request_id, node=self._node, status="rejected", rejection=rejection)
            await self._mesh.send(reply_to, reply)

    async def _cancel(self, cancellation: Cancellation) -> None:
        entry = await self._ledger.find(cancellation.run_key)
        if entry is None or entry.request.sender != cancellation.sender:
            _logger.warning("%s: nothing to cancel for %s", self._node, cancellation.sender)
            return
        if (record := await self._reporter.find_run(cancellation.run_key)) is None:
            return
        if not cancellation.wants_reply and entry.reply is None:
            # First of all: once the run has ended, its worker would send the reply.
            failure = RequestFailure(type="RequestWithdrawn", message=cancellation.reason)
            reply = MeshReply(request_id=entry.request.id, node=self._node, status="failed", failure=failure)
            await self._ledger.close(entry, reply)
        try:
            await self._client.cancel(record.run_id, cancellation.reason or f"{cancellation.sender} has cancelled it")
        except RunNotFoundError:
            return
        self._load.interrupt(cancellation.run_key)
        self._load.finish(cancellation.run_key, is_measured=False)
        await self._reporter.report(cancellation.run_key)

    async def _answer(self, query: StatusQuery) -> None:
        entry = await self._ledger.find(query.run_key)
        if entry is None or entry.request.sender != query.sender:
            report = StatusReport(request_id=query.request_id, node=self._node, status="unknown")
        else:
            report = await self._reporter.describe(entry)
        await self._mesh.send(query.reply_to, report)


def _read_budget(request: MeshRequest) -> Budget | None:
    left = request.budget
    return None if left is None else Budget(cost=left.dollars, tokens=left.tokens)
