"""Events of a mesh, on the bus of the platform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from tactician.events import Event
from tactician.events.span_facts import SpanFacts

_SEND: Final = "tactician.mesh.send"


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSent(Event):
    """A request is sent to a node.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
        reason: the reason for which this node is asked.
    """

    opens: ClassVar[str | None] = _SEND

    request_id: str
    capability: str
    node: str
    reason: str = ""

    @property
    def span_key(self) -> str:
        """The id of the request."""
        return self.request_id

    def describe_span(self) -> SpanFacts:
        """Return what is asked for, and where."""
        return SpanFacts(facts=_describe(self.capability, self.node))


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestAccepted(Event):
    """A node has accepted a request, before the work begins.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
        position: number of requests that are started before it.
    """

    request_id: str
    capability: str
    node: str
    position: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestResent(Event):
    """A request is sent again, with the same id, as the node has not answered.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
        attempt: number of the attempt that has failed, from 1.
        seconds: pause before the next attempt.
        reason: the failure.
    """

    request_id: str
    capability: str
    node: str
    attempt: int
    seconds: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakerOpened(Event):
    """The circuit to a node has opened: until a trial succeeds, this program sends no requests to it.

    Attributes:
        node: the node.
        seconds: time until the trial.
        reason: the failure that opened it.
    """

    node: str
    seconds: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakerClosed(Event):
    """The circuit to a node has closed: the trial has succeeded.

    Attributes:
        node: the node.
    """

    node: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FallbackUsed(Event):
    """The fallback answers in place of a node.

    Attributes:
        capability: what was asked for.
        fallback: name of the Runnable; `"text"` for a text.
        reason: the error for which the fallback answers.
    """

    capability: str
    fallback: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyReused(Event):
    """An earlier reply answers, without a request.

    Attributes:
        capability: what was asked for.
        age: seconds since the reply.
        max_age: seconds for which the caller takes a reply.
    """

    capability: str
    age: float
    max_age: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestProgressed(Event):
    """The node that works on a request has reported progress.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
        message: the progress, for people.
        share: share of the work that is done, from 0 to 1, if known.
    """

    request_id: str
    capability: str
    node: str
    message: str
    share: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestStarted(Event):
    """A node works on a request: it begins, or continues.

    Attributes:
        request_id: id of the request.
        capability: what was asked for.
        node: the node.
    """

    opens: ClassVar[str | None] = "tactician.mesh.handle"

    request_id: str
    capability: str
    node: str

    @property
    def span_key(self) -> str:
        """The id of the request."""
        return self.request_id

    def describe_span(self) -> SpanFacts:
        """Return what is asked for, and where."""
        return SpanFacts(facts=_describe(self.capability, self.node))


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkAnswered(Event):
    """A node has answered a request.

    Attributes:
        request_id: id of the request.
        capability: what was asked for.
        node: the node.
        outcome: `"completed"`, `"failed"`, or the reason for which it was refused.
    """

    request_id: str
    capability: str
    node: str
    outcome: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeMeasured(Event):
    """Load of an instance of a node, every ten seconds.

    Attributes:
        node: the node.
        instance: the instance.
        queue_depth: number of requests that wait.
        oldest_age: seconds for which the oldest of them has waited.
        running: number of requests that it works on.
        expected_wait: seconds until a new request would end; `None` before any was measured.
    """

    is_recorded: ClassVar[bool] = False

    node: str
    instance: str
    queue_depth: int
    oldest_age: float
    running: int
    expected_wait: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeJoined(Event):
    """An instance of a node has come to the mesh, as a node of this platform sees it.

    Attributes:
        node: name of the other node.
        instance: its instance.
        realm: its realm.
    """

    node: str
    instance: str
    realm: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeLeft(Event):
    """An instance of a node has left the mesh, or has not been heard of for half a minute.

    Attributes:
        node: name of the other node.
        instance: its instance.
        realm: its realm.
    """

    node: str
    instance: str
    realm: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleFired(Event):
    """Work of a schedule has begun.

    Attributes:
        schedule: name of the schedule.
        node: the node.
        tick: the moment that it is for, in seconds since the epoch.
    """

    schedule: str
    node: str
    tick: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectiveReceived(Event):
    """A directive has come to a node, or was withdrawn.

    Attributes:
        directive_id: id of the directive.
        target: what it is for.
        sender: the person or rule that directs.
        is_withdrawn: true when it no longer holds.
        command: name of the command, if it is a command.
    """

    directive_id: str
    target: str
    sender: str
    is_withdrawn: bool
    command: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestRejected(Event):
    """A node has refused a request.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
        reason: the reason, or `"not_accepted"` when the node did not answer in time.
        next_node: the node that is asked in its place, if any.
    """

    closes: ClassVar[str | None] = _SEND

    request_id: str
    capability: str
    node: str
    reason: str
    next_node: str | None = None

    @property
    def span_key(self) -> str:
        """The id of the request."""
        return self.request_id

    def describe_span(self) -> SpanFacts:
        """Return that it was refused."""
        return SpanFacts(status="rejected")


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCompleted(Event):
    """The reply to a request has come, or was sent.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
        status: `"completed"` or `"failed"`.
    """

    closes: ClassVar[str | None] = _SEND

    request_id: str
    capability: str
    node: str
    status: str

    @property
    def span_key(self) -> str:
        """The id of the request."""
        return self.request_id

    def describe_span(self) -> SpanFacts:
        """Return how it ended."""
        return SpanFacts(status=self.status)


def _describe(capability: str, node: str) -> dict[str, object]:
    return {"tactician.mesh.capability": capability, "tactician.mesh.node": node}
