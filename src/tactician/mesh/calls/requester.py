"""Requests: which node is asked, and what the request carries of the caller's run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Final, cast

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tactician.clock import wait_for_event
from tactician.errors import ConfigurationError, MeshUnavailableError, RequestRejectedError
from tactician.frozen import frozen
from tactician.llm import UserMessage
from tactician.mesh.call import MeshCall
from tactician.mesh.calls.choice import ChoiceQuery, ProviderChoice
from tactician.mesh.connection import MeshConnection
from tactician.mesh.directory import LOOK_AROUND, Offering
from tactician.mesh.hops import MeshHops
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.replies import MeshReply
from tactician.mesh.messages.requests import BudgetLeft, Cancellation, MeshRequest, RequestUser
from tactician.mesh.transports.transport import TransportError
from tactician.process import UserInput
from tactician.runs import Budget, ChatUser, Input, RunContext
from tactician.runs.context.telemetry import find_trace_parent
from tactician.runs.runnable import is_conversation
from tactician.suggestions import did_you_mean, is_misspelling

_COME_BACK: Final = 5.0
"""Seconds after which a queue of a broker that is full is tried again."""


@frozen
class Target:
    """Node that is asked.

    Attributes:
        node: its name.
        realm: its realm.
        queue: its queue.
        reason: the reason for which it was chosen.
    """

    node: str
    realm: str
    queue: str
    reason: str = ""


class Requester:
    """Sender of requests.

    Args:
        mesh: the connection.
    """

    def __init__(self, mesh: MeshConnection) -> None:
        self._mesh = mesh
        self._choice = ProviderChoice(mesh.realm, mesh.directory, mesh.circuits, mesh.clock)

    async def find_target(
        self, capability: str, on: str | None, version: str | None = None, query: ChoiceQuery | None = None
    ) -> Target:
        """Return the node to ask for a capability: the named node, or the node that is chosen.

        Args:
            capability: name of the capability.
            on: name of the node, or `"realm/node"`; any, when `None`.
            version: version that is needed; any, when `None`.
            query: what the choice depends on; the soonest node is chosen by default.

        Raises:
            MeshUnavailableError: when no node offers it, or all circuits are open.
            ConfigurationError: when the transport has no cards, and no node is named.
        """
        mesh, query = self._mesh, query or ChoiceQuery(capability=capability, version=version)
        await mesh.open()
        if on is not None:
            realm, _, node = on.rpartition("/")
            return replace(self.name_target(node, realm or None), reason="named by the caller")
        if not mesh.transport.has_topics:
            raise ConfigurationError(f"{mesh.transport.label} has no cards of nodes: write on='kitchen'")
        offers = await mesh.directory.find(
            mesh.realm, capability, wait=0.0 if query.refused else LOOK_AROUND, version=version
        )
        if (chosen := self._choice.choose(query)) is not None:
            offering, reason = chosen
            return replace(self.name_target(offering.node, offering.realm), reason=reason)
        raise self._create_error(offers, query)

    def _create_error(self, offers: Collection[Offering], query: ChoiceQuery) -> MeshUnavailableError:
        """Return the error for a capability for which no node can be asked."""
        mesh, name = self._mesh, query.capability
        waits = [mesh.circuits.find(offer.queue, query.breaker).seconds_left for offer in offers]
        if waits and not query.refused:
            return create_circuit_error(f"the nodes that offer {name!r}", min(waits))
        offered = sorted({offering.capability.name for offering in mesh.directory.list_offerings(mesh.realm)})
        hint = did_you_mean(name, offered) or f" It has: {', '.join(offered) or 'no work'}."
        wanted = name if query.version is None else f"{name} in the version {query.version}"
        return MeshUnavailableError(f"No node of the mesh offers {wanted!r}.{hint}", "not_found")

    def name_target(self, node: str, realm: str | None = None) -> Target:
        """Return a node that is asked by its name."""
        return Target(node, realm or self._mesh.realm, self._mesh.name_queue(node, realm))

    async def create_request(
        self, request_id: str, capability: str, input: Input, context: RunContext | None, **fields: object
    ) -> MeshRequest:
        """Return a request that carries what is left of the budget and the time of the caller, and its user.

        Raises:
            RequestRejectedError: when the input is too large.
            ConfigurationError: when the input has no JSON form.
        """
        from_run: Mapping[str, object] = {} if context is None else _describe_run(context)
        packed = await self._mesh.values.pack(to_json(input), "input")
        chosen = {name: value for name, value in fields.items() if value is not None}
        if (deadline := from_run.get("deadline")) is not None and "deadline" in chosen:
            chosen["deadline"] = min(cast("float", deadline), cast("float", chosen["deadline"]))
        return MeshRequest.model_validate(
            {
                "id": request_id,
                "sender": self._mesh.name,
                "capability": capability,
                "realm": self._mesh.realm,
                "sent_at": self._mesh.clock.time(),
                **from_run,
                **packed,
                **chosen,
            }
        )

    async def send(self, target: Target, request: MeshRequest, context: RunContext | None = None) -> None:
        """Send a request.

        Raises:
            MeshUnavailableError: when the broker does not answer.
            RequestRejectedError: when it is too large, or the queue is full.
        """
        trace_parent = None if context is None else find_trace_parent("") or context.trace_parent
        try:
            await self._mesh.send(target.queue, request, trace_parent)
        except MessageError as error:
            raise RequestRejectedError(str(error), "too_large") from error
        except TransportError as error:
            if error.is_full:
                raise RequestRejectedError(str(error), "at_capacity", retry_after=_COME_BACK) from error
            raise MeshUnavailableError(
                f"The request to {target.node!r} was not sent: {error}", "unreachable"
            ) from error

    async def wait_for_acceptance(self, target: Target, request: MeshRequest, call: MeshCall, within: float) -> None:
        """Wait until the node has accepted or answered a request.

        Raises:
            MeshUnavailableError: when it has not in time, or its name is a misspelling of the name of another node.
            RequestRejectedError: when the node has refused it.
        """
        clock, first = self._mesh.clock, min(within, LOOK_AROUND)
        if not await wait_for_event(call.is_heard, first, clock) and first < within:
            self._refuse_misspelling(target)
        if not await wait_for_event(call.is_heard, within - first, clock):
            there = sorted({card.node for card in self._mesh.directory.list_cards()})
            hint = did_you_mean(target.node, there) or (f" Nodes that are there: {', '.join(there)}." if there else "")
            raise MeshUnavailableError(
                f"The node {target.node!r} has not accepted the request {request.id} within {within:g} s. Is it "
                f"running, and on {self._mesh.transport.label}?{hint}"
            )
        if call.reply is not None:
            raise_rejection(call.reply)
        if call.is_given_up and not call.is_accepted:
            raise create_circuit_error(f"the node {target.node!r}", None)

    def _refuse_misspelling(self, target: Target) -> None:
        """Raise an error for a name that no node has, when another node has almost that name."""
        there = {card.node for card in self._mesh.directory.list_cards() if card.realm == target.realm}
        meant = sorted(name for name in there if is_misspelling(target.node, name))
        if meant and target.node not in there:
            hint = did_you_mean(target.node, meant)
            raise MeshUnavailableError(f"The mesh has no node {target.node!r}.{hint}", "not_found")

    async def withdraw(self, target: Target, request: MeshRequest) -> None:
        """Withdraw a request that another node, or a fallback, has taken: no reply is wanted."""
        with suppress(TransportError):  # a broker that does not answer may not have taken the request either
            await self.cancel(target, request, "its caller has asked another node", wants_reply=False)

    async def cancel(self, target: Target, request: MeshRequest, reason: str = "", *, wants_reply: bool = True) -> None:
        """Cancel a request."""
        cancellation = Cancellation(
            request_id=request.id,
            sender=request.sender,
            reason=reason,
            attempt=request.attempt,
            wants_reply=wants_reply,
        )
        await self._mesh.send(target.queue, cancellation)


def create_circuit_error(nodes: str, seconds: float | None) -> MeshUnavailableError:
    """Return the error for a request that is not sent, as the circuit is open."""
    moment = "" if seconds is None or seconds == inf else f" The next request may be sent in {seconds:.0f} s."
    return MeshUnavailableError(
        f"The circuit to {nodes} is open, after too many failures.{moment}",
        "circuit_open",
        None if seconds is None or seconds == inf else seconds,
    )


def raise_rejection(reply: MeshReply) -> None:
    """Raise the error of a request that was refused.

    Raises:
        RequestRejectedError: when it was.
    """
    if (rejection := reply.rejection) is not None:
        raise RequestRejectedError(
            f"{reply.node}: {rejection.message}",
            rejection.reason,
            queue_depth=rejection.queue_depth,
            retry_after=rejection.retry_after,
        )


def _describe_run(context: RunContext) -> dict[str, object]:
    fields: dict[str, object] = {}
    if (user := context.find(ChatUser)) is not None:
        fields["user"] = RequestUser.of(user)
    if context.deadline is not None:
        fields["deadline"] = context.deadline
    left = Budget() if context.meter is None else context.meter.left
    if left.cost is not None or left.tokens is not None:
        fields["budget"] = BudgetLeft(dollars=left.cost, tokens=left.tokens)
    if (hops := context.find(MeshHops)) is not None:
        fields["hops"] = hops.nodes
    return fields


def to_json(input: Input) -> JsonValue:
    """Return an input as text or JSON: of a conversation, the words of the user."""
    if isinstance(input, UserInput):
        return input.content
    if isinstance(input, UserMessage):
        return input.text
    if is_conversation(input):
        return "\n\n".join(message.text for message in input if isinstance(message, UserMessage))
    try:
        return cast("JsonValue", to_jsonable_python(input))
    except PydanticSerializationError as error:
        raise ConfigurationError(f"The input has no JSON form, so it cannot be sent: {error}") from error
