"""Renewal of leases from a thread, for event loops that a plain action blocks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Final

from tactician.clock import SYSTEM_CLOCK
from tactician.loggers import get_logger
from tactician.stores.document import Lease
from tactician.stores.document_store import DocumentStore

_PARTS: Final = 6
_LATE: Final = 3  # of these parts; the event loop renews a lease after two
_logger = get_logger(__name__)


@dataclass(eq=False, slots=True)
class HeldLease:
    """Lease that its event loop renews.

    Attributes:
        label: name of the owner of the lease, for log messages.
        seconds: duration of the lease.
        tried_at: monotonic time, by the clock of the store, at which the event loop last tried to renew the lease.
    """

    store: DocumentStore
    lease: Lease
    label: str
    seconds: float
    tried_at: float = 0.0
    has_warned: bool = False

    def __post_init__(self) -> None:
        self.tried_at = self.store.clock.monotonic()

    async def renew(self) -> None:
        """Renew the lease.

        Raises:
            LeaseLostError: when another worker has claimed the document.
            StoreError: when the store does not answer.
        """
        self.tried_at = self.store.clock.monotonic()
        self.lease = await self.store.renew(self.lease, self.seconds)

    @property
    def is_late(self) -> bool:
        """True when the event loop has missed a renewal."""
        return self.store.clock.monotonic() - self.tried_at > self.seconds * _LATE / _PARTS

    @property
    def may_have_expired(self) -> bool:
        """True when the lease was not renewed for its whole duration, as in a program that was frozen."""
        return self.store.clock.monotonic() - self.lease.requested_at >= self.seconds

    def renew_in_thread(self) -> None:
        """Renew the lease in a new event loop. The owner's own loop finds out whether the lease is lost."""
        if not self.has_warned:
            self.has_warned = True
            _logger.warning(
                "%s holds up the event loop for more than %.1f seconds, with all that runs beside: a plain action that "
                "waits or computes for long belongs into a thread, as @action(blocking=True)",
                self.label,
                self.seconds * _LATE / _PARTS,
            )
        try:
            asyncio.run(self.store.renew(self.lease, self.seconds))
        except Exception as error:
            _logger.warning("the lease of %s was not renewed: %s", self.label, error)


class LeaseHeartbeat:
    """Thread that renews late leases. The thread exists only while there are leases."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._leases: set[HeldLease] = set()
        self._thread: Thread | None = None

    def add(self, lease: HeldLease) -> None:
        """Watch a lease of real time: the time of a test does not pass while an action blocks the event loop."""
        if lease.store.clock is not SYSTEM_CLOCK:
            return
        with self._changed:
            is_shortest = all(lease.seconds < other.seconds for other in self._leases)
            self._leases.add(lease)
            if self._thread is None or not self._thread.is_alive():  # a forked program has no thread
                self._thread = Thread(target=self._watch, name="tactician-leases", daemon=True)
                self._thread.start()
            elif is_shortest:
                self._changed.notify()

    def discard(self, lease: HeldLease) -> None:
        """Stop watching a lease."""
        with self._changed:
            self._leases.discard(lease)

    def _watch(self) -> None:
        while True:
            with self._changed:
                if not self._leases:
                    self._thread = None
                    return
                self._changed.wait(min(lease.seconds for lease in self._leases) / _PARTS)
                late = [lease for lease in self._leases if lease.is_late]
            for lease in late:
                lease.renew_in_thread()


LEASE_HEARTBEAT: Final = LeaseHeartbeat()
