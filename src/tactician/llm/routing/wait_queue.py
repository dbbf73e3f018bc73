"""Queue of the calls that wait for a deployment of a model, in an event loop."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable, Set
from math import inf
from threading import RLock
from typing import Final

from tactician.clock import Clock, Timer
from tactician.llm.routing.deployment_state import INSTANT, DeploymentState
from tactician.llm.routing.policies import DeploymentStates, Policy, SingleDeployment

NOTHING_BLOCKED: Final[Set[DeploymentState]] = frozenset()


class Waiter:
    """Waiting call.

    Its future resolves to a deployment and the number of the call there; to `None` when the call should leave for a
    fallback.
    """

    __slots__ = ("can_leave", "candidates", "future", "number", "policy", "session", "states", "tokens")

    def __init__(
        self,
        candidates: DeploymentStates,
        session: str | None,
        tokens: int,
        policy: Policy,
        loop: AbstractEventLoop,
        can_leave: Callable[[float], bool],
    ) -> None:
        self.candidates = self.states = candidates
        self.session = session
        self.tokens = tokens
        self.policy = policy
        self.number = 0
        self.can_leave = can_leave
        self.future: Future[tuple[DeploymentState, int] | None] = loop.create_future()


class WaitQueue:
    """First-in, first-out queue of waiting calls.

    Calls with the same candidates share a subqueue; the oldest of the first calls of all subqueues is next.
    """

    def __init__(self, clock: Clock, lock: RLock) -> None:
        self._clock = clock
        self._lock = lock
        self._queues: dict[DeploymentStates, deque[Waiter]] = {}
        self._waiting = 0
        self._enqueued = 0
        self._timer: Timer | None = None
        self._timer_at = inf

    def __len__(self) -> int:
        return self._waiting

    def enqueue(self, waiter: Waiter) -> None:
        """Add a call at the end of the queue, and start it at once if possible."""
        self._enqueued += 1
        self._waiting += 1
        waiter.number = self._enqueued
        if self._append(waiter, self._clock.monotonic()):
            self.admit()

    def remove_waiter(self) -> None:
        """Count a waiter as gone, started or cancelled; its subqueue drops it when it comes to the front."""
        self._waiting -= 1
        if not self._waiting:
            self._set_timer(inf, 0.0)

    def admit(self, *, health_changed: bool = False) -> None:
        """Start the calls that can start now, and set the timer for the next.

        `health_changed` says that a circuit opened or closed.
        """
        with self._lock:
            now = self._clock.monotonic()
            if health_changed:
                self._requeue_all(now)
            self._set_timer(self._admit(now), now)

    def _admit(self, now: float) -> float:
        """Return when the next of the remaining calls may start."""
        if len(self._queues) == 1:
            (queue,) = self._queues.values()
            return self._admit_single_queue(queue, now)
        soonest = inf
        blocked: set[DeploymentState] = set()
        queues = self._list_active_queues()
        while queues:
            queue = min(queues, key=_first_number)
            waiter = queue[0]
            if (state := self._pick(waiter, blocked, now)) is not None:
                _start_call(waiter, state, now)
            else:
                # Calls behind this waiter must not take what it waits for, though they might need less.
                free = [state.available_at(now, waiter.tokens) for state in waiter.states if state not in blocked]
                soonest = min(soonest, *free, inf)
                blocked.update(waiter.states)
            if state is None or not _has_waiter(queue):
                queues.remove(queue)
        return soonest

    def _admit_single_queue(self, queue: deque[Waiter], now: float) -> float:
        while _has_waiter(queue):
            waiter = queue[0]
            if (state := self._pick(waiter, NOTHING_BLOCKED, now)) is None:
                return min([state.available_at(now, waiter.tokens) for state in waiter.states])
            _start_call(waiter, state, now)
        return inf

    def _pick(self, waiter: Waiter, blocked: Set[DeploymentState], now: float) -> DeploymentState | None:
        ready, tokens = now + INSTANT, waiter.tokens
        if isinstance(waiter.policy, SingleDeployment):  # there is nothing to choose
            only = waiter.states[0]
            return only if only.available_at(now, tokens) <= ready and only not in blocked else None
        return waiter.policy.pick(
            waiter.states, lambda state: state not in blocked and state.available_at(now, tokens) <= ready
        )

    def _append(self, waiter: Waiter, now: float) -> bool:
        """Append a waiter to its subqueue, and return whether it is the first there."""
        states = waiter.policy.narrow(waiter.candidates, waiter.session, now)
        waiter.states = states
        queue = self._queues.setdefault(states, deque())
        queue.append(waiter)
        return len(queue) == 1 or queue[0].future.done()

    def _requeue_all(self, now: float) -> None:
        """Look at all who wait again: some may use other deployments now, and some should leave for a fallback."""
        waiting = sorted(
            (waiter for queue in self._queues.values() for waiter in queue), key=lambda waiter: waiter.number
        )
        self._queues = {}
        for waiter in waiting:
            if waiter.future.done():
                continue
            if all(state.is_cooling_down(now) for state in waiter.candidates) and waiter.can_leave(now):
                waiter.future.set_result(None)
            else:
                self._append(waiter, now)

    def _list_active_queues(self) -> list[deque[Waiter]]:
        self._queues = {states: queue for states, queue in self._queues.items() if _has_waiter(queue)}
        return list(self._queues.values())

    def _set_timer(self, at: float, now: float) -> None:
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = None if at == inf else self._clock.call_later(at - now, self._on_timer)

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, inf
        self.admit()


def _first_number(queue: deque[Waiter]) -> int:
    return queue[0].number


def _has_waiter(queue: deque[Waiter]) -> bool:
    """Return whether a call waits in the subqueue, after dropping those at the front that do not wait any more."""
    while queue and queue[0].future.done():
        queue.popleft()
    return bool(queue)


def _start_call(waiter: Waiter, state: DeploymentState, now: float) -> None:
    state.start(now, waiter.tokens)
    waiter.future.set_result((state, state.last_call))
