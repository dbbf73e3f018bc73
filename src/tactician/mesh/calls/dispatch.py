"""Dispatch of a request: it goes to a node that accepts it, through circuit breakers, retries and other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, ParamSpec, Protocol

from tactician.errors import MeshUnavailableError, RequestRejectedError
from tactician.events import Event
from tactician.mesh.call import MeshCall
from tactician.mesh.calls.choice import ChoiceQuery
from tactician.mesh.calls.options import MeshCallOptions
from tactician.mesh.calls.requester import Requester, Target, create_circuit_error
from tactician.mesh.circuits import NodeCircuit
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import (
    BreakerClosed,
    BreakerOpened,
    RequestAccepted,
    RequestRejected,
    RequestResent,
    RequestSent,
)
from tactician.mesh.messages.requests import MeshRequest
from tactician.runs import RunContext

_SPILLS: Final = frozenset(
    {"not_accepted", "unreachable", "circuit_open", "at_capacity", "draining", "disabled", "deadline"}
)
"""Reasons for which another node is asked with the same id."""
_LOCAL: Final = frozenset({"unreachable", "not_accepted"})
"""Reasons for which the same node is asked again after a pause."""
P = ParamSpec("P")


class RequestOrigin(Protocol):
    """Origin of a request, which is made anew for each node."""

    async def prepare_request(self, target: Target) -> MeshRequest:
        """Return the request for a node."""
        ...

    async def note_target(self, target: Target) -> None:
        """Save the node before it is asked."""
        ...


class Dispatch:
    """Dispatch of the requests of a caller.

    Args:
        mesh: the connection.
        capability: name of the capability.
        options: the options of the caller.
        context: context of the run that asks, if any.
        withdraws: true when a request that no node accepts in time is withdrawn; false when the caller may send the
            same request again later.
    """

    def __init__(
        self,
        mesh: MeshConnection,
        capability: str,
        options: MeshCallOptions,
        context: RunContext | None,
        *,
        withdraws: bool = True,
    ) -> None:
        self._mesh = mesh
        self._capability = capability
        self._options = options
        self._context = context
        self._withdraws = withdraws
        self._requester = Requester(mesh)

    def create_query(self, value: object, deadline: float | None, refused: tuple[str, ...] = ()) -> ChoiceQuery:
        """Return what the choice of a node depends on."""
        options = self._options
        return ChoiceQuery(
            capability=self._capability,
            version=options.version,
            choose=options.choose,
            breaker=options.breaker,
            deadline=deadline,
            input=value,
            refused=refused,
        )

    async def find_first(self, value: object, deadline: float | None) -> Target:
        """Return the node to ask first.

        Raises:
            MeshUnavailableError: when no node may be asked.
        """
        return await self.find_target(self.create_query(value, deadline))

    async def find_target(self, query: ChoiceQuery) -> Target:
        """Return the node to ask.

        Raises:
            MeshUnavailableError: when no node may be asked.
        """
        return await self._requester.find_target(self._capability, self._options.on, self._options.version, query)

    async def send(
        self, target: Target, origin: RequestOrigin, call: MeshCall, query: ChoiceQuery
    ) -> tuple[Target, MeshRequest]:
        """Send a request until a node accepts it; return the node and the request.

        Raises:
            RequestRejectedError: when a node refuses it, and no other is there.
            MeshUnavailableError: when no node accepts it.
        """
        refused: tuple[str, ...] = ()
        while True:
            request = self._limit_request(target, await origin.prepare_request(target))
            try:
                await self._deliver(target, request, call, query, refused)
            except (RequestRejectedError, MeshUnavailableError) as error:
                refused = (*refused, target.queue)
                following = await self._find_following(error, query, refused)
                self._emit_rejection(request, target, error, following)
                if following is None:
                    raise
                target = following
                await origin.note_target(target)
            else:
                return target, request

    async def _deliver(
        self, target: Target, request: MeshRequest, call: MeshCall, query: ChoiceQuery, refused: tuple[str, ...]
    ) -> None:
        """Send a request to a node, and again after a pause if no other node is there."""
        circuit, attempt = self._mesh.circuits.find(target.queue, self._options.breaker), 0
        call.expect(target.node)
        with circuit.track(call, lambda: self._withdraw(target, request)):
            while True:
                attempt += 1
                try:
                    await self._try(circuit, target, request, call, is_first=attempt == 1)
                except MeshUnavailableError as error:
                    is_last = attempt > self._options.retries.count or error.reason not in _LOCAL
                    if is_last or circuit.is_open or await self._find_following(error, query, (*refused, target.queue)):
                        if error.reason in ("not_accepted", "not_found") and not circuit.is_open:
                            await self._withdraw(target, request)
                        raise
                    await self._pause(circuit, target, request, attempt, error)
                else:
                    return

    async def _try(
        self, circuit: NodeCircuit, target: Target, request: MeshRequest, call: MeshCall, *, is_first: bool
    ) -> None:
        if call.is_given_up or circuit.seconds_left > 0:
            raise create_circuit_error(f"the node {target.node!r}", circuit.seconds_left)
        number = circuit.begin()
        if is_first:  # the span of the request begins before its trace context is sent
            self._emit(
                RequestSent,
                request_id=request.id,
                capability=self._capability,
                node=target.node,
                reason=target.reason,
            )
        try:
            await self._requester.send(target, request, self._find_traced(target))
            await self._requester.wait_for_acceptance(target, request, call, self._options.accept_within)
        except MeshUnavailableError as error:
            await self._record_failure(circuit, number, target, error)
            raise
        except RequestRejectedError:
            self._record_success(circuit, number, target)
            raise
        except BaseException:
            circuit.end_trial(number)
            raise
        self._record_success(circuit, number, target)
        if (acceptance := call.acceptance) is not None:
            self._emit(
                RequestAccepted,
                request_id=request.id,
                capability=self._capability,
                node=acceptance.node,
                position=acceptance.position,
            )

    async def _pause(
        self, circuit: NodeCircuit, target: Target, request: MeshRequest, attempt: int, error: MeshUnavailableError
    ) -> None:
        seconds = self._options.retries.draw_delay(attempt)
        self._emit(
            RequestResent,
            request_id=request.id,
            capability=self._capability,
            node=target.node,
            attempt=attempt,
            seconds=seconds,
            reason=error.reason,
        )
        await circuit.wait_until_open(seconds)

    def _limit_request(self, target: Target, request: MeshRequest) -> MeshRequest:
        """Return what a request may carry into another realm."""
        if target.realm == self._mesh.realm:
            return request
        hidden = {"user", "budget"} - self._options.share
        if "user" in hidden:  # else a reply for one user could be taken for another
            hidden.add("caching")
        return request.model_copy(update=dict.fromkeys(hidden))

    def _find_traced(self, target: Target) -> RunContext | None:
        """Return the context whose trace goes on at a node."""
        is_shared = target.realm == self._mesh.realm or "trace" in self._options.share
        return self._context if is_shared else None

    async def _find_following(
        self, error: RequestRejectedError | MeshUnavailableError, query: ChoiceQuery, refused: tuple[str, ...]
    ) -> Target | None:
        """Return the node to ask after others; `None` when the error says that no other node would do it either."""
        if self._options.on is not None or error.reason not in _SPILLS:
            return None
        try:
            return await self.find_target(self.create_query(query.input, query.deadline, refused))
        except MeshUnavailableError:
            return None

    async def _withdraw(self, target: Target, request: MeshRequest) -> None:
        if self._withdraws:
            await self._requester.withdraw(target, request)

    async def _record_failure(
        self, circuit: NodeCircuit, number: int, target: Target, error: MeshUnavailableError
    ) -> None:
        if error.reason == "circuit_open":
            circuit.end_trial(number)
        elif (seconds := await circuit.record_failure(number)) is not None:
            self._emit(BreakerOpened, node=target.node, seconds=seconds, reason=str(error))

    def _record_success(self, circuit: NodeCircuit, number: int, target: Target) -> None:
        if circuit.record_success(number):
            self._emit(BreakerClosed, node=target.node)

    def _emit_rejection(
        self,
        request: MeshRequest,
        target: Target,
        error: RequestRejectedError | MeshUnavailableError,
        following: Target | None,
    ) -> None:
        self._emit(
            RequestRejected,
            request_id=request.id,
            capability=self._capability,
            node=target.node,
            reason=error.reason,
            next_node=None if following is None else following.node,
        )

    def _emit(self, kind: Callable[P, Event], /, *args: P.args, **fields: P.kwargs) -> None:
        if self._context is not None:
            self._context.emit(kind, *args, **fields)
