"""Node: the presence of a platform on a mesh."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

from pydantic import JsonValue
from typing_extensions import Unpack

from tactician.clock import pause
from tactician.errors import ConfigurationError
from tactician.events.bus import EventEmitter
from tactician.events.event import new_id
from tactician.grammar import add_article
from tactician.llm import LlmOptions
from tactician.mesh.connection import MeshConnection
from tactician.mesh.directives import Drain
from tactician.mesh.events import NodeMeasured
from tactician.mesh.messages.cards import CapabilityCard, NodeCard
from tactician.mesh.messages.directives import DirectiveMessage
from tactician.mesh.nodes.control import NodeControl
from tactician.mesh.nodes.delivery import ReplyDelivery
from tactician.mesh.nodes.directives import NodeDirectives
from tactician.mesh.nodes.held import HeldMessages
from tactician.mesh.nodes.inbox import NodeInbox
from tactician.mesh.nodes.intake import Intake
from tactician.mesh.nodes.ledger import RequestLedger
from tactician.mesh.nodes.load import POINTS, NodeFigures, NodeLoad
from tactician.mesh.nodes.lost_replies import LostReplies
from tactician.mesh.nodes.neighbours import keep_watching
from tactician.mesh.nodes.offer import Offer, OfferedRunnable
from tactician.mesh.nodes.own_work import OwnWork
from tactician.mesh.nodes.replies import ReplyTaker
from tactician.mesh.nodes.reporter import RunReporter
from tactician.mesh.nodes.schedules import NodeSchedule, NodeSchedules
from tactician.mesh.nodes.settings import NodeOptions, NodeSettings
from tactician.mesh.nodes.shared_queue import SharedQueue
from tactician.mesh.nodes.subscriptions import NodeSubscriptions, TopicSubscription
from tactician.mesh.nodes.withdrawals import WithdrawalSender
from tactician.mesh.nodes.work import NodeWork
from tactician.mesh.retention import RecordPruner
from tactician.mesh.sources import OpenMeshes, RunningNodes
from tactician.mesh.timetable import Timetable, TimetableOptions
from tactician.mesh.transports.transport import TransportError
from tactician.platform import Platform
from tactician.suggestions import suggest_options

_ANNOUNCE_EVERY: Final = 10.0
_DRAIN: Final = 300.0


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
        **options: see `NodeOptions`.

    Attributes:
        name: the name.
        instance: id of this instance.
        state: its state.

    Raises:
        ConfigurationError: when the platform has no store, or a number is too small.
    """

    def __init__(self, name: str, platform: Platform, mesh: MeshConnection, **options: Unpack[NodeOptions]) -> None:
        _check_arguments({"name": (name, str), "platform": (platform, Platform), "mesh": (mesh, MeshConnection)})
        if not platform.is_durable:
            raise ConfigurationError(
                "A node needs a platform with a store: Platform(store=SqliteStore(...)), or "
                "Platform(store=MemoryStore()) when runs may be lost with the program."
            )
        mesh.transport.use_store(platform.store)
        self.name, self.instance, self.state = name, new_id(), NodeState.STARTING
        self._settings = NodeSettings(**options)
        self._platform, self._mesh = platform, mesh
        self._offers: dict[str, OfferedRunnable] = {}
        self._ledger = RequestLedger(platform.store, name)
        self._control = NodeControl(name, mesh, self._offers, self._settings)
        self._load = NodeLoad(lambda: self._control.max_concurrent, mesh.clock)
        self._held = HeldMessages(mesh.transport, self._settings.lease.total_seconds(), mesh.clock)
        delivery = ReplyDelivery(mesh, allows_private=self._settings.allows_private_webhooks)
        self._reporter = RunReporter(name, platform, mesh, self._ledger, self._load, delivery)
        self._directives = NodeDirectives(name, platform, mesh, self._control, self._follow)
        self._work = self._create_work()
        self._intake = self._create_intake()
        self._inbox = self._create_inbox()
        is_shared = self._settings.find_sharing(platform.store)
        self._own_work = OwnWork(name, platform, mesh, self._offers, is_shared=is_shared)
        self._schedules = NodeSchedules(name, platform, mesh, self._own_work, self._intake)
        self._subscriptions = NodeSubscriptions(name, platform, mesh, self._own_work, self._intake)
        self._stopped = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._started_at = mesh.clock.time()

    def _create_work(self) -> NodeWork:
        return NodeWork(
            self.name,
            self.instance,
            self._platform,
            self._mesh,
            self._offers,
            self._ledger,
            self._load,
            self._reporter,
            self._held,
            WithdrawalSender(self._mesh, self._platform.store, self.queue, self.instance),
            self._directives,
            self._control,
            self._settings.lease.total_seconds(),
        )

    def _create_intake(self) -> Intake:
        is_shared = self._settings.find_sharing(self._platform.store)
        queue = SharedQueue(
            self.name, self.instance, self._platform, self._mesh, self._offers, self._load, is_shared=is_shared
        )
        return Intake(
            self.name,
            self._platform,
            self._mesh,
            self._offers,
            self._ledger,
            self._load,
            self._reporter,
            queue,
            control=self._control,
            is_shareable=self._settings.shareable,
            is_draining=lambda: self.state is not NodeState.READY,
            wake=self._work.wake,
        )

    def _create_inbox(self) -> NodeInbox:
        return NodeInbox(
            self.name,
            self._mesh,
            self._intake,
            ReplyTaker(self._platform, self._mesh, self._work.wake),
            self._work,
            self._held,
            acknowledges_at_once=self._settings.find_sharing(self._platform.store),
        )

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
        offered = {name: each.offer for name, each in self._offers.items() if each.offer.is_public}
        return tuple(
            offer.card(is_enabled=self._control.is_enabled(offer), price=self._load.find_price(name))
            for name, offer in offered.items()
        )

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
        offered = OfferedRunnable(self.name, offer, self._work)
        self._platform.register_internal(offered)
        self._offers[offer.name] = offered
        return offer

    def schedule(
        self,
        name: str,
        work: object,
        *,
        input: JsonValue = None,
        publish_to: str | None = None,
        **timetable: Unpack[TimetableOptions],
    ) -> None:
        """Begin work at the moments of a timetable: one run a tick, however many instances the node has.

        Args:
            name: name of the schedule.
            work: the Runnable, the tool or the function.
            input: its input; by default a tool has no arguments, and other work the name and time of the tick as text.
            publish_to: topic to which each result is published.
            **timetable: fields of `Timetable`: `every` or `cron`, with `timezone`, `jitter` and `catch_up`.

        Raises:
            ConfigurationError: when a value is not valid, or the node has a schedule of that name.
            DeclarationError: when the work cannot be scheduled.
        """
        times = Timetable(**timetable)
        offer = self._own_work.add(f"schedule:{name}", work, self._work, publish_to)
        value = {} if input is None and offer.kind == "tool" else input
        self._schedules.add(
            NodeSchedule(name=name, timetable=times, capability=offer.name, input=value, publish_to=publish_to)
        )

    def subscribe(self, topic: str, work: object, *, publish_to: str | None = None) -> None:
        """Do work for each event of a topic, once, also for the events of the last day while the node was away.

        Args:
            topic: name of the topic; `*` stands for a part between dots, and `>` at the end for all further parts.
            work: the Runnable, the tool or the function; the value of the event is its input.
            publish_to: topic to which each result is published.

        Raises:
            ConfigurationError: when the mesh has no topics, or the node has a subscription of that topic.
            DeclarationError: when the work cannot be done for events.
        """
        if not self._mesh.transport.has_topics:
            raise ConfigurationError(f"{self._mesh.transport.label} has no topics to subscribe to")
        offer = self._own_work.add(f"topic:{topic}", work, self._work, publish_to)
        self._subscriptions.add(TopicSubscription(pattern=topic, offer=offer, publish_to=publish_to))

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
            ConfigurationError: when the platform has no model of a tier.
        """
        self._check_tiers()
        await self._mesh.open()
        for entry in await self._ledger.list_open():
            request = entry.request
            self._load.enqueue(request.run_key, request.capability, POINTS[request.priority], entry.accepted_at)
        await self._directives.start()
        self.state, self._started_at = NodeState.READY, self._mesh.clock.time()
        self._mesh.on_question(self._announce_soon)
        self._mesh.attach(self.queue, self._platform.store)
        self._platform.services.find(OpenMeshes).add(self._mesh)
        self._platform.services.find(RunningNodes).nodes.append(self)
        self._work.start()
        receiving = self._mesh.receive_from(self.queue, self._inbox.take, self._settings.lease.total_seconds())
        lost = LostReplies(self._mesh, self._platform.store, self.queue)
        pruner = RecordPruner(self._mesh, self._platform.store)
        upkeep = (
            receiving,
            self._keep_announcing(),
            self._work.keep_sweeping(),
            self._held.keep_leases(),
            pruner.keep_pruning(),
            lost.keep_asking(),
            self._schedules.keep_firing(),
            keep_watching(self.name, self.instance, self._platform, self._mesh),
            *map(self._subscriptions.keep_reading, await self._subscriptions.start()),
        )
        self._tasks = [asyncio.create_task(work) for work in upkeep]
        await self._announce()

    def _check_tiers(self) -> None:
        for tier, model in (self._settings.tiers or {}).items():
            try:
                self._platform.services.models.resolve(LlmOptions.of(model))
            except ConfigurationError as error:
                raise ConfigurationError(f"{self.name}: the tier {tier!r}: {error}") from error

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
        await self._announce()
        await self._work.stop(timeout)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(ValueError):  # it was never started
            self._platform.services.find(RunningNodes).nodes.remove(self)
        await self._held.release_all()
        self._directives.stop()
        self.state = NodeState.STOPPED
        await self._announce()
        self._stopped.set()

    def measure(self) -> NodeFigures:
        """Return the load of the instance now. Requests that wait for people are no load."""
        return self._load.measure()

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
            queue_limit=self._control.queue_limit,
            seconds_per_request=self._load.seconds_per_request,
            is_shareable=self._settings.shareable,
            sent_at=self._mesh.clock.time(),
            tiers=tuple(self._settings.tiers or ()),
            schedules=self._schedules.list_cards(),
            topics=self._subscriptions.patterns,
        )

    async def _announce(self) -> None:
        """Publish the card; a card that the broker does not take is followed by another."""
        EventEmitter(self._platform.services.bus, "", (self.name,), self._mesh.clock).emit(
            NodeMeasured, node=self.name, instance=self.instance, **self.measure()
        )
        with suppress(TransportError):
            await self._mesh.publish_card(self.card())

    def _follow(self, message: DirectiveMessage) -> None:
        """Let a command take effect at once."""
        is_drain = message.command is not None and message.command.action == Drain.__name__
        if is_drain and not message.is_withdrawn and message.created_at >= self._started_at:
            self._mesh.spawn(self.drain())
            return
        self._work.wake()
        self._mesh.spawn(self._announce())

    def _announce_soon(self) -> None:
        """Answer who is there, and what they have to know."""
        if self.state is NodeState.READY:
            self._mesh.spawn(self._announce())
            self._mesh.spawn(self._directives.send_on())

    async def _keep_announcing(self) -> None:
        while True:
            await pause(_ANNOUNCE_EVERY, self._mesh.clock)
            await self._announce()


def _check_arguments(arguments: Mapping[str, tuple[object, type]]) -> None:
    """Check the types of arguments, which are easily written in another order."""
    for name, (value, kind) in arguments.items():
        if not isinstance(value, kind):
            found = add_article(type(value).__name__)
            raise ConfigurationError(f"Node: the {name} is {found}. Write Node('kitchen', platform, mesh).")
