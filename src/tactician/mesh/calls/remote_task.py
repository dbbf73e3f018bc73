"""Tasks of other programs as Runnables."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Final, Literal, cast, get_args

from typing_extensions import override

from tactician.agents import BaseRunnable
from tactician.clock import Timeout, wait_for_event
from tactician.conversation import Conversation
from tactician.errors import ConfigurationError, RequestFailedError, RequestTimeoutError
from tactician.frozen import frozen
from tactician.llm import ModelPrice, Usage
from tactician.mesh.call import MeshCall
from tactician.mesh.calls.requester import ACCEPT_WITHIN, Requester, Target, raise_rejection
from tactician.mesh.calls.ticket import Ticket
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import RequestAccepted, RequestCompleted, RequestSent
from tactician.mesh.messages.message import ModelUsage, Priority
from tactician.mesh.messages.replies import MeshReply
from tactician.mesh.messages.requests import MeshRequest
from tactician.mesh.transports.transport import TransportError
from tactician.runs import Budget, Input, PendingRequest, RunContext, RunResult, RunStatus
from tactician.runs.outcomes.suspension import Suspended
from tactician.runs.progress.store import RunStore
from tactician.suggestions import did_you_mean, suggest_options

PATIENCE: Final = 1.0
"""Seconds for which a run that can be suspended waits in memory."""
_ASK_AGAIN: Final = 30.0
"""Seconds without news after which a request is sent again, in case that a message was lost."""
_CANCEL_SECONDS: Final = 5.0
_TIMED_OUT: Final = "timed_out"
Late = Literal["error", "partial", "background"]


@frozen(kw_only=True)
class MeshCallOptions:
    """Options of a remote task.

    Attributes:
        on: name of the node; the soonest that offers the capability, when `None`.
        priority: rank among the requests that wait.
        deadline: time from the request on by which the reply is needed.
        wait: how long the caller waits; as long as it takes, when `None`.
        late: what happens then: an error, the progress so far as the result, or an error while the work goes on.
        version: version of the capability that is needed.
        accept_within: seconds for which the caller waits for the acceptance.
        patience: seconds for which a run waits in memory before it is suspended.
    """

    on: str | None = None
    priority: Priority = Priority.NORMAL
    deadline: timedelta | None = None
    wait: timedelta | None = None
    late: Late = "error"
    version: str | None = None
    accept_within: float = ACCEPT_WITHIN
    patience: float = PATIENCE

    @classmethod
    def create(cls, **options: object) -> MeshCallOptions:
        """Return the options.

        Raises:
            ConfigurationError: when a name or a value is not valid.
        """
        if unknown := [name for name in options if name not in cls.__annotations__]:
            hint = did_you_mean(unknown[0], cls.__annotations__)
            raise ConfigurationError(f"A call of the mesh has no option {unknown[0]!r}.{hint}")
        if (late := options.get("late", "error")) not in get_args(Late):
            raise ConfigurationError(f"late is {late!r}; write 'error', 'partial' or 'background'")
        build: Callable[..., MeshCallOptions] = cls
        return build(**options)


@suggest_options
class RemoteTaskRunnable(BaseRunnable[object]):
    """Task of another program, as a Runnable. Create it with `Mesh.task`.

    It fits wherever a Runnable does. In a run that a node of this program continues, it waits as for a person: the run
    is suspended, and the reply continues it, on any machine. What the provider uses counts in the run.

    Args:
        mesh: the connection.
        name: name of the capability.
        options: the options.
        description: purpose of the task.
    """

    def __init__(self, mesh: MeshConnection, name: str, options: MeshCallOptions, description: str = "") -> None:
        self.name = name
        self.description = description or f"Asks {options.on or 'another program'} for {name}."
        self.options = options
        self._mesh = mesh
        self._requester = Requester(mesh)

    @override
    @suggest_options
    async def run(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        priority: Priority | None = None,
        deadline: timedelta | None = None,
    ) -> RunResult[object]:
        """Ask for the work, and wait for the reply.

        Args:
            input: text, or what has a JSON form.
            context: the context; see `BaseRunnable.run`.
            budget: the budget of the run, whose rest bounds the provider.
            conversation: the conversation so far.
            priority: rank among the requests that wait at the node.
            deadline: time from now by which the reply is needed.

        Raises:
            RequestRejectedError: when the node refuses the request.
            RequestFailedError: when its work fails.
            RequestTimeoutError: when the reply does not come in time.
            MeshUnavailableError: when no node accepts the request.
        """
        if priority is None and deadline is None:
            return await super().run(input, context=context, budget=budget, conversation=conversation)
        changed = copy(self)
        changed.options = replace(
            self.options, priority=priority or self.options.priority, deadline=deadline or self.options.deadline
        )
        return await BaseRunnable.run(changed, input, context=context, budget=budget, conversation=conversation)

    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        return await _RemoteCall(self.name, self.options, self._mesh, self._requester, context).run(input)


class _RemoteCall:
    """Request of a run. Its checkpoint has the node and the reply, so that a run that is resumed asks no other node."""

    def __init__(
        self, capability: str, options: MeshCallOptions, mesh: MeshConnection, requester: Requester, context: RunContext
    ) -> None:
        assert context.checkpoint is not None
        self._capability = capability
        self._options = options
        self._mesh = mesh
        self._requester = requester
        self._context = context
        self._checkpoint = context.checkpoint
        self._request_id = f"{context.root_id}.{sha256(context.idempotency_key.encode()).hexdigest()[:24]}"
        self._queue = mesh.find_attached(context.store) if context.is_saved else None

    async def run(self, input: Input) -> RunResult[object]:
        if isinstance(saved := self._checkpoint.data.get("reply"), dict):
            return await self._read_output(MeshReply.model_validate(saved))
        if isinstance(answer := self._context.responses.get(self._request_id), Mapping):
            return await self._conclude_answer(answer)
        is_new = "node" not in self._checkpoint.data
        target = await self._find_target()
        request = await self._create_request(input)
        with self._mesh.calls.listen(self._request_id) as call:
            await self._requester.send(target, request, self._context)
            self._context.emit(RequestSent, request_id=self._request_id, capability=self._capability, node=target.node)
            try:
                if is_new:
                    await self._wait_for_acceptance(target, request, call)
                return await self._wait(target, request, call)
            except asyncio.CancelledError:
                await self._cancel_unless_resumed(target, request)
                raise

    async def _find_target(self) -> Target:
        saved = self._checkpoint.data
        if "node" in saved:
            return self._requester.name_target(str(saved["node"]), str(saved["realm"]))
        target = await self._requester.find_target(self._capability, self._options.on)
        self._checkpoint.set(node=target.node, realm=target.realm, sent_at=self._mesh.clock.time())
        await self._context.save_step("mesh request", self._capability, target.node)
        return target

    async def _create_request(self, input: Input) -> MeshRequest:
        options, deadline = self._options, self._options.deadline
        return await self._requester.create_request(
            self._request_id,
            self._capability,
            input,
            self._context,
            priority=options.priority,
            deadline=None if deadline is None else self._sent_at + deadline.total_seconds(),
            version=options.version,
            reply_to=self._queue or self._mesh.reply_queue,
        )

    async def _wait_for_acceptance(self, target: Target, request: MeshRequest, call: MeshCall) -> None:
        await self._requester.wait_for_acceptance(target, request, call, self._options.accept_within)
        if (acceptance := call.acceptance) is not None:
            self._context.emit(
                RequestAccepted,
                request_id=self._request_id,
                capability=self._capability,
                node=acceptance.node,
                position=acceptance.position,
            )

    async def _wait(self, target: Target, request: MeshRequest, call: MeshCall) -> RunResult[object]:
        """Wait for the reply: for a moment, if the run can be suspended.

        Raises:
            Suspended: when the moment is over.
        """
        clock = self._mesh.clock
        patience = None if self._queue is None else clock.monotonic() + self._options.patience
        while True:
            left = self._count_seconds_left(request)
            moment = _ASK_AGAIN if patience is None else max(0.0, patience - clock.monotonic())
            if await wait_for_event(call.is_answered, max(0.0, min(left, moment)), clock):
                assert call.reply is not None
                return await self._conclude(call.reply)
            if self._count_seconds_left(request) <= 0:
                return await self._end_late(target, request, call)
            if patience is not None:
                raise Suspended(self._create_pending(target, request))
            await self._requester.send(target, request, self._context)

    def _create_pending(self, target: Target, request: MeshRequest) -> PendingRequest:
        ends_at = min((end for end in (request.deadline, self._wait_ends_at) if end is not None), default=None)
        return PendingRequest(
            id=self._request_id,
            kind="reply",
            prompt=f"waits for the reply of {target.node} to {self._capability}",
            path=self._context.path,
            deadline=ends_at,
            default=None if ends_at is None else {"status": _TIMED_OUT},
        )

    async def _conclude_answer(self, answer: Mapping[str, object]) -> RunResult[object]:
        if answer.get("status") != _TIMED_OUT:
            return await self._conclude(MeshReply.model_validate(answer))
        target = await self._find_target()
        request = await self._create_request(None)
        return await self._end_late(target, request, MeshCall())

    async def _end_late(self, target: Target, request: MeshRequest, call: MeshCall) -> RunResult[object]:
        """End a call whose reply has not come in time.

        Raises:
            RequestTimeoutError: unless the progress so far is wanted.
        """
        late = self._options.late
        if late != "background":
            await self._cancel(target, request, "its caller has waited long enough")
        if late == "partial":
            return self._create_result("\n".join(call.progress))
        ticket = Ticket(self._mesh, target, request, call.acceptance)
        raise RequestTimeoutError(
            f"{target.node} has not answered the request for {self._capability} in time",
            ticket if late == "background" else None,
            call.progress,
        )

    async def _conclude(self, reply: MeshReply) -> RunResult[object]:
        """Save a reply, and return its output.

        Raises:
            RequestRejectedError: when the node has refused the request.
            RequestFailedError: when its work has failed.
        """
        raise_rejection(reply)
        for usage in reply.usage:
            self._context.tally.add(_restore_usage(usage))
        self._context.emit(
            RequestCompleted,
            request_id=self._request_id,
            capability=self._capability,
            node=reply.node,
            status=reply.status,
        )
        if reply.failure is not None:
            text = f"{reply.node}: {self._capability} has failed: {reply.failure.message}"
            raise RequestFailedError(text, reply.failure.type, reply.request_id)
        self._checkpoint.set(reply=reply.model_dump(mode="json", by_alias=True, exclude_defaults=True))
        await self._context.save_step("mesh reply", self._capability, reply.node)
        return await self._read_output(reply)

    async def _read_output(self, reply: MeshReply) -> RunResult[object]:
        return self._create_result(await self._mesh.values.unpack(reply.output, reply.output_reference))

    def _create_result(self, output: object) -> RunResult[object]:
        return RunResult(output, tally=self._context.tally, run_id=self._context.run_id)

    async def _cancel_unless_resumed(self, target: Target, request: MeshRequest) -> None:
        """Cancel the request, unless the run is saved and will be resumed."""
        if self._context.is_saved:
            record = await RunStore(self._context.store).load_readable(self._context.root_id)
            if record is not None and record.status is not RunStatus.KILLED:
                return
        await self._cancel(target, request, "its caller was cancelled")

    async def _cancel(self, target: Target, request: MeshRequest, reason: str) -> None:
        try:
            with Timeout(_CANCEL_SECONDS, self._mesh.clock):
                await self._requester.cancel(target, request, reason)
        except (TimeoutError, TransportError):
            return  # the deadline of the request ends its work

    def _count_seconds_left(self, request: MeshRequest) -> float:
        ends = [end for end in (request.deadline, self._wait_ends_at) if end is not None]
        return min(ends, default=float("inf")) - self._mesh.clock.time()

    @property
    def _sent_at(self) -> float:
        return cast("float", self._checkpoint.data["sent_at"])

    @property
    def _wait_ends_at(self) -> float | None:
        return None if self._options.wait is None else self._sent_at + self._options.wait.total_seconds()


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
