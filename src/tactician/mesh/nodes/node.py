"""Node: the presence of a platform on a mesh."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

from tactician.clock import pause, wait_for_event
from tactician.errors import ConfigurationError, StoreError
from tactician.events.event import new_id
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.cards import CapabilityCard, NodeCard
from tactician.mesh.messages.replies import MeshReply
from tactician.mesh.nodes.delivery import ReplyDelivery
from tactician.mesh.nodes.intake import Intake
from tactician.mesh.nodes.ledger import RequestLedger
from tactician.mesh.nodes.load import NodeLoad
from tactician.mesh.nodes.offer import Offer, OfferedRunnable
from tactician.mesh.nodes.replies import ReplyTaker
from tactician.mesh.nodes.reporter import RunReporter
from tactician.mesh.transports.transport import LeasedMessage, TransportError
from tactician.platform import Platform, Worker
from tactician.runs.progress.record import RunRecord
from tactician.suggestions import suggest_options

_ANNOUNCE_EVERY: Final = 10.0
_SWEEP_EVERY: Final = 5.0
_RUN_PREFIX: Final = "mesh/"
_DRAIN: Final = 300.0
_logger = get_logger(__name__)


class NodeState(StrEnum):
    """State of an instance of a node."""

    STARTING = "STARTING"
    READY = "READY"
    DRAINING = "DRAINING"
    STOPPED = "STOPPED"


@suggest_options
class Node:
    """Presence of a platform on a mesh: it offers capabilities, and turns requests for them into runs.

    Several programs with the same name are instances of the node, which share its work.

    Args:
        name: name of the node.
        platform: the platform, with a store.
        mesh: the mesh.
        max_concurrent: number of requests that the instance works on at once.
        queue_limit: number of requests that may wait.
        shareable: true when nodes of other realms may ask.
        tiers: names of models by the names of tiers.
        lease: time after which a message of an instance that has died goes to another instance.
        shares_store: true when losing this machine does not lose the store: then a message is acknowledged once its
            run is saved, and else after the reply. By default, true for PostgreSQL.
        allows_private_webhooks: true when replies may be posted to addresses that are not public.

    Attributes:
        name: the name.
        instance: id of this instance.
        state: its state.

    Raises:
        ConfigurationError: when the platform has no store, or a number is too small.
    """

    def __init__(
        self,
        name: str,
        platform: Platform,
        mesh: MeshConnection,
        *,
        max_concurrent: int = 10,
        queue_limit: int = 1000,
        shareable: bool = False,
        tiers: Mapping[str, str] | None = None,
        lease: timedelta = timedelta(seconds=30),
        shares_store: bool | None = None,
        allows_private_webhooks: bool = False,
    ) -> None:
        if not platform.is_durable:
            raise ConfigurationError(
                "A node needs a platform with a store: Platform(store=SqliteStore(...)), or "
                "Platform(store=MemoryStore()) when runs may be lost with the program."
            )
        if max_concurrent < 1 or queue_limit < 0:
            raise ConfigurationError(f"node {name!r}: max_concurrent is at least 1, and queue_limit at least 0")
        mesh.transport.use_store(platform.store)
        self.name = name
        self.instance = new_id()
        self.state = NodeState.STARTING
        self._platform = platform
        self._mesh = mesh
        self._clock = mesh.clock
        self._queue_limit = queue_limit
        self._is_shareable = shareable
        self._tiers = dict(tiers or {})
        self._lease = lease.total_seconds()
        self._acknowledges_at_once = _is_shared(platform) if shares_store is None else shares_store
        self._offers: dict[str, OfferedRunnable] = {}
        self._load = NodeLoad(max_concurrent, mesh.clock)
        self._ledger = RequestLedger(platform.store, name)
        delivery = ReplyDelivery(mesh, allows_private=allows_private_webhooks)
        self._reporter = RunReporter(name, platform, mesh, self._ledger, self._load, delivery)
        self._worker = Worker(
            platform,
            name=f"{name}-{self.instance}",
            lease=self._lease,
            max_parallel=max_concurrent,
            find_names=self._find_names,
            on_rest=self._report,
        )
        self._intake = Intake(
            name,
            platform,
            mesh,
            self._offers,
            self._ledger,
            self._load,
            self._reporter,
            queue_limit=queue_limit,
            is_draining=lambda: self.state is not NodeState.READY,
            wake=self._worker.wake,
        )
        self._replies = ReplyTaker(platform, mesh, self._worker.wake)
        self._held: dict[str, LeasedMessage] = {}
        self._stop_worker = asyncio.Event()
        self._stopped = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._working: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"Node({self.name!r}, {self.state})"

    @property
    def queue_depth(self) -> int:
        """Number of requests that wait."""
        return self._load.depth

    @property
    def running(self) -> int:
        """Number of requests that the instance works on."""
        return self._load.running

    @property
    def capabilities(self) -> tuple[CapabilityCard, ...]:
        """The capabilities that the node offers."""
        return tuple(offered.offer.card() for offered in self._offers.values())

    @property
    def queue(self) -> str:
        """Queue of the node."""
        return self._mesh.name_queue(self.name)

    def offer(
        self,
        work: object,
        *,
        name: str | None = None,
        tags: Collection[str] = (),
        allow: Collection[str] | None = None,
        version: str | None = None,
        max_concurrent: int | None = None,
        idempotent: bool = False,
    ) -> Offer:
        """Offer work to the mesh: any Runnable as a task, a tool or a typed function as a tool.

        Args:
            work: the Runnable, the tool or the function.
            name: name of the capability; the name of the work by default.
            tags: words to find it by.
            allow: names of the nodes and clients that may ask for it; all, by default.
            version: its version.
            max_concurrent: number of requests for it that the instance works on at once.
            idempotent: true when doing the work twice does no harm.

        Raises:
            ConfigurationError: when the node offers that name already.
            DeclarationError: when the work cannot be offered.
        """
        offer = Offer.of(
            work,
            name=name,
            tags=tags,
            allow=allow,
            version=version,
            max_concurrent=max_concurrent,
            idempotent=idempotent,
        )
        if offer.name in self._offers:
            raise ConfigurationError(f"{self.name} offers {offer.name!r} already: offer(..., name='another name')")
        offered = OfferedRunnable(self.name, offer, self._note_start(offer.name), self._reporter.note_failure)
        self._platform.register_internal(offered)
        self._offers[offer.name] = offered
        return offer

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain(timeout=_DRAIN if error is None else 0.0)

    async def start(self) -> None:
        """Take requests from now on.

        Raises:
            TransportError: when the broker cannot be reached.
        """
        await self._mesh.open()
        for entry in await self._ledger.list_open():
            request = entry.request
            self._load.enqueue(request.run_key, request.capability, request.priority, entry.accepted_at)
        self.state = NodeState.READY
        self._mesh.on_question(self._announce_soon)
        self._mesh.attach(self.queue, self._platform.store)
        self._working = asyncio.create_task(self._worker.run(self._stop_worker))
        receiving = self._mesh.receive_from(self.queue, self._take, self._lease)
        self._tasks = [
            asyncio.create_task(work)
            for work in (receiving, self._keep_announcing(), self._keep_sweeping(), self._keep_leases())
        ]
        await self._announce()

    async def run(self) -> None:
        """Take requests until the node is drained, by `drain` or SIGTERM."""
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, ValueError):  # not on Windows, and not in a thread
            loop.add_signal_handler(signal.SIGTERM, lambda: loop.create_task(self.drain()))
        try:
            await self.start()
            await self._stopped.wait()
        finally:
            with suppress(NotImplementedError, ValueError):
                loop.remove_signal_handler(signal.SIGTERM)

    async def drain(self, timeout: float = _DRAIN) -> None:  # noqa: ASYNC109 - the clock of the mesh bounds it
        """Stop: take nothing new, finish what runs, and leave what waits to other instances, or to the next start.

        Args:
            timeout: seconds after which the runs are interrupted; their steps are saved.
        """
        if self.state not in (NodeState.READY, NodeState.STARTING):
            await self._stopped.wait()
            return
        self.state = NodeState.DRAINING
        self._stop_worker.set()
        await self._announce()
        if self._working is not None:
            ended = asyncio.Event()
            self._working.add_done_callback(lambda _: ended.set())
            if not await wait_for_event(ended, timeout, self._clock):
                self._working.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *filter(None, [self._working]), return_exceptions=True)
        await self._let_go()
        self.state = NodeState.STOPPED
        await self._announce()
        self._stopped.set()

    def card(self) -> NodeCard:
        """Return the card of the instance."""
        return NodeCard(
            node=self.name,
            instance=self.instance,
            realm=self._mesh.realm,
            state=self.state.value,
            capabilities=self.capabilities,
            queue_depth=self._load.depth,
            running=self._load.running,
            max_concurrent=self._load.max_concurrent,
            queue_limit=self._queue_limit,
            seconds_per_request=self._load.seconds_per_request,
            is_shareable=self._is_shareable,
            sent_at=self._clock.time(),
            tiers=tuple(self._tiers),
        )

    async def _take(self, leased: LeasedMessage) -> None:
        """Take a message from the queue of the node."""
        try:
            envelope = self._mesh.decode(leased.body)
            if isinstance(envelope.message, MeshReply):
                await self._take_reply(envelope.message, leased)
                return
            key = await self._intake.take(envelope)
        except MessageError as error:
            await self._intake.refuse(error)
            key = None
        except StoreError as error:
            _logger.warning("%s: a request is taken later: %s", self.name, error)
            await self._mesh.transport.release(leased, 1.0)
            return
        if key is None or self._acknowledges_at_once or key in self._held:
            await self._mesh.transport.acknowledge(leased)
        else:
            self._held[key] = leased
            if not self._load.is_running(key) and self._load.find_position(key) is None:
                await self._report_key(key)  # it has ended meanwhile

    async def _take_reply(self, reply: MeshReply, leased: LeasedMessage) -> None:
        delay = await self._replies.take(reply)
        await (self._mesh.transport.release(leased, delay) if delay else self._mesh.transport.acknowledge(leased))

    def _note_start(self, capability: str) -> _Starter:
        return _Starter(self._load, capability)

    async def _report(self, record: RunRecord) -> None:
        """Reply to a request whose run this instance has continued."""
        key = record.idempotency_key or ""
        if key.startswith(_RUN_PREFIX):
            self._load.finish(key)
            await self._report_key(key)

    async def _report_key(self, key: str) -> None:
        try:
            if await self._reporter.report(key) and (leased := self._held.pop(key, None)) is not None:
                await self._mesh.transport.acknowledge(leased)
        except (StoreError, TransportError) as error:
            _logger.warning("%s: a reply is sent later: %s", self.name, error)

    async def _let_go(self) -> None:
        """Give the messages back whose replies were not sent."""
        for leased in self._held.values():
            with suppress(TransportError):
                await self._mesh.transport.release(leased)
        self._held.clear()

    def _find_names(self) -> list[str]:
        """Return the names of runs that may start: no capability exceeds its bound."""
        full = {
            offered.name
            for offered in self._offers.values()
            if (bound := offered.offer.max_concurrent) is not None
            and self._load.count_running(offered.offer.name) >= bound
        }
        return [name for name in self._platform.run_names if name not in full]

    async def _announce(self) -> None:
        """Publish the card; one that the broker does not take is followed by another."""
        with suppress(TransportError):
            await self._mesh.publish_card(self.card())

    def _announce_soon(self) -> None:
        if self.state is NodeState.READY:
            self._mesh.spawn(self._announce())

    async def _keep_announcing(self) -> None:
        while True:
            await pause(_ANNOUNCE_EVERY, self._clock)
            await self._announce()

    async def _keep_sweeping(self) -> None:
        """Reply to requests whose runs have ended without an instance that noticed it."""
        while True:
            try:
                while (claimed := await self._ledger.claim_forgotten(self.instance)) is not None:
                    await self._report_key(claimed[0].request.run_key)
            except StoreError as error:
                _logger.warning("%s: %s", self.name, error)
            await pause(_SWEEP_EVERY, self._clock)

    async def _keep_leases(self) -> None:
        """Extend the leases of messages whose replies were not sent."""
        while True:
            await pause(self._lease / 3, self._clock)
            for leased in tuple(self._held.values()):
                with suppress(TransportError):
                    await self._mesh.transport.extend(leased, self._lease)


class _Starter:
    """Listener that notes the start of requests for a capability."""

    def __init__(self, load: NodeLoad, capability: str) -> None:
        self._load = load
        self._capability = capability

    def __call__(self, run_key: str) -> None:
        self._load.start(run_key, self._capability)


def _is_shared(platform: Platform) -> bool:
    return type(platform.store).__name__ == "PostgresStore"
