"""Rate limiter: how much may go through per second."""

from __future__ import annotations


class RateLimiter:
    """Rate limiter: the virtual scheduling form of the generic cell rate algorithm (ITU-T I.371).

    Its state is a number, the time at which everything consumed so far is paid for. Without a burst, a cost of `c`
    delays the next start by `c / rate` seconds: starts are spaced, and no window of `w` seconds holds more than `rate *
    w` plus one. With a burst of `b` seconds, what was not used in the last `b` seconds may be used at once: a token
    bucket that holds `rate * b`, where no window holds more than `rate * (w + b)` plus the excess of a single cost over
    that.

    Args:
        rate: amount that may go through in a second.
        burst: seconds for which unused capacity is kept.
    """

    __slots__ = ("_next_at", "burst", "rate")

    def __init__(self, rate: float, burst: float = 0.0) -> None:
        self.rate = rate
        self.burst = burst
        self._next_at = float("-inf")

    def available_at(self, now: float, cost: float = 1.0) -> float:
        """Return when the next start of this cost may happen; a cost above the bucket's size needs a full bucket."""
        return max(self._next_at, now - self.burst) + min(cost / self.rate, self.burst)

    def consume(self, now: float, cost: float = 1.0) -> None:
        """Count the cost of a start."""
        self._next_at = max(self._next_at, now - self.burst) + cost / self.rate

    def adjust(self, difference: float) -> None:
        """Add a difference, positive or negative, to what was consumed."""
        self._next_at += difference / self.rate
