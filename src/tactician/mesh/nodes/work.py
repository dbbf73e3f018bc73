"""Work of a node: its worker continues the runs of requests, and their replies are sent as they end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from tactician.clock import pause, wait_for_event
from tactician.errors import StoreError
from tactician.llm import LanguageModel
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import RequestStarted
from tactician.mesh.nodes.control import NodeControl
from tactician.mesh.nodes.directives import NodeDirectives
from tactician.mesh.nodes.held import HeldMessages
from tactician.mesh.nodes.ledger import RequestLedger
from tactician.mesh.nodes.load import NodeLoad
from tactician.mesh.nodes.offer import Offer, OfferedInput, OfferedRunnable
from tactician.mesh.nodes.progress import ProgressReporter
from tactician.mesh.nodes.reporter import RunReporter
from tactician.mesh.nodes.tiers import create_tiered
from tactician.mesh.nodes.withdrawals import WithdrawalSender
from tactician.mesh.transports.transport import TransportError
from tactician.platform import Platform, Worker
from tactician.prompts.contributors import ActiveDirectives
from tactician.runs import RunContext
from tactician.runs.context.services import ModelFilter
from tactician.runs.progress.record import RunRecord

_SWEEP_EVERY = 2.0
_RUN_PREFIX = "mesh/"
_logger = get_logger(__name__)


class NodeWork:
    """Work of an instance of a node.

    Args:
        node: name of the node.
        instance: id of the instance.
        platform: the platform of the runs.
        mesh: the connection.
        offers: what the node offers, by name.
        ledger: the accepted requests.
        load: the load of the instance.
        reporter: the reporter of the runs.
        held: the messages that are held until their replies are sent.
        withdrawals: the sender of cancellations for callers that were killed.
        directives: the directives of the node.
        control: the control of the node.
        lease: seconds for which a run is claimed.
    """

    def __init__(
        self,
        node: str,
        instance: str,
        platform: Platform,
        mesh: MeshConnection,
        offers: Mapping[str, OfferedRunnable],
        ledger: RequestLedger,
        load: NodeLoad,
        reporter: RunReporter,
        held: HeldMessages,
        withdrawals: WithdrawalSender,
        directives: NodeDirectives,
        control: NodeControl,
        lease: float,
    ) -> None:
        self._node = node
        self._instance = instance
        self._platform = platform
        self._mesh = mesh
        self._offers = offers
        self._ledger = ledger
        self._load = load
        self._reporter = reporter
        self._held = held
        self._withdrawals = withdrawals
        self._directives = directives
        self._control = control
        self._worker = Worker(
            platform,
            name=f"{node}-{instance}",
            lease=lease,
            max_parallel=lambda: load.max_concurrent,
            find_names=self._find_names,
            on_rest=self._report,
        )
        self._stop = asyncio.Event()
        self._ended = asyncio.Event()
        self._working: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Look for runs at once."""
        self._worker.wake()

    def start(self) -> None:
        """Continue runs from now on."""
        self._working = asyncio.create_task(self._worker.run(self._stop))
        self._working.add_done_callback(lambda _: self._ended.set())

    async def stop(self, seconds: float) -> None:
        """Take no further runs, and finish those that run; interrupt them after so many seconds."""
        self._stop.set()
        if self._working is not None:
            if not await wait_for_event(self._ended, seconds, self._mesh.clock):
                self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    def note_start(self, request: OfferedInput, capability: str, context: RunContext) -> RunContext:
        """Note that the work on a request begins or continues, and return the context of the work."""
        self._load.start(request["key"], capability)
        context.emit(RequestStarted, request_id=request["id"], capability=capability, node=self._node)
        offer = self._offers[capability].offer
        context = context.inside({ActiveDirectives: ActiveDirectives(lambda: self._directives.find(offer))})
        if self._control.has_tiers:
            context = context.inside({ModelFilter: self._create_filter(offer, context)})
        if (reply_to := request.get("reply_to")) is None:
            return context
        return context.with_listeners(ProgressReporter(self._mesh, self._node, request["id"], reply_to))

    def _create_filter(self, offer: Offer, context: RunContext) -> ModelFilter:
        """Return the filter by which each call to a model goes to the model of the tier."""
        begun, earlier = self._control.find_tier(offer), context.find(ModelFilter)

        def choose() -> str | None:
            return self._control.find_tier(offer, begun, is_running=True)

        def wrap(model: LanguageModel) -> LanguageModel:
            return create_tiered(model if earlier is None else earlier.wrap(model), choose, context.models)

        return ModelFilter(wrap) if earlier is None else replace(earlier, wrap=wrap)

    def note_failure(self, run_key: str, error: Exception) -> None:
        """Note the error with which the work on a request has failed."""
        self._reporter.note_failure(run_key, error)

    async def report_if_ended(self, run_key: str) -> None:
        """Reply to a request whose work has ended while its message was taken."""
        if not self._load.is_running(run_key) and not self._load.is_waiting(run_key):
            await self._report_key(run_key)

    async def keep_sweeping(self) -> None:
        """Send what nobody has sent, until it is cancelled: owed replies, and cancellations for killed callers."""
        while True:
            try:
                while (claimed := await self._ledger.claim_forgotten(self._instance)) is not None:
                    await self._report_key(claimed[0].request.run_key)
                await self._withdrawals.send_all()
            except (StoreError, TransportError) as error:
                _logger.warning("%s: %s", self._node, error)
            await pause(_SWEEP_EVERY, self._mesh.clock)

    async def _report(self, record: RunRecord) -> None:
        """Reply to a request whose run this instance has continued."""
        key = record.idempotency_key or ""
        if key.startswith(_RUN_PREFIX):
            self._load.finish(key)
            await self._report_key(key)

    async def _report_key(self, run_key: str) -> None:
        try:
            if await self._reporter.report(run_key):
                await self._held.acknowledge(run_key)
        except (StoreError, TransportError) as error:
            _logger.warning("%s: a reply is sent later: %s", self._node, error)

    def _find_names(self) -> list[str]:
        """Return the names of runs that may start: no capability exceeds its bound or is paused."""
        full = {
            offered.name
            for offered in self._offers.values()
            if (
                (bound := offered.offer.max_concurrent) is not None
                and self._load.count_running(offered.offer.name) >= bound
            )
            or self._control.is_paused(offered.offer)
        }
        return [name for name in self._platform.run_names if name not in full]
