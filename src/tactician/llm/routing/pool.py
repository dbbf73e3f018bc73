"""The deployments of one model, and the calls that wait for one of them."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, CancelledError
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import RLock

from tactician.clock import Clock
from tactician.errors import RateLimitError
from tactician.llm.model import Features
from tactician.llm.routing.features import common_features
from tactician.llm.routing.lane import INSTANT, Lane
from tactician.llm.routing.line import Line, Waiter
from tactician.llm.routing.policies import Lanes, OnlyOne, Policy

MAX_WAITING = 100_000


class Pool:
    """All deployments of one model.

    Calls are let in where they may start now. Where none may, they wait in the order in which they came, in one line
    for all deployments, and the first takes whatever deployment opens first: nobody overtakes a call that could have
    gone to the same deployment. The state of a deployment belongs to the process; a line to its event loop.

    Event loops of several threads may use it at once: whoever looks at lanes or lines and changes them holds the
    `lock`, never across an `await`.
    """

    def __init__(self, model: str, lanes: Lanes, new_policy: Callable[[], Policy], clock: Clock) -> None:
        self.model = model
        self.lanes = lanes
        self.counts_tokens = any(lane.counts_tokens for lane in lanes)
        self.lock = RLock()
        self._clock = clock
        # Retries go round on their own, so that they do not disturb how first attempts are spread.
        self._first, self._again = (OnlyOne(), OnlyOne()) if len(lanes) == 1 else (new_policy(), new_policy())
        self._lines: dict[AbstractEventLoop, Line] = {}

    def features_of(self, lanes: Lanes) -> Features:
        """What all of these lanes can do."""
        return common_features(lane.deployment.features for lane in lanes)

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return sum(len(line) for line in self._lines.values())

    def try_enter(
        self, lanes: Lanes, session: str | None, tokens: int, now: float, *, again: bool
    ) -> tuple[Lane, int] | None:
        """Lets a call in, unless it has to wait: a lane, and the number under which it did."""
        with self.lock:
            if self._lines:
                return None
            policy, ready = self._policy(again), now + INSTANT
            lane = policy.pick(policy.narrow(lanes, session, now), lambda lane: lane.opens_at(now, tokens) <= ready)
            if lane is None:
                return None
            lane.start(now, tokens)
            return lane, lane.grants

    def is_free(self, lanes: Lanes, tokens: int, now: float) -> bool:
        """Whether a call could start now at one of these lanes."""
        return not self._lines and any(lane.opens_at(now, tokens) <= now + INSTANT for lane in lanes)

    async def wait(self, lanes: Lanes, session: str | None, tokens: int, *, again: bool) -> tuple[Lane, int]:
        """Waits for a turn: a lane, and the number under which it let the call in.

        Whoever is cancelled gives its place, or the turn that it just got, to the next.

        Raises:
            RateLimitError: when too many wait already.
        """
        loop = asyncio.get_running_loop()
        waiter = Waiter(lanes, session, tokens, self._policy(again), loop)
        line = self._join(waiter, loop)
        try:
            return await waiter.future
        except CancelledError:
            self._give_up(waiter)
            raise
        finally:
            with self.lock:
                line.leave()
                if not line:
                    self._lines.pop(loop, None)

    def _join(self, waiter: Waiter, loop: AbstractEventLoop) -> Line:
        with self.lock:
            if (line := self._lines.get(loop)) is None:
                line = self._lines[loop] = Line(self._clock, self.lock)
            elif len(line) >= MAX_WAITING:
                raise RateLimitError(f"{self.model}: {MAX_WAITING} calls wait for their turn already", model=self.model)
            line.join(waiter)
            return line

    def _give_up(self, waiter: Waiter) -> None:
        with self.lock:
            if waiter.future.done() and not waiter.future.cancelled():
                lane, grant = waiter.future.result()
                lane.undo(grant, waiter.tokens)
            self.changed()

    def _policy(self, again: bool) -> Policy:
        return self._again if again else self._first

    def changed(self, *, health: bool = False) -> None:
        """Lets those in who can start now; to be called after every change of a lane, of its `health` especially."""
        if not self._lines:
            return
        here = _running_loop()
        for loop, line in tuple(self._lines.items()):
            if loop is here:
                line.admit(health=health)
            elif loop.is_closed():
                del self._lines[loop]
            else:
                with suppress(RuntimeError):  # it has just been closed
                    loop.call_soon_threadsafe(partial(line.admit, health=health))


def _running_loop() -> AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # a call that was abandoned is being cleared away
        return None
