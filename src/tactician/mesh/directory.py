"""Directory of the nodes of a mesh: their cards, which they publish again and again, and which expire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

from tactician.clock import Clock, wait_for_event
from tactician.loggers import get_logger
from tactician.mesh.messages.cards import CapabilityCard, NodeCard
from tactician.suggestions import suggest_options

CARDS: Final = "tactician.cards"
"""Topic of the cards."""
LOOK_AROUND: Final = 2.0
"""Seconds to wait for the cards of nodes that are asked for them."""
_SKEW: Final = 2.0
"""Seconds between the clocks of two machines above which their deadlines differ too much."""
_logger = get_logger(__name__)

_Instance: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Offering:
    """Capability of a node.

    Attributes:
        node: name of the node.
        realm: its realm.
        capability: the capability.
        seconds: expected time until a request ends, from the measured throughput.
        queue: queue of the node.
        is_shareable: true when nodes of other realms may ask.
        is_full: true when the node had as many requests as may wait.
    """

    node: str
    realm: str
    capability: CapabilityCard
    seconds: float
    queue: str = ""
    is_shareable: bool = False
    is_full: bool = False


@suggest_options
class Directory:
    """Cards of the nodes of a mesh.

    Args:
        clock: the time, by which cards expire.

    Attributes:
        is_away: returns whether the broker carries no messages: then no card expires.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._behind: set[tuple[str, str, str]] = set()
        self._cards: dict[_Instance, tuple[NodeCard, float]] = {}
        self._offerings: dict[str, dict[_Instance, Offering]] = {}
        self._ranked: dict[str, dict[tuple[str, str | None], tuple[Offering, ...]]] = {}
        self._next_expiry = inf
        self._changed = asyncio.Event()
        self._changes = 0
        self.is_away: Callable[[], bool] = lambda: False

    def renew(self) -> None:
        """Let all cards be valid anew: the broker was away, and they could not be renewed."""
        now = self._clock.monotonic()
        self._cards = {key: (card, now + card.ttl) for key, (card, _) in self._cards.items()}
        self._next_expiry = min((expiry for _, expiry in self._cards.values()), default=inf)

    def note(self, card: NodeCard) -> None:
        """Take a card; the card of a stopped instance is forgotten."""
        key = card.realm, card.node, card.instance
        if (earlier := self._cards.get(key)) is None or _describe(earlier[0]) != _describe(card):
            self._changes += 1
        if card.state != "STOPPED":
            self._compare_clocks(key, card)
        self._forget(key)
        if card.state != "STOPPED":
            expiry = self._clock.monotonic() + card.ttl
            self._cards[key] = card, expiry
            self._next_expiry = min(self._next_expiry, expiry)
            for offering in _read_offerings(card):
                self._offerings.setdefault(offering.capability.name, {})[key] = offering
                self._ranked.pop(offering.capability.name, None)
        self._changed.set()
        self._changed = asyncio.Event()

    def _compare_clocks(self, key: tuple[str, str, str], card: NodeCard) -> None:
        """Warn of an instance that says hello, and whose deadlines are other times than here.

        A card that seems old may only be late, as after a restart of the broker: then the next card decides.
        """
        skew = card.sent_at - self._clock.time()
        is_first, was_behind = key not in self._cards, key in self._behind
        self._behind.discard(key)
        if is_first and skew < -_SKEW:
            self._behind.add(key)
        elif (is_first and skew > _SKEW) or (was_behind and skew < -_SKEW):
            direction = "ahead of" if skew > 0 else "behind"
            _logger.warning(
                "The clock of the node %r (%s) is %.1f s %s the clock of this machine: its deadlines are other times.",
                card.node,
                card.instance,
                abs(skew),
                direction,
            )

    def list_cards(self) -> list[NodeCard]:
        """Return the cards that are valid now."""
        self._forget_expired()
        return [card for card, _ in self._cards.values()]

    def list_offerings(
        self, realm: str, name: str | None = None, node: str | None = None, version: str | None = None
    ) -> list[Offering]:
        """Return the capabilities of nodes that take requests, soonest first; the own realm comes before others.

        Args:
            realm: realm of the caller.
            name: name of the capability; any by default.
            node: name of the node; any by default.
            version: version of the capability; any by default.
        """
        self._forget_expired()
        by_instance = self._offerings.values() if name is None else [self._offerings.get(name, {})]
        offerings = [
            offering
            for instances in by_instance
            for offering in instances.values()
            if node in (None, offering.node)
            and (offering.realm == realm or offering.is_shareable)
            and version in (None, offering.capability.version)
        ]
        return sorted(offerings, key=lambda offering: (offering.realm != realm, offering.seconds))

    def list_providers(self, realm: str, name: str, version: str | None = None) -> tuple[Offering, ...]:
        """Return the nodes that offer a capability, each once with its soonest instance, as `list_offerings` has them.

        The list is kept until a card that has the capability comes, goes or expires.
        """
        self._forget_expired()
        ranked = self._ranked.setdefault(name, {})
        if (providers := ranked.get((realm, version))) is None:
            soonest: dict[str, Offering] = {}
            for offering in self.list_offerings(realm, name, None, version):
                soonest.setdefault(offering.queue, offering)
            providers = ranked[realm, version] = tuple(soonest.values())
        return providers

    def _forget(self, key: _Instance) -> None:
        """Forget the card of an instance and its capabilities."""
        if (entry := self._cards.pop(key, None)) is not None:
            for capability in entry[0].capabilities:
                instances = self._offerings.get(capability.name, {})
                instances.pop(key, None)
                if not instances:
                    self._offerings.pop(capability.name, None)
                self._ranked.pop(capability.name, None)

    def _forget_expired(self) -> None:
        """Forget cards that nobody has renewed, unless the broker is away, through which they would be renewed."""
        if (now := self._clock.monotonic()) < self._next_expiry or self.is_away():
            return
        for key in [key for key, (_, expiry) in self._cards.items() if expiry <= now]:
            self._forget(key)
        self._behind &= self._cards.keys()
        self._next_expiry = min((expiry for _, expiry in self._cards.values()), default=inf)

    async def find(
        self, realm: str, name: str, node: str | None = None, wait: float = LOOK_AROUND, version: str | None = None
    ) -> list[Offering]:
        """Return the nodes that offer a capability; wait for the first card that says so."""
        ends_at = self._clock.monotonic() + wait
        while not (offerings := self.list_offerings(realm, name, node, version)):
            left = ends_at - self._clock.monotonic()
            if left <= 0 or not await wait_for_event(self._changed, left, self._clock):
                break
        return offerings

    async def watch(self) -> AsyncIterator[list[NodeCard]]:
        """Yield the valid cards now, and again whenever an instance comes, goes, or offers something else."""
        shown: object = None
        while True:
            cards = self.list_cards()
            if (present := (self._changes, *sorted(self._cards))) != shown:
                shown = present
                yield cards
            else:
                await wait_for_event(self._changed, 1.0, self._clock)


def _read_offerings(card: NodeCard) -> Iterator[Offering]:
    """Yield the capabilities of a node that takes requests."""
    if card.state != "READY":
        return
    seconds, queue = _expect_seconds(card), f"{card.realm}/{card.node}"
    is_full = card.queue_limit is not None and card.queue_depth >= card.queue_limit
    for capability in card.capabilities:
        if capability.is_enabled:
            yield Offering(card.node, card.realm, capability, seconds, queue, card.is_shareable, is_full)


def _expect_seconds(card: NodeCard) -> float:
    """Return how long a request would take: those before it, and itself."""
    waiting = card.queue_depth + card.running
    rounds = waiting // max(card.max_concurrent, 1) + 1
    return rounds * (card.seconds_per_request or 0.0) + waiting * 1e-6  # of nodes without figures, the idle node


def _describe(card: NodeCard) -> object:
    """Return what watchers of a mesh are told of."""
    return card.state, tuple(capability.model_copy(update={"price": None}) for capability in card.capabilities)
