"""When a deployment that keeps failing rests, and how it comes back."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True, kw_only=True)
class RestPolicy:
    """When and how long a failing deployment rests: a circuit breaker (M. Nygard, *Release It!*).

    Attributes:
        failures: so many in a row and it rests. `0`: it never does.
        seconds: how long it rests the first time.
        growth: each rest is longer by this factor than the one before, until a trial succeeds.
        longest: seconds that no rest exceeds.
    """

    failures: int = 5
    seconds: float = 5.0
    growth: float = 2.0
    longest: float = 120.0

    def rest(self, rests: int) -> float:
        """Seconds of the next rest, after so many without a success."""
        return min(self.longest, self.seconds * self.growth ** min(rests, 64))


class Circuit:
    """Whether a deployment may be called.

    After a rest one single call goes through, the trial: it succeeds and the circuit is closed, or it fails and the
    next rest is longer. Calls are known by their numbers, which count from 1.

    Attributes:
        is_down: whether it rests, or waits for the verdict of its trial.
        opens_at: when it may be called; `inf` while a trial is under way.
    """

    __slots__ = ("_failures", "_rests", "_trial", "is_down", "opens_at", "policy")

    def __init__(self, policy: RestPolicy) -> None:
        self.policy = policy
        self.is_down = False
        self.opens_at = -inf
        self._failures = 0
        self._rests = 0
        self._trial = 0

    def begin_trial(self, call: int) -> None:
        """This call goes through, and no other until it ends."""
        self._trial, self.opens_at = call, inf

    def is_trial(self, call: int) -> bool:
        """Whether this call is the trial that is under way."""
        return self.is_down and self._trial == call

    def end_trial(self, call: int) -> None:
        """The call ended without a verdict: if it was the trial, another one may begin."""
        if self.is_trial(call):
            self._trial, self.opens_at = 0, -inf

    def succeeded(self, call: int) -> bool:
        """Counts a success; whether that ended a rest."""
        self._failures = 0
        # A call that was sent before the rest says nothing about now.
        if not (self.is_down and self._trial == call):
            return False
        self.is_down, self.opens_at, self._rests = False, -inf, 0
        return True

    def failed(self, call: int, now: float, retry_after: float) -> float | None:
        """Counts a failure; how many seconds it rests now, if that is news."""
        is_trial = self.is_trial(call)
        if self.is_down and not is_trial:
            return None
        self._failures += 1
        if not is_trial and not 0 < self.policy.failures <= self._failures:
            self.hold(now + retry_after)
            return None
        rest = max(retry_after, self.policy.rest(self._rests))
        self._rests += 1
        self._failures = self._trial = 0
        self.is_down, self.opens_at = True, now + rest
        return rest

    def hold(self, until: float) -> None:
        """Keeps calls away until then. That is a provider's wish and no failure: no trial follows."""
        if not self.is_down:
            self.opens_at = max(self.opens_at, until)
