"""Events of a mesh, on the bus of the platform."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSent(Event):
    """A request was sent to a node.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
    """

    request_id: str
    capability: str
    node: str


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
class RequestRejected(Event):
    """A node has refused a request.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
        reason: the reason.
    """

    request_id: str
    capability: str
    node: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCompleted(Event):
    """The reply to a request has come, or was sent.

    Attributes:
        request_id: id of the request.
        capability: what is asked for.
        node: the node.
        status: `"completed"` or `"failed"`.
    """

    request_id: str
    capability: str
    node: str
    status: str
