"""Circuit breakers: when a service that keeps failing is left alone, and how it comes back."""

from __future__ import annotations

from collections import deque
from math import inf

from tactician.amounts import Count, Factor, Seconds
from tactician.frozen import frozen
from tactician.resilience.backoff import compute_backoff


@frozen(kw_only=True)
class CircuitBreakerPolicy:
    """Policy by which the circuit of a failing service opens and closes (M. Nygard, *Release It!*).

    Attributes:
        failure_threshold: failures that open the circuit: in a row, or within the window; with `0`, it never opens.
        window: seconds for which a failure counts, whatever succeeds meanwhile; `None` to count failures in a row.
        cooldown: seconds that the circuit stays open the first time.
        cooldown_factor: growth of the cooldown with each trial that fails, until a trial succeeds.
        max_cooldown: maximum to which the cooldown grows, in seconds.
    """

    failure_threshold: Count = 5
    window: Seconds | None = None
    cooldown: Seconds = 5.0
    cooldown_factor: Factor = 2.0
    max_cooldown: Seconds = 120.0

    def compute_cooldown(self, openings: int) -> float:
        """Return the seconds of the next cooldown, after `openings` of them without a success."""
        longest = max(self.cooldown, self.max_cooldown)  # a first cooldown above the maximum is meant as it is
        return compute_backoff(openings + 1, base=self.cooldown, factor=self.cooldown_factor, longest=longest)


class CircuitBreaker:
    """Circuit breaker of a service.

    After a cooldown, the circuit is half-open: a single call goes through, the trial. If it succeeds, the circuit
    closes; if it fails, the next cooldown is longer. Calls are identified by their numbers, which count from 1.

    Attributes:
        is_open: true when the circuit is open or half-open.
        available_at: when the service may be called; `inf` while a trial is running.
    """

    __slots__ = ("_failures", "_openings", "_trial", "available_at", "is_open", "policy")

    def __init__(self, policy: CircuitBreakerPolicy) -> None:
        self.policy = policy
        self.is_open = False
        self.available_at = -inf
        self._failures = deque[float](maxlen=max(1, policy.failure_threshold))
        self._openings = 0
        self._trial = 0

    def begin_trial(self, call: int) -> None:
        """Let this call through as the trial, and no other until it ends."""
        self._trial, self.available_at = call, inf

    def is_trial(self, call: int) -> bool:
        """Return whether this call is the running trial."""
        return self.is_open and self._trial == call

    def end_trial(self, call: int) -> None:
        """End the trial without a verdict, if this call is the trial, so that another may begin."""
        if self.is_trial(call):
            self._trial, self.available_at = 0, -inf

    def record_success(self, call: int) -> bool:
        """Count a success, and return whether it closed the circuit."""
        if self.policy.window is None:
            self._failures.clear()
        # A call that was sent before the circuit opened says nothing about the state of the service now.
        if not (self.is_open and self._trial == call):
            return False
        self.is_open, self.available_at, self._openings = False, -inf, 0
        self._failures.clear()
        return True

    def record_failure(self, call: int, now: float, retry_after: float) -> float | None:
        """Count a failure, and return the cooldown if it opened the circuit."""
        is_trial = self.is_trial(call)
        if self.is_open and not is_trial:
            return None
        self._failures.append(now)
        if not is_trial and not self._has_failed_too_often(now):
            self.hold(now + retry_after)
            return None
        cooldown = max(retry_after, self.policy.compute_cooldown(self._openings))
        self._openings += 1
        self._trial = 0
        self._failures.clear()
        self.is_open, self.available_at = True, now + cooldown
        return cooldown

    def _has_failed_too_often(self, now: float) -> bool:
        threshold, window = self.policy.failure_threshold, self.policy.window
        if not 0 < threshold <= len(self._failures):
            return False
        return window is None or now - self._failures[0] <= window

    def hold(self, until: float) -> None:
        """Keep calls away until then, because the provider asked for it. No trial follows."""
        if not self.is_open:
            self.available_at = max(self.available_at, until)
