"""Reports of a node to its callers: the replies when runs have ended, also those that another instance began."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from pydantic import JsonValue

from tactician.errors import RequestRejectedError, RunNotFoundError
from tactician.events.bus import EventEmitter
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import WorkAnswered
from tactician.mesh.messages.message import ModelUsage
from tactician.mesh.messages.replies import MeshReply, RequestFailure, StatusReport
from tactician.mesh.messages.requests import MeshRequest
from tactician.mesh.nodes.delivery import ReplyDelivery
from tactician.mesh.nodes.ledger import LedgerEntry, RequestLedger
from tactician.mesh.nodes.load import NodeLoad
from tactician.mesh.transports.transport import TransportError
from tactician.platform import Platform
from tactician.runs import RunStatus
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.secrets import Masking

_MOST_TEXT: Final = 2_000
_logger = get_logger(__name__)


class RunReporter:
    """Reporter of the runs of a node.

    Args:
        node: name of the node.
        platform: the platform of the runs.
        mesh: the connection.
        ledger: the accepted requests.
        load: the load of the instance.
        delivery: the deliverer of replies.
    """

    def __init__(
        self,
        node: str,
        platform: Platform,
        mesh: MeshConnection,
        ledger: RequestLedger,
        load: NodeLoad,
        delivery: ReplyDelivery,
    ) -> None:
        self._node = node
        self._platform = platform
        self._mesh = mesh
        self._ledger = ledger
        self._load = load
        self._delivery = delivery
        self._runs = RunStore(platform.store)
        self._masking = platform.services.find(Masking)
        self._error_types: dict[str, str] = {}

    def note_failure(self, run_key: str, error: Exception) -> None:
        """Remember the type of the error with which the work on a request has failed."""
        self._error_types[run_key] = type(error).__name__

    async def find_run(self, run_key: str) -> RunRecord | None:
        """Return the run of a request."""
        records = await self._runs.find(idempotency_key=run_key)
        return records[0] if records else None

    async def report(self, run_key: str) -> bool:
        """Send the reply to a request whose run has ended; return whether there is nothing more to do."""
        if (entry := await self._ledger.find(run_key)) is None or entry.reply is not None:
            return True
        record = await self.find_run(run_key)
        if record is None or not record.has_ended:
            return False
        reply = await self._create_reply(entry, record)
        try:
            await self._answer(entry, reply, record.header.trace_parent)
        except TransportError as error:
            _logger.warning("%s: the reply to %s is sent later: %s", self._node, entry.request.id, error)
            return False
        if all(used.cost is not None for used in reply.usage):
            self._load.note_cost(entry.request.capability, sum(used.cost or 0.0 for used in reply.usage))
        self._error_types.pop(run_key, None)
        return True

    async def repeat(self, entry: LedgerEntry, reply: MeshReply) -> None:
        """Send an earlier reply to a request that takes it.

        Raises:
            TransportError: when the broker does not answer.
        """
        await self._answer(entry, reply, entry.trace_parent)

    async def _answer(self, entry: LedgerEntry, reply: MeshReply, trace_parent: str | None) -> None:
        await self._delivery.deliver(entry.request, reply, trace_parent)
        await self._ledger.close(entry, reply)
        self.emit_answer(entry.request, reply.status)

    def emit_answer(self, request: MeshRequest, outcome: str) -> None:
        """Tell the listeners of the platform how a request ended: with its status, or the reason of a refusal."""
        EventEmitter(self._platform.services.bus, "", (self._node,), self._mesh.clock).emit(
            WorkAnswered,
            request_id=request.id,
            capability=request.capability,
            node=self._node,
            outcome=outcome,
        )

    async def describe(self, entry: LedgerEntry) -> StatusReport:
        """Return the status of a request."""
        request, reply = entry.request, entry.reply
        if reply is not None:
            return StatusReport(request_id=request.id, node=self._node, status=reply.status, reply=reply)
        position = self._load.find_position(request.run_key)
        record = await self.find_run(request.run_key)
        if record is not None and record.status is RunStatus.WAITING:
            prompts = tuple(pending.prompt[:200] for pending in record.header.pending[:20] if pending.prompt)
            return StatusReport(request_id=request.id, node=self._node, status="waiting", waits_for=prompts)
        is_queued = position is not None or record is None or record.status is RunStatus.NOT_STARTED
        return StatusReport(
            request_id=request.id,
            node=self._node,
            status="queued" if is_queued else "running",
            position=position,
            expected_end=self._load.expect_end(position or 0),
        )

    async def _create_reply(self, entry: LedgerEntry, record: RunRecord) -> MeshReply:
        usage = tuple(map(ModelUsage.of, record.header.spent["usage"]))
        started = record.header.started_at
        plain = MeshReply(
            request_id=entry.request.id,
            node=self._node,
            status="failed",
            usage=usage[:200],
            duration=None if started is None else max(0.0, record.updated_at - started),
            run_id=record.run_id,
        )
        if record.status is not RunStatus.COMPLETED:
            return plain.model_copy(update={"failure": self._describe_failure(entry.request.run_key, record)})
        try:
            output = await self._platform.output(record.run_id)
            fields: Mapping[str, object] = await self._mesh.values.pack(cast("JsonValue", output), "output")
        except RunNotFoundError:
            raise
        except RequestRejectedError as error:
            failure = RequestFailure(type="OutputTooLarge", message=str(error)[:_MOST_TEXT])
            return plain.model_copy(update={"failure": failure})
        return plain.model_copy(update={"status": "completed", **fields})

    def _describe_failure(self, run_key: str, record: RunRecord) -> RequestFailure:
        kind = self._error_types.get(run_key) or ("RunKilled" if record.status is RunStatus.KILLED else "RunError")
        text = self._masking.mask(record.header.failure or f"The run is {record.status}.")
        return RequestFailure(type=kind, message=text[:_MOST_TEXT])
