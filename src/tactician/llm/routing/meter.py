"""A limit on how much may go through in a second."""

from __future__ import annotations


class Meter:
    """A rate limit: the virtual scheduling form of the generic cell rate algorithm (ITU-T I.371).

    It holds one number, the time at which all that was taken is paid for. Without a burst, what costs `c` keeps the
    next one away for `c / rate` seconds: starts are spaced, and no window of `w` seconds holds more than `rate * w`
    and one more. With a burst of `b` seconds, what was not used in the last `b` seconds may be used at once: a token
    bucket that holds `rate * b`, and no window holds more than `rate * (w + b)` and the excess of one cost over that.

    Args:
        rate: how much may go through, per second.
        burst: seconds for which what is not used is kept.
    """

    __slots__ = ("_paid_at", "burst", "rate")

    def __init__(self, rate: float, burst: float = 0.0) -> None:
        self.rate = rate
        self.burst = burst
        self._paid_at = float("-inf")

    def opens_at(self, now: float, cost: float = 1.0) -> float:
        """When the next may start that costs so much; one that costs more than the bucket holds needs a full one."""
        return max(self._paid_at, now - self.burst) + min(cost / self.rate, self.burst)

    def take(self, now: float, cost: float = 1.0) -> None:
        """Counts what starts now."""
        self._paid_at = max(self._paid_at, now - self.burst) + cost / self.rate

    def correct(self, difference: float) -> None:
        """Counts so much more than was taken, or less."""
        self._paid_at += difference / self.rate
