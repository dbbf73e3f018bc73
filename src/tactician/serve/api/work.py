"""Work for the nodes of a mesh over HTTP: requests, their status, and their cancellation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from tactician.events.event import new_id
from tactician.mesh import Delivery, Priority
from tactician.mesh.calls.sent import SentRequest, SentRequests
from tactician.mesh.calls.ticket import Ticket
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.replies import MeshReply, StatusReport
from tactician.serve.api.forms.forms import Form, Text, UsageForm
from tactician.serve.api.forms.visibility import READERS, sees_run
from tactician.serve.api.serving.idempotency import scope_key
from tactician.serve.api.serving.operations import ApiOperation, Call
from tactician.serve.problems import ApiError
from tactician.stores import DocumentStore


class ReplyHookForm(Form):
    """Address that the node posts the reply to.

    Attributes:
        url: the address.
        secret: name of the secret with which the node signs what it posts.
    """

    url: Annotated[str, Field(min_length=1, max_length=2_000)]
    secret: Text | None = None


class WorkForm(Form):
    """Request for work.

    Attributes:
        capability: name of the capability.
        input: text, or JSON in its schema.
        node: name of the node; the soonest that offers the capability, by default.
        priority: rank among the requests that wait.
        seconds: time by which the reply is needed, from now.
        must_meet_deadline: true to be refused at once when the node does not expect the reply in these seconds.
        version: version of the capability.
        webhook: address for the reply; without it, the status has the reply.
        idempotency_key: key of the request. With a key that was used before, the earlier request is the answer.
    """

    capability: Annotated[str, Field(min_length=1, max_length=200)]
    input: JsonValue = None
    node: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    priority: Literal["CRITICAL", "HIGH", "NORMAL", "LOW"] = "NORMAL"
    seconds: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    must_meet_deadline: bool = False
    version: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    webhook: ReplyHookForm | None = None
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _check_deadline(self) -> WorkForm:
        if self.must_meet_deadline and self.seconds is None:
            raise ValueError("must_meet_deadline needs seconds, the time by which the reply is needed")
        return self


class WorkStatusForm(Form):
    """Request as it stands at its node.

    Attributes:
        id: id of the request.
        capability: name of the capability.
        node: the node that works on it.
        status: `"accepted"`, `"queued"`, `"running"`, `"waiting"` for people, `"completed"`, `"failed"`, `"rejected"`;
            `"unknown"` when the node has forgotten it.
        position: number of requests that are started before it.
        expected_end: time of the reply in seconds since the epoch, if measured.
        waits_for: what people are asked before the work continues.
        output: the result.
        failure: why the work has failed, or was refused.
        usage: what the work has used.
    """

    id: str
    capability: str
    node: str
    status: str
    position: int | None = None
    expected_end: float | None = None
    waits_for: tuple[str, ...] = ()
    output: JsonValue = None
    failure: str | None = None
    usage: UsageForm | None = None


class WorkDesk:
    """Operations of work for the nodes of a mesh.

    Args:
        requests: the requests that callers have sent.
    """

    def __init__(self, requests: SentRequests) -> None:
        self._requests = requests

    async def request_work(self, call: Call) -> WorkStatusForm:
        """Ask a node of the mesh for work, and return once the node has accepted."""
        form = await call.read(WorkForm)
        deliver = Delivery.store() if (hook := form.webhook) is None else Delivery.webhook(hook.url, secret=hook.secret)
        ticket = await self._requests.send(
            scope_key(call.person, form.idempotency_key) or new_id(),
            form.capability,
            form.input,
            on=form.node,
            user=call.person.user,
            delivery=deliver,
            priority=Priority[form.priority],
            version=form.version,
            must_meet_deadline=form.must_meet_deadline,
            deadline=None if form.seconds is None else self._requests.clock.time() + form.seconds,
        )
        return WorkStatusForm(
            id=ticket.request_id,
            capability=form.capability,
            node=ticket.node,
            status="accepted",
            position=ticket.position,
            expected_end=ticket.expected_at,
        )

    async def show_work(self, call: Call) -> WorkStatusForm:
        """Return the status of a request, with its output once the work has completed."""
        sent = await self._find(call)
        ticket = self._requests.create_ticket(sent)
        return await _describe(call, sent, ticket, await ticket.status())

    async def cancel_work(self, call: Call) -> WorkStatusForm:
        """Cancel a request: its work ends, wherever it runs."""
        sent = await self._find(call)
        ticket = self._requests.create_ticket(sent)
        await ticket.cancel(f"cancelled by {call.person.name}")
        return await _describe(call, sent, ticket, await ticket.status())

    async def _find(self, call: Call) -> SentRequest:
        sent = await self._requests.find(request_id := call.find_id("work_id"))
        if sent is None or not sees_run(call.person, sent.user):
            raise ApiError(404, f"There is no work with the id {request_id!r}.")
        return sent


async def _describe(call: Call, sent: SentRequest, ticket: Ticket, report: StatusReport) -> WorkStatusForm:
    reply = report.reply
    return WorkStatusForm(
        id=sent.request.id,
        capability=sent.request.capability,
        node=sent.target.node,
        status=report.status,
        position=report.position,
        expected_end=report.expected_end,
        waits_for=tuple(map(call.server.masking.mask, report.waits_for)),
        output=None if reply is None or reply.status != "completed" else await ticket.read(reply),
        failure=None if reply is None else _find_failure(reply),
        usage=None if reply is None else _add_up(reply),
    )


def _find_failure(reply: MeshReply) -> str | None:
    problem = reply.failure or reply.rejection
    return None if problem is None else problem.message


def _add_up(reply: MeshReply) -> UsageForm:
    costs = [usage.cost for usage in reply.usage]
    return UsageForm(
        input_tokens=sum(usage.input_tokens for usage in reply.usage),
        output_tokens=sum(usage.output_tokens for usage in reply.usage),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def create_work_operations(mesh: MeshConnection, store: DocumentStore) -> tuple[ApiOperation, ...]:
    """Return the operations of work for the nodes of a mesh, whose store keeps which node has which request."""
    desk, path = WorkDesk(SentRequests(mesh, store)), "/api/work/{work_id}"
    return (
        ApiOperation(
            "POST", "/api/work", desk.request_work, "Ask for work", WorkStatusForm, "start", WorkForm, status=202
        ),
        ApiOperation("GET", path, desk.show_work, "Show the status of work", WorkStatusForm, READERS),
        ApiOperation("DELETE", path, desk.cancel_work, "Cancel work", WorkStatusForm, "start"),
    )
