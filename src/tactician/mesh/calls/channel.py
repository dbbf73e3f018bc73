"""Channel of a mesh: a request is sent to a node, and its reply continues the run, which need not stay for it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from hashlib import sha256
from typing import Final, cast

from pydantic import JsonValue

from tactician.agents.remote import RemoteMessage, RemoteOutput, RemoteTask, RemoteWait
from tactician.clock import wait_for_event
from tactician.errors import MeshUnavailableError, RequestFailedError, RequestTimeoutError
from tactician.llm import ModelPrice, Usage
from tactician.mesh.call import MeshCall
from tactician.mesh.calls.dispatch import Dispatch
from tactician.mesh.calls.options import MeshCallOptions
from tactician.mesh.calls.requester import Requester, Target, raise_rejection
from tactician.mesh.calls.ticket import Ticket
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import RequestCompleted, RequestProgressed, RequestSent
from tactician.mesh.messages.message import ModelUsage
from tactician.mesh.messages.replies import MeshReply, ProgressReport
from tactician.mesh.messages.requests import Caching, MeshRequest
from tactician.mesh.transports.transport import TransportError
from tactician.runs import PendingRequest, RunContext, RunError, RunResult
from tactician.runs.outcomes.suspension import Response, Withdrawal

_ASK_AGAIN: Final = 30.0
"""Seconds without news after which a request is sent again, in case that a message was lost."""
_TIMED_OUT: Final = "timed_out"


class MeshChannel:
    """Channel of a request of a run. The checkpoint has the node, so that a run that is resumed asks no other.

    Args:
        capability: name of the capability.
        options: the options.
        mesh: the connection.
        context: context of the run.
    """

    def __init__(self, capability: str, options: MeshCallOptions, mesh: MeshConnection, context: RunContext) -> None:
        self._capability = capability
        self._options = options
        self._mesh = mesh
        self._requester = Requester(mesh)
        self._context = context
        self._request_id = f"{context.root_id}.{sha256(context.idempotency_key.encode()).hexdigest()[:24]}"
        self._queue = mesh.find_attached(context.store) if context.is_saved else None
        self._dispatch = Dispatch(mesh, capability, options, context)
        self._task: RemoteTask | None = None

    @property
    def address(self) -> str:
        """Kind and address of the broker."""
        return self._mesh.transport.label

    @property
    def timeout(self) -> None:
        """No limit: the options say how long the run waits."""
        return

    def open(self) -> AbstractAsyncContextManager[object]:
        """Do nothing: the mesh connects when it is first used."""
        return nullcontext()

    async def follow(self, message: RemoteMessage | None, task: RemoteTask) -> RemoteOutput | RemoteWait:
        """Send the request, and wait for the reply: for a moment, if the run can be suspended.

        Raises:
            RequestRejectedError: when the node refuses the request.
            RequestFailedError: when its work fails.
            RequestTimeoutError: when the reply does not come in time.
            MeshUnavailableError: when no node accepts the request.
        """
        self._task = task
        target = await self._find_target(task)
        with self._mesh.calls.listen(self._request_id, self._note_progress) as call:
            if message is None:  # it was sent before, and a node may work on it: no other is asked
                request = await self.prepare_request(target)
                self._context.emit(
                    RequestSent, request_id=self._request_id, capability=self._capability, node=target.node
                )
                await self._requester.send(target, request, self._context)
            else:
                query = self._dispatch.create_query(task.input, self._find_deadline())
                target, request = await self._dispatch.send(target, self, call, query)
            return await self._wait(target, request, call)

    async def cancel(self, task: RemoteTask) -> None:
        """Cancel the request, if it was sent."""
        if task.id:
            with suppress(TransportError):  # then the deadline of the request ends its work
                await self._requester.cancel(_read_target(task.data, self._requester), self._name_request())

    def create_request(self, question: JsonValue, request_id: str, path: tuple[str, ...]) -> PendingRequest:
        """Return the wait for the reply as a request of the run, by the id of the mesh request."""
        wait = cast("Mapping[str, JsonValue]", question)
        ends_at = cast("float | None", wait["ends_at"])
        return PendingRequest(
            id=self._request_id,
            kind="reply",
            prompt=f"waits for the reply of {wait['node']} to {self._capability}",
            path=path,
            deadline=ends_at,
            default=None if ends_at is None else {"status": _TIMED_OUT},
            withdrawal=Withdrawal(str(wait["queue"]), {name: wait[name] for name in ("node", "realm", "sender")}),
        )

    def encode_answer(self, response: Response) -> JsonValue:
        """Return the reply, which is JSON already."""
        return cast("JsonValue", response)

    async def read_reply(self, question: JsonValue, answer: JsonValue, task: RemoteTask) -> RemoteOutput:
        """Return the output of the reply.

        Raises:
            RequestFailedError: when the work has failed.
            RequestRejectedError: when the node has refused the request.
            RequestTimeoutError: when the reply has not come in time.
        """
        if isinstance(answer, dict) and answer.get("status") == _TIMED_OUT:
            target = _read_target(task.data, self._requester)
            self._task = task
            return await self._end_late(target, await self.prepare_request(target), MeshCall())
        return await self._conclude(MeshReply.model_validate(answer))

    async def restore_output(self, saved: JsonValue) -> object:
        """Return the output, also where the saved reply has only its key."""
        fields = cast("Mapping[str, JsonValue]", saved)
        return await self._mesh.values.unpack(fields.get("output"), cast("str | None", fields.get("reference")))

    def create_error(self, message: str, result: RunResult[None]) -> RunError:
        """Return the error of a task that has failed."""
        return RunError(message, result)

    async def _find_target(self, task: RemoteTask) -> Target:
        """Return the node; it is saved before it is asked, so that no other node is asked after a crash."""
        await self._mesh.open()
        if task.id:
            return _read_target(task.data, self._requester)
        target = await self._dispatch.find_first(task.input, self._find_deadline())
        await self.note_target(target)
        return target

    async def note_target(self, target: Target) -> None:
        """Save the node, so that no other is asked after a crash."""
        assert self._task is not None
        sent_at = cast("float", self._task.data.get("sent_at", self._mesh.clock.time()))
        await self._task.save_id(self._request_id, node=target.node, realm=target.realm, sent_at=sent_at)

    def _find_deadline(self) -> float | None:
        """Return the time by which the reply is needed, for the choice of a node."""
        deadline = self._options.deadline
        ends_at = None if deadline is None else self._mesh.clock.time() + deadline.total_seconds()
        return min((end for end in (ends_at, self._context.deadline) if end is not None), default=None)

    def _name_request(self) -> MeshRequest:
        return MeshRequest(id=self._request_id, sender=self._mesh.name, capability=self._capability)

    async def prepare_request(self, target: Target) -> MeshRequest:
        """Return the request for a node."""
        assert self._task is not None
        options, sent_at = self._options, cast("float", self._task.data["sent_at"])
        return await self._requester.create_request(
            self._request_id,
            self._capability,
            self._task.input,
            self._context,
            priority=options.priority,
            deadline=None if options.deadline is None else sent_at + options.deadline.total_seconds(),
            must_meet_deadline=options.must_meet_deadline or None,
            version=options.version,
            caching=None if (age := options.max_age) is None else Caching.of(age, options.cache_key),
            reply_to=self._queue or self._mesh.reply_queue,
            sent_at=sent_at,
        )

    async def _wait(self, target: Target, request: MeshRequest, call: MeshCall) -> RemoteOutput | RemoteWait:
        clock, ends_at = self._mesh.clock, self._find_end(request)
        patience = None if self._queue is None else clock.monotonic() + self._options.patience
        while True:
            left = float("inf") if ends_at is None else ends_at - clock.time()
            moment = _ASK_AGAIN if patience is None else max(0.0, patience - clock.monotonic())
            if await wait_for_event(call.is_answered, max(0.0, min(left, moment)), clock):
                assert call.reply is not None
                return await self._conclude(call.reply)
            if ends_at is not None and clock.time() >= ends_at:
                return await self._end_late(target, request, call)
            if patience is not None:
                return RemoteWait(
                    {
                        "node": target.node,
                        "realm": target.realm,
                        "sender": request.sender,
                        "queue": self._queue,
                        "ends_at": ends_at,
                    }
                )
            if not self._mesh.circuits.find(target.queue, self._options.breaker).is_open:
                with suppress(MeshUnavailableError):  # the request was accepted: its reply comes
                    await self._requester.send(target, request, self._context)

    async def _end_late(self, target: Target, request: MeshRequest, call: MeshCall) -> RemoteOutput:
        """End a call whose reply has not come in time.

        Raises:
            RequestTimeoutError: unless the caller takes the progress so far.
        """
        late = self._options.late
        if late != "background":
            with suppress(TransportError):
                await self._requester.cancel(target, request, "its caller has waited long enough")
        if late == "partial":
            return RemoteOutput("\n".join(call.progress), {"output": "\n".join(call.progress)})
        ticket = Ticket(self._mesh, target, request, call.acceptance)
        raise RequestTimeoutError(
            f"{target.node} has not answered the request for {self._capability} in time",
            ticket if late == "background" else None,
            call.progress,
        )

    async def _conclude(self, reply: MeshReply) -> RemoteOutput:
        raise_rejection(reply)
        usage = tuple(map(_restore_usage, reply.usage))
        self._context.emit(
            RequestCompleted,
            request_id=self._request_id,
            capability=self._capability,
            node=reply.node,
            status=reply.status,
        )
        if reply.failure is not None:
            for spent in usage:  # the work of a failure counts too
                self._context.tally.add(spent)
            text = f"{reply.node}: {self._capability} has failed: {reply.failure.message}"
            raise RequestFailedError(text, reply.failure.type, reply.request_id)
        output = await self._mesh.values.unpack(reply.output, reply.output_reference)
        return RemoteOutput(output, {"output": reply.output, "reference": reply.output_reference}, usage)

    def _note_progress(self, report: ProgressReport) -> None:
        self._context.emit(
            RequestProgressed,
            request_id=self._request_id,
            capability=self._capability,
            node=report.node,
            message=report.message,
            share=report.share,
        )

    def _find_end(self, request: MeshRequest) -> float | None:
        """Return when the caller no longer waits, in seconds since the epoch, if ever."""
        wait = self._options.wait
        waited = None if wait is None or request.sent_at is None else request.sent_at + wait.total_seconds()
        return min((end for end in (request.deadline, waited) if end is not None), default=None)


def _read_target(saved: Mapping[str, object], requester: Requester) -> Target:
    return requester.name_target(str(saved["node"]), str(saved["realm"]))


def _restore_usage(usage: ModelUsage) -> Usage:
    """Return the usage of a provider for the caller's run, at the price that the provider has paid."""
    total = usage.input_tokens + usage.output_tokens
    per_million = None if usage.cost is None or not total else usage.cost * 1e6 / total
    return Usage(
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.requests,
        usage.reasoning_tokens,
        model=usage.model,
        price=None if per_million is None else ModelPrice(per_million, per_million),
    )
