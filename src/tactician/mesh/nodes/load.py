"""Load of a node: the requests that wait and run, their order, and the measured throughput."""

from __future__ import annotations

import asyncio
from bisect import bisect_right, insort
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Final, TypedDict

from tactician.clock import Clock
from tactician.mesh.messages.message import Priority

AGEING: Final = 1800.0
"""Seconds of waiting that raise a request by a level."""
POINTS: Final = {Priority.CRITICAL: 60, Priority.HIGH: 30, Priority.NORMAL: 0, Priority.LOW: -30}
"""Priorities of runs, by the priorities of requests: a point weighs as much as a minute of waiting."""
_MEASURED: Final = 50


class NodeFigures(TypedDict):
    """Load of an instance; see `NodeMeasured`."""

    queue_depth: int
    oldest_age: float
    running: int
    expected_wait: float | None


class NodeLoad:
    """Requests of an instance of a node that wait for their work, or are worked on.

    Args:
        find_max_concurrent: returns the number of requests that are worked on at once.
        clock: the time.
    """

    def __init__(self, find_max_concurrent: Callable[[], int], clock: Clock) -> None:
        self._find_max_concurrent = find_max_concurrent
        self._clock = clock
        self._waiting: dict[str, tuple[float, str, float]] = {}
        self._ranks: list[float] = []
        self._running: dict[str, tuple[float, str, asyncio.Task[object] | None]] = {}
        self._by_capability: Counter[str] = Counter()
        self._seconds: deque[float] = deque(maxlen=_MEASURED)
        self._costs: dict[str, deque[float]] = {}

    @property
    def max_concurrent(self) -> int:
        """Number of requests that are worked on at once."""
        return self._find_max_concurrent()

    @property
    def depth(self) -> int:
        """Number of requests that wait."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Number of requests that are worked on."""
        return len(self._running)

    @property
    def seconds_per_request(self) -> float | None:
        """Mean time from the start of a request to its end, of the last 50; `None` before the first."""
        return sum(self._seconds) / len(self._seconds) if self._seconds else None

    def note_cost(self, capability: str, dollars: float) -> None:
        """Note what a request for a capability has cost."""
        self._costs.setdefault(capability, deque(maxlen=_MEASURED)).append(dollars)

    def find_price(self, capability: str) -> float | None:
        """Return the mean cost of the last 50 requests for a capability; `None` before the first."""
        costs = self._costs.get(capability)
        return None if costs is None else sum(costs) / len(costs)

    def count_running(self, capability: str) -> int:
        """Return how many requests for a capability are worked on."""
        return self._by_capability[capability]

    def enqueue(self, run_key: str, capability: str, points: int, since: float) -> int:
        """Add a request that waits, and return how many are started before it."""
        rank = since - points * AGEING / 30
        position = bisect_right(self._ranks, rank)
        if run_key not in self._waiting:
            self._waiting[run_key] = rank, capability, since
            insort(self._ranks, rank)
        return position

    def replace_waiting(self, waiting: Mapping[str, tuple[float, str, float]]) -> None:
        """Replace the requests that wait by others: rank, capability and time by the keys of the runs."""
        self._waiting = dict(waiting)
        self._ranks = sorted(rank for rank, _, _ in waiting.values())

    def find_position(self, run_key: str) -> int | None:
        """Return how many requests are started before a request that waits; `None` for any other."""
        entry = self._waiting.get(run_key)
        return None if entry is None else max(0, bisect_right(self._ranks, entry[0]) - 1)

    def is_waiting(self, run_key: str) -> bool:
        """Return whether the request waits here."""
        return run_key in self._waiting

    def is_running(self, run_key: str) -> bool:
        """Return whether the request is worked on here."""
        return run_key in self._running

    def start(self, run_key: str, capability: str) -> None:
        """Note that the work on a request begins or continues."""
        self._leave(run_key)
        if run_key not in self._running:
            self._running[run_key] = self._clock.monotonic(), capability, asyncio.current_task()
            self._by_capability[capability] += 1

    def interrupt(self, run_key: str) -> None:
        """Interrupt the work on a request whose run was ended, instead of waiting until its lease is renewed."""
        if (entry := self._running.get(run_key)) is not None and entry[2] is not None:
            entry[2].cancel()

    def finish(self, run_key: str, *, is_measured: bool = True) -> None:
        """Note that the work on a request rests or has ended."""
        self._leave(run_key)
        if (entry := self._running.pop(run_key, None)) is not None:
            self._by_capability[entry[1]] -= 1
            if is_measured:
                self._seconds.append(self._clock.monotonic() - entry[0])

    def measure(self) -> NodeFigures:
        """Return the load now."""
        now = self._clock.time()
        ends_at = self.expect_end(self.depth)
        return {
            "queue_depth": self.depth,
            "oldest_age": max((now - since for _, _, since in self._waiting.values()), default=0.0),
            "running": self.running,
            "expected_wait": None if ends_at is None else ends_at - now,
        }

    def expect_end(self, position: int) -> float | None:
        """Return when a request at a position will end, in seconds since the epoch; `None` before any was measured."""
        if (seconds := self.seconds_per_request) is None:
            return None
        rounds = (position + self.running) // self.max_concurrent + 1
        return self._clock.time() + rounds * seconds

    def _leave(self, run_key: str) -> None:
        if (entry := self._waiting.pop(run_key, None)) is not None:
            del self._ranks[bisect_right(self._ranks, entry[0]) - 1]
