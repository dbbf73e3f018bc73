"""Messages of a provider about a request: acceptance, progress, the reply, and its status."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, StringConstraints

from tactician.mesh.messages.message import (
    Amount,
    Count,
    MeshMessage,
    MessagePart,
    ModelUsage,
    Moment,
    Name,
    Names,
    Text,
)
from tactician.mesh.messages.requests import RequestId

RejectionReason = Literal[
    "at_capacity",
    "unknown_capability",
    "disabled",
    "draining",
    "invalid_input",
    "not_allowed",
    "deadline",
    "too_large",
    "too_many_hops",
    "unsupported_version",
]


class RequestRejection(MessagePart):
    """Reason for which a request is refused.

    Attributes:
        reason: the reason.
        message: the reason in words, with what to do.
        queue_depth: number of requests that wait, when the node is at capacity.
        retry_after: seconds after which it makes sense to ask again.
        suggestions: nearest names of capabilities, or the places that are wrong in an input.
    """

    reason: RejectionReason
    message: Text
    queue_depth: Count | None = None
    retry_after: Amount | None = None
    suggestions: Annotated[tuple[Text, ...], Field(max_length=20)] = ()


class RequestFailure(MessagePart):
    """Error with which the work ended.

    Attributes:
        type: name of its class.
        message: its text, without secrets.
    """

    type: Annotated[str, StringConstraints(max_length=200)]
    message: Text


class RequestAcceptance(MeshMessage):
    """RequestAcceptance of a request, before the work begins.

    Attributes:
        request_id: id of the request.
        node: the node that has accepted it.
        position: number of requests that will be started before it.
        expected_end: time of the reply, from the measured throughput; `None` before anything was measured.
        run_id: id of the run.
    """

    EVENT: ClassVar[str] = "accepted"

    request_id: RequestId
    node: Name
    position: Count
    expected_end: Moment | None = None
    run_id: RequestId | None = None


class ProgressReport(MeshMessage):
    """Progress of the work on a request.

    Attributes:
        request_id: id of the request.
        node: the node that works on it.
        message: the progress, for people.
        share: share of the work that is done, from 0 to 1, if known.
    """

    EVENT: ClassVar[str] = "progress"

    request_id: RequestId
    node: Name
    message: Text = ""
    share: Annotated[float, Field(ge=0, le=1)] | None = None


class MeshReply(MeshMessage):
    """Reply to a request: its result, its failure, or why it was refused.

    Attributes:
        request_id: id of the request.
        node: the node that replies.
        status: how the request ended.
        output: the result.
        output_reference: key of the result in the store of the mesh, where it is too large for a message.
        failure: the error, when the work has failed.
        rejection: the reason, when the request was refused.
        usage: tokens by model, which count in the caller's run.
        duration: seconds from the acceptance to the end.
        run_id: id of the provider's run.
    """

    EVENT: ClassVar[str] = "reply"

    request_id: RequestId
    node: Name
    status: Literal["completed", "failed", "rejected"]
    output: JsonValue = None
    output_reference: RequestId | None = None
    failure: RequestFailure | None = None
    rejection: RequestRejection | None = None
    usage: Annotated[tuple[ModelUsage, ...], Field(max_length=200)] = ()
    duration: Amount | None = None
    run_id: RequestId | None = None


class StatusReport(MeshMessage):
    """State of a request.

    Attributes:
        request_id: id of the request.
        node: the node that was asked.
        status: the state; `"unknown"` for a request that the node has never seen.
        position: number of requests that will be started before it, while it waits.
        expected_end: time of the reply, if measured.
        reply: the reply, once there is one.
        waits_for: what people are asked before the work continues.
    """

    EVENT: ClassVar[str] = "status"

    request_id: RequestId
    node: Name
    status: Literal["unknown", "queued", "running", "waiting", "completed", "failed", "rejected"]
    position: Count | None = None
    expected_end: Moment | None = None
    reply: MeshReply | None = None
    waits_for: Names = ()
