"""Messages of a caller: requests for work, their cancellation, and questions about them."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, JsonValue, StringConstraints

from tactician.mesh.messages.message import Amount, Count, MeshMessage, MessagePart, Moment, Name, Priority, Text
from tactician.runs import ChatUser

MAX_KEY: Final = 300
"""Length of the longest key of a reply."""
MAX_HOPS: Final = 8
"""Number of nodes that a request may pass through."""

RequestId = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Delivery(MessagePart):
    """Way of a reply. Create it with a method, such as `Delivery.topic("hotel.repairs")`.

    Attributes:
        method: direct to the caller, to a queue, to a topic, to a webhook, to the provider's store, or none.
        address: queue, topic or URL.
        secret: name of the secret with which the provider signs the webhook; never the secret itself.
    """

    method: Literal["direct", "queue", "topic", "webhook", "store", "none"] = "direct"
    address: Annotated[str, StringConstraints(max_length=2_000)] = ""
    secret: Name | None = None

    @classmethod
    def direct(cls) -> Delivery:
        """Return the way back to the caller, who waits."""
        return cls()

    @classmethod
    def queue(cls, name: str) -> Delivery:
        """Return the way to a queue of the mesh, from which any program may receive the reply."""
        return cls(method="queue", address=name)

    @classmethod
    def topic(cls, name: str) -> Delivery:
        """Return the way to all subscribers of a topic."""
        return cls(method="topic", address=name)

    @classmethod
    def webhook(cls, url: str, *, secret: str | None = None) -> Delivery:
        """Return the way to an address that the provider posts the reply to.

        Args:
            url: the address.
            secret: name of a secret that the provider knows, `Mesh(webhook_secrets=...)`: it signs what it posts, by
                the specification of Standard Webhooks.
        """
        return cls(method="webhook", address=url, secret=secret)

    @classmethod
    def store(cls) -> Delivery:
        """Return the way to the store of the provider, which a ticket asks for the reply."""
        return cls(method="store")

    @classmethod
    def none(cls) -> Delivery:
        """Return no way: nobody wants the reply."""
        return cls(method="none")


class BudgetLeft(MessagePart):
    """Rest of the caller's budget, which bounds the provider's run.

    Attributes:
        dollars: US dollars.
        tokens: number of tokens.
    """

    dollars: Amount | None = None
    tokens: Count | None = None


class Caching(MessagePart):
    """Use of an earlier reply, which the provider has given to the same caller for the same user.

    Attributes:
        max_age: seconds for which a reply may be used again.
        key: key of the reply; by default the capability and the input.
    """

    max_age: Amount
    key: Annotated[str, StringConstraints(max_length=MAX_KEY)] | None = None

    @classmethod
    def of(cls, max_age: timedelta, key: str | None) -> Caching:
        """Return the use of a reply that is not older than a time."""
        return cls(max_age=max_age.total_seconds(), key=key)


class RequestUser(MessagePart):
    """User that a request works for.

    Attributes:
        id: id of the user.
        name: name of the user.
        attributes: further facts about the user.
    """

    id: Annotated[str, StringConstraints(max_length=300)]
    name: Text | None = None
    attributes: dict[Name, Text] | None = Field(default=None, max_length=50)

    @classmethod
    def of(cls, user: ChatUser) -> RequestUser:
        """Return a user as a message names it."""
        return cls(id=user.id, name=user.name, attributes=None if user.attributes is None else dict(user.attributes))

    def restore(self) -> ChatUser:
        """Return the user for a run."""
        return ChatUser(self.id, self.name, self.attributes)


class MeshRequest(MeshMessage):
    """Request for work. The provider runs a request once, however often it comes.

    Attributes:
        id: id of the request, which is the idempotency key of the run.
        sender: the node or client that asks.
        recipient: the node that is asked.
        capability: name of what is asked for.
        input: text, or JSON in the schema of the capability.
        input_reference: key of the input in the store of the mesh, where it is too large for a message.
        priority: rank among the requests that wait.
        deadline: time by which the reply is needed.
        must_meet_deadline: true to be rejected at once when the deadline cannot be met.
        sent_at: time by the clock of the caller.
        delivery: the way of the reply.
        reply_to: queue of the caller, for what is sent to the caller directly.
        user: whom the request works for.
        budget: rest of the caller's budget.
        caching: use of an earlier reply.
        attempt: token of a caller who wants the work done again: each token is a run of its own.
        hops: nodes that the request has passed through, outermost first.
        version: version of the capability that is needed.
        realm: realm of the caller.
    """

    EVENT: ClassVar[str] = "request"

    id: RequestId
    sender: Name = Field(validation_alias="from", serialization_alias="from")
    recipient: Name | None = Field(default=None, validation_alias="to", serialization_alias="to")
    capability: Name
    input: JsonValue = None
    input_reference: RequestId | None = None
    priority: Priority = Priority.NORMAL
    deadline: Moment | None = None
    must_meet_deadline: bool = False
    sent_at: Moment | None = None
    delivery: Delivery = Delivery()
    reply_to: Name | None = None
    user: RequestUser | None = None
    budget: BudgetLeft | None = None
    caching: Caching | None = None
    attempt: Annotated[str, StringConstraints(max_length=100)] = ""
    hops: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    version: Name | None = None
    realm: Name | None = None

    @property
    def run_key(self) -> str:
        """Idempotency key of the run."""
        return _name_run(self.id, self.attempt)


class Cancellation(MeshMessage):
    """Cancellation of a request by its caller.

    Attributes:
        request_id: id of the request.
        sender: the caller.
        reason: the reason, for people.
        attempt: token of the request, as the request has it.
        wants_reply: false when the caller has the work done elsewhere, so that a reply would only confuse.
    """

    EVENT: ClassVar[str] = "cancel"

    request_id: RequestId
    sender: Name = Field(validation_alias="from", serialization_alias="from")
    reason: Text = ""
    attempt: Annotated[str, StringConstraints(max_length=100)] = ""
    wants_reply: bool = True

    @property
    def run_key(self) -> str:
        """Idempotency key of the run."""
        return _name_run(self.request_id, self.attempt)


class StatusQuery(MeshMessage):
    """Question about the state of a request.

    Attributes:
        request_id: id of the request.
        sender: the caller.
        reply_to: queue for the answer.
        attempt: token of the request, as the request has it.
    """

    EVENT: ClassVar[str] = "query"

    request_id: RequestId
    sender: Name = Field(validation_alias="from", serialization_alias="from")
    reply_to: Name
    attempt: Annotated[str, StringConstraints(max_length=100)] = ""

    @property
    def run_key(self) -> str:
        """Idempotency key of the run."""
        return _name_run(self.request_id, self.attempt)


def _name_run(request_id: str, attempt: str) -> str:
    return f"mesh/{request_id}/{attempt}" if attempt else f"mesh/{request_id}"
