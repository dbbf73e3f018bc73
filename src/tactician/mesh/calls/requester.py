"""Requests: which node is asked, and what the request carries of the caller's run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, cast

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tactician.clock import wait_for_event
from tactician.errors import ConfigurationError, MeshUnavailableError, RequestRejectedError
from tactician.frozen import frozen
from tactician.llm import UserMessage
from tactician.mesh.call import MeshCall
from tactician.mesh.connection import MeshConnection
from tactician.mesh.directory import LOOK_AROUND
from tactician.mesh.hops import MeshHops
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.replies import MeshReply
from tactician.mesh.messages.requests import BudgetLeft, Cancellation, MeshRequest, RequestUser
from tactician.process import UserInput
from tactician.runs import Budget, ChatUser, Input, RunContext
from tactician.runs.context.telemetry import find_trace_parent
from tactician.runs.runnable import is_conversation
from tactician.suggestions import did_you_mean

ACCEPT_WITHIN: Final = 10.0
"""Seconds for which a caller waits for the acceptance of a request."""


@frozen
class Target:
    """Node that is asked.

    Attributes:
        node: its name.
        realm: its realm.
        queue: its queue.
    """

    node: str
    realm: str
    queue: str


class Requester:
    """Sender of requests.

    Args:
        mesh: the connection.
    """

    def __init__(self, mesh: MeshConnection) -> None:
        self._mesh = mesh

    async def find_target(
        self, capability: str, on: str | None, version: str | None = None, refused: Collection[Target] = ()
    ) -> Target:
        """Return the node to ask for a capability: the named node, or the node that is expected to end first.

        Args:
            capability: name of the capability.
            on: name of the node; any, when `None`.
            version: version that is needed; any, when `None`.
            refused: nodes that were asked before, and are not asked again.

        Raises:
            MeshUnavailableError: when no node offers it.
            ConfigurationError: when the transport has no cards, and no node is named.
        """
        await self._mesh.open()
        if on is not None:
            return self.name_target(on)
        if not self._mesh.transport.has_topics:
            raise ConfigurationError(f"{self._mesh.transport.label} has no cards of nodes: write on='kitchen'")
        wait = 0.0 if refused else LOOK_AROUND
        offers = await self._mesh.directory.find(self._mesh.realm, capability, wait=wait, version=version)
        targets = [self.name_target(offering.node, offering.realm) for offering in offers]
        if not (targets := [target for target in targets if target not in refused]):
            offerings = self._mesh.directory.list_offerings(self._mesh.realm)
            offered = sorted({offering.capability.name for offering in offerings})
            hint = did_you_mean(capability, offered) or f" It has: {', '.join(offered) or 'no work'}."
            wanted = capability if version is None else f"{capability} in the version {version}"
            raise MeshUnavailableError(f"No node of the mesh offers {wanted!r}.{hint}")
        return targets[0]

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
        packed = await self._mesh.values.pack(_to_json(input), "input")
        chosen = {name: value for name, value in fields.items() if value is not None}
        if (deadline := from_run.get("deadline")) is not None and "deadline" in chosen:
            chosen["deadline"] = min(cast("float", deadline), cast("float", chosen["deadline"]))
        return MeshRequest.model_validate(
            {
                "id": request_id,
                "sender": self._mesh.name,
                "capability": capability,
                "sent_at": self._mesh.clock.time(),
                **from_run,
                **packed,
                **chosen,
            }
        )

    async def send(self, target: Target, request: MeshRequest, context: RunContext | None = None) -> None:
        """Send a request.

        Raises:
            MeshUnavailableError: when the broker does not take it.
            RequestRejectedError: when it is too large.
        """
        trace_parent = None if context is None else find_trace_parent("") or context.trace_parent
        try:
            await self._mesh.send(target.queue, request, trace_parent)
        except MessageError as error:
            raise RequestRejectedError(str(error), "too_large") from error

    async def wait_for_acceptance(self, target: Target, request: MeshRequest, call: MeshCall, within: float) -> None:
        """Wait until the node has accepted or answered a request.

        Raises:
            MeshUnavailableError: when it has not in time.
            RequestRejectedError: when the node has refused it.
        """
        if not await wait_for_event(call.is_heard, within, self._mesh.clock):
            there = sorted({card.node for card in self._mesh.directory.list_cards()})
            hint = did_you_mean(target.node, there) or (f" Nodes that are there: {', '.join(there)}." if there else "")
            raise MeshUnavailableError(
                f"The node {target.node!r} has not accepted the request {request.id} within {within:g} s. Is it "
                f"running, and on {self._mesh.transport.label}?{hint}"
            )
        if call.reply is not None:
            raise_rejection(call.reply)

    async def cancel(self, target: Target, request: MeshRequest, reason: str = "") -> None:
        """Cancel a request."""
        cancellation = Cancellation(
            request_id=request.id, sender=request.sender, reason=reason, attempt=request.attempt
        )
        await self._mesh.send(target.queue, cancellation)


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


def _to_json(input: Input) -> JsonValue:
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
