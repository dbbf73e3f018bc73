"""Those who wait for one of the deployments of a model, in one event loop."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Set
from math import inf
from threading import RLock
from typing import Final

from tactician.clock import Clock, Timer
from tactician.llm.routing.lane import INSTANT, Lane
from tactician.llm.routing.policies import Lanes, Policy

NOTHING_BLOCKED: Final[Set[Lane]] = frozenset()


class Waiter:
    """A call that waits for its turn: for a lane, and the number under which that lets it in."""

    __slots__ = ("candidates", "future", "lanes", "number", "policy", "session", "tokens")

    def __init__(
        self, candidates: Lanes, session: str | None, tokens: int, policy: Policy, loop: AbstractEventLoop
    ) -> None:
        self.candidates = self.lanes = candidates
        self.session = session
        self.tokens = tokens
        self.policy = policy
        self.number = 0
        self.future: Future[tuple[Lane, int]] = loop.create_future()


class Line:
    """A line, oldest first. Those who may go to the same lanes stand in one queue; the oldest of all fronts is next."""

    def __init__(self, clock: Clock, lock: RLock) -> None:
        self._clock = clock
        self._lock = lock
        self._queues: dict[Lanes, deque[Waiter]] = {}
        self._waiting = 0
        self._joined = 0
        self._timer: Timer | None = None
        self._timer_at = inf

    def __len__(self) -> int:
        return self._waiting

    def join(self, waiter: Waiter) -> None:
        """Puts it at the end of the line, and in at once if that is possible."""
        self._joined += 1
        self._waiting += 1
        waiter.number = self._joined
        if self._stand(waiter, self._clock.monotonic()):
            self.admit()

    def leave(self) -> None:
        """One of those who joined is in, or was cancelled; its queue forgets it when it comes to the front."""
        self._waiting -= 1
        if not self._waiting:
            self._set_timer(inf, 0.0)

    def admit(self, *, health: bool = False) -> None:
        """Lets in whoever can start now, and sets the alarm for the next. `health`: a lane rests now, or is back."""
        with self._lock:
            now = self._clock.monotonic()
            if health:
                self._line_up_again(now)
            self._set_timer(self._admit(now), now)

    def _admit(self, now: float) -> float:
        """When the next of those who are left may start."""
        if len(self._queues) == 1:
            (queue,) = self._queues.values()
            return self._admit_in_order(queue, now)
        soonest = inf
        blocked: set[Lane] = set()
        queues = self._with_fronts()
        while queues:
            queue = min(queues, key=_front)
            waiter = queue[0]
            if (lane := self._pick(waiter, blocked, now)) is not None:
                _let_in(waiter, lane, now)
            else:
                # What this one waits for is not for those behind it, though they might need less of it.
                free = [lane.opens_at(now, waiter.tokens) for lane in waiter.lanes if lane not in blocked]
                soonest = min(soonest, *free, inf)
                blocked.update(waiter.lanes)
            if lane is None or not _has_front(queue):
                queues.remove(queue)
        return soonest

    def _admit_in_order(self, queue: deque[Waiter], now: float) -> float:
        while _has_front(queue):
            waiter = queue[0]
            if (lane := self._pick(waiter, NOTHING_BLOCKED, now)) is None:
                return min([lane.opens_at(now, waiter.tokens) for lane in waiter.lanes])
            _let_in(waiter, lane, now)
        return inf

    def _pick(self, waiter: Waiter, blocked: Set[Lane], now: float) -> Lane | None:
        ready, tokens = now + INSTANT, waiter.tokens
        return waiter.policy.pick(
            waiter.lanes, lambda lane: lane not in blocked and lane.opens_at(now, tokens) <= ready
        )

    def _stand(self, waiter: Waiter, now: float) -> bool:
        """Put a waiter at the end of its queue, and return whether it is the first there."""
        lanes = waiter.policy.narrow(waiter.candidates, waiter.session, now)
        waiter.lanes = lanes
        queue = self._queues.setdefault(lanes, deque())
        queue.append(waiter)
        return len(queue) == 1 or queue[0].future.done()

    def _line_up_again(self, now: float) -> None:
        waiting = sorted((waiter for queue in self._queues.values() for waiter in queue), key=lambda one: one.number)
        self._queues = {}
        for waiter in waiting:
            self._stand(waiter, now)

    def _with_fronts(self) -> list[deque[Waiter]]:
        self._queues = {lanes: queue for lanes, queue in self._queues.items() if _has_front(queue)}
        return list(self._queues.values())

    def _set_timer(self, at: float, now: float) -> None:
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = None if at == inf else self._clock.call_later(at - now, self._ring)

    def _ring(self) -> None:
        self._timer, self._timer_at = None, inf
        self.admit()


def _front(queue: deque[Waiter]) -> int:
    return queue[0].number


def _has_front(queue: deque[Waiter]) -> bool:
    """Whether somebody waits in the queue, once those in front are gone who do not wait any more."""
    while queue and queue[0].future.done():
        queue.popleft()
    return bool(queue)


def _let_in(waiter: Waiter, lane: Lane, now: float) -> None:
    lane.start(now, waiter.tokens)
    waiter.future.set_result((lane, lane.grants))
