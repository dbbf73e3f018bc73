"""Directory of the nodes of a mesh: their cards, which they publish again and again, and which expire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

from tactician.clock import Clock, wait_for_event
from tactician.mesh.messages.cards import CapabilityCard, NodeCard
from tactician.suggestions import suggest_options

CARDS: Final = "tactician.cards"
"""Topic of the cards."""
LOOK_AROUND: Final = 2.0
"""Seconds to wait for the cards of nodes that are asked for them."""


@dataclass(frozen=True, slots=True)
class Offering:
    """Capability of a node.

    Attributes:
        node: name of the node.
        realm: its realm.
        capability: the capability.
        seconds: expected time until a request ends, from the measured throughput.
    """

    node: str
    realm: str
    capability: CapabilityCard
    seconds: float


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
        self._cards: dict[tuple[str, str, str], tuple[NodeCard, float]] = {}
        self._changed = asyncio.Event()
        self._changes = 0
        self.is_away: Callable[[], bool] = lambda: False

    def renew(self) -> None:
        """Let all cards be valid anew: the broker was away, and they could not be renewed."""
        now = self._clock.monotonic()
        self._cards = {key: (card, now + card.ttl) for key, (card, _) in self._cards.items()}

    def note(self, card: NodeCard) -> None:
        """Take a card; the card of a stopped instance is forgotten."""
        key = card.realm, card.node, card.instance
        if (earlier := self._cards.get(key)) is None or _describe(earlier[0]) != _describe(card):
            self._changes += 1
        if card.state == "STOPPED":
            self._cards.pop(key, None)
        else:
            self._cards[key] = card, self._clock.monotonic() + card.ttl
        self._changed.set()
        self._changed = asyncio.Event()

    def list_cards(self) -> list[NodeCard]:
        """Return the cards that are valid now."""
        now = self._clock.monotonic()
        if not self.is_away():
            self._cards = {key: entry for key, entry in self._cards.items() if entry[1] > now}
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
        offerings = [
            Offering(card.node, card.realm, capability, _expect_seconds(card))
            for card in self.list_cards()
            if card.state == "READY" and node in (None, card.node) and (card.realm == realm or card.is_shareable)
            for capability in card.capabilities
            if name in (None, capability.name) and version in (None, capability.version) and capability.is_enabled
        ]
        return sorted(offerings, key=lambda offering: (offering.realm != realm, offering.seconds))

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


def _expect_seconds(card: NodeCard) -> float:
    """Return how long a request would take: those before it, and itself."""
    waiting = card.queue_depth + card.running
    rounds = waiting // max(card.max_concurrent, 1) + 1
    return rounds * (card.seconds_per_request or 0.0) + waiting * 1e-6  # of nodes without figures, the idle one


def _describe(card: NodeCard) -> object:
    """Return what watchers of a mesh are told of."""
    return card.state, card.capabilities
