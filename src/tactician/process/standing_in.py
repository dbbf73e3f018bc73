"""Renews leases in time though their event loop is busy: a plain action that computes or waits holds it up."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic
from typing import Final

from tactician.runs import Lease, RunStore

_PARTS: Final = 6
_LATE: Final = 3  # of these parts; the event loop renews a lease after two
_logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class HeldLease:
    """A lease that its event loop renews.

    Attributes:
        what: whose lease it is, for people.
        seconds: how long it is valid.
        seen_at: when the loop was last seen to be free.
    """

    store: RunStore
    lease: Lease
    what: str
    seconds: float
    seen_at: float = field(default_factory=monotonic)
    has_warned: bool = False

    async def renew(self) -> None:
        """Makes it valid for longer.

        Raises:
            LeaseLostError: when somebody else has taken the run.
            StoreError: when the store does not answer.
        """
        self.seen_at = monotonic()
        self.lease = await self.store.renew(self.lease, self.seconds)

    def is_late(self) -> bool:
        """Whether its loop should have renewed it."""
        return monotonic() - self.seen_at > self.seconds * _LATE / _PARTS

    def stand_in(self) -> None:
        """Renews it in an event loop of its own. That it was lost, its own loop will find out."""
        if not self.has_warned:
            self.has_warned = True
            _logger.warning(
                "%s holds up the event loop for more than %.1f seconds, with all that runs beside: a plain action that "
                "waits or computes for long belongs into a thread, as @action(blocking=True)",
                self.what,
                self.seconds * _LATE / _PARTS,
            )
        try:
            asyncio.run(self.store.renew(self.lease, self.seconds))
        except Exception as error:
            _logger.warning("the lease of %s was not renewed: %s", self.what, error)


class StandIn:
    """A thread that looks after leases. It is there only while there are some."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._held: set[HeldLease] = set()
        self._thread: Thread | None = None

    def add(self, held: HeldLease) -> None:
        """Looks after one more."""
        with self._changed:
            is_urgent = all(held.seconds < one.seconds for one in self._held)
            self._held.add(held)
            if self._thread is None or not self._thread.is_alive():  # a forked program has none
                self._thread = Thread(target=self._look_after, name="tactician-leases", daemon=True)
                self._thread.start()
            elif is_urgent:
                self._changed.notify()

    def discard(self, held: HeldLease) -> None:
        """Looks after it no longer."""
        with self._changed:
            self._held.discard(held)

    def _look_after(self) -> None:
        while True:
            with self._changed:
                if not self._held:
                    self._thread = None
                    return
                self._changed.wait(min(held.seconds for held in self._held) / _PARTS)
                late = [held for held in self._held if held.is_late()]
            for held in late:
                held.stand_in()


STAND_IN: Final = StandIn()
