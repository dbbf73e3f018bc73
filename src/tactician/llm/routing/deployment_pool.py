"""Deployments of a model, and the calls that wait for them."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, CancelledError
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import RLock

from tactician.clock import Clock
from tactician.errors import RateLimitError
from tactician.llm.routing.deployment_state import INSTANT, DeploymentState
from tactician.llm.routing.policies import DeploymentStates, Policy, SingleDeployment
from tactician.llm.routing.wait_queue import Waiter, WaitQueue

MAX_WAITING = 100_000


class DeploymentPool:
    """All deployments of a model.

    A call starts at once if a deployment can take it. Otherwise it waits, in order of arrival, in a queue for all
    deployments, and the first in the queue takes whatever deployment is available first: no call overtakes another that
    could have gone to the same deployment. The state of a deployment belongs to the process; a queue to its event loop.

    Event loops of several threads may use a pool at once: code that reads and changes states or queues holds the
    `lock`, never across an `await`.
    """

    def __init__(self, model: str, states: DeploymentStates, new_policy: Callable[[], Policy], clock: Clock) -> None:
        self.model = model
        self.states = states
        self.has_token_limit = any(state.has_token_limit for state in states)
        self.lock = RLock()
        self._clock = clock
        self._only = states[0] if len(states) == 1 else None  # there is nothing to choose
        # Retries have a policy object of their own, so that they do not disturb how first attempts are spread.
        self._first_policy, self._retry_policy = (
            (SingleDeployment(), SingleDeployment()) if len(states) == 1 else (new_policy(), new_policy())
        )
        self._queues: dict[AbstractEventLoop, WaitQueue] = {}

    @property
    def waiting(self) -> int:
        """Number of waiting calls."""
        return sum(map(len, tuple(self._queues.values())))

    def try_acquire(
        self, states: DeploymentStates, session: str | None, tokens: int, now: float, *, is_retry: bool
    ) -> tuple[DeploymentState, int] | None:
        """Start a call if it need not wait, and return the deployment and the call's number there."""
        with self.lock:
            if self._queues:
                return None
            state = self._only
            if state is None:
                state = self._pick(states, session, tokens, now, is_retry=is_retry)
            elif state.available_at(now, tokens) > now + INSTANT:
                return None
            if state is None:
                return None
            state.start(now, tokens)
            return state, state.last_call

    def _pick(
        self, states: DeploymentStates, session: str | None, tokens: int, now: float, *, is_retry: bool
    ) -> DeploymentState | None:
        policy, ready = self._select_policy(is_retry), now + INSTANT
        return policy.pick(policy.narrow(states, session, now), lambda state: state.available_at(now, tokens) <= ready)

    def is_available(self, states: DeploymentStates, tokens: int, now: float) -> bool:
        """Return whether a call could start now at any of these deployments."""
        return not self._queues and any(state.available_at(now, tokens) <= now + INSTANT for state in states)

    async def acquire(
        self,
        states: DeploymentStates,
        session: str | None,
        tokens: int,
        *,
        is_retry: bool,
        can_leave: Callable[[float], bool],
    ) -> tuple[DeploymentState, int] | None:
        """Wait for a turn, and return the deployment and the call's number there.

        A call that is cancelled gives its place, or the turn that it just got, to the next.

        Args:
            states: deployments that the call may take.
            session: key that keeps calls together.
            tokens: estimate of the tokens of the call.
            is_retry: true when it was tried before.
            can_leave: function that returns whether the call has somewhere else to go, at a time of the clock.

        Returns:
            `None` when all the deployments cool down while the call waits, and it has somewhere else to go.

        Raises:
            RateLimitError: when too many calls are waiting.
        """
        loop = asyncio.get_running_loop()
        waiter = Waiter(states, session, tokens, self._select_policy(is_retry), loop, can_leave)
        queue = self._join(waiter, loop)
        try:
            return await waiter.future
        except CancelledError:
            self._cancel_wait(waiter)
            raise
        finally:
            with self.lock:
                queue.remove_waiter()
                if not queue:
                    self._queues.pop(loop, None)

    def _join(self, waiter: Waiter, loop: AbstractEventLoop) -> WaitQueue:
        with self.lock:
            if (queue := self._queues.get(loop)) is None:
                queue = self._queues[loop] = WaitQueue(self._clock, self.lock)
            elif len(queue) >= MAX_WAITING:
                raise RateLimitError(f"{self.model}: {MAX_WAITING} calls are waiting already", model=self.model)
            queue.enqueue(waiter)
            return queue

    def _cancel_wait(self, waiter: Waiter) -> None:
        with self.lock:
            place = waiter.future.result() if waiter.future.done() and not waiter.future.cancelled() else None
            if place is not None:
                state, call_number = place
                state.cancel_start(call_number, waiter.tokens)
            self.admit_waiting()

    def _select_policy(self, is_retry: bool) -> Policy:
        return self._retry_policy if is_retry else self._first_policy

    def admit_waiting(self, *, health_changed: bool = False) -> None:
        """Start the waiting calls that can start now.

        Call this after every change of a deployment's state; `health_changed` says that its availability changed.
        """
        if not self._queues:
            return
        here = _find_running_loop()
        for loop, queue in tuple(self._queues.items()):
            if loop is here:
                queue.admit(health_changed=health_changed)
            elif loop.is_closed():
                del self._queues[loop]
            else:
                with suppress(RuntimeError):  # the loop was closed just now
                    loop.call_soon_threadsafe(partial(queue.admit, health_changed=health_changed))


def _find_running_loop() -> AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # an abandoned call is being garbage collected
        return None
