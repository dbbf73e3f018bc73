"""Experience: what actions, tools and models took in earlier runs, where the newest runs count most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from random import Random
from typing import Final

from tactician.frozen import frozen
from tactician.planning.estimates import RunEstimate

MOST_TRIALS: Final = 100
"""Number of runs of an action that count, the newest."""
_FADING: Final = 0.95
"""By so much each newer run lowers the weight of a run: about the last 20 decide, so that a change is soon noticed."""
_HALF_LIFE: Final = 30 * 24 * 3600.0
"""Seconds in which the weight of a run halves."""
_SHARPNESS: Final = 4.0
_SURE: Final = 10.0
"""From so many runs on, samples vary as if there were four times as many: what has proved dearer is seldom tried."""
_LEAST_DEVIATION: Final = 0.1
"""A mean of few runs is unsure by at least this part of itself, divided by the root of their number."""


@frozen
class RunTrial:
    """A run of an action, a tool or a model, as it was recorded.

    Attributes:
        at: when it ended, in seconds since the epoch.
        seconds: its duration.
        dollars: US dollars of its model calls, as far as prices are known.
        succeeded: True when it gave a result.
    """

    at: float
    seconds: float
    dollars: float
    succeeded: bool


@frozen
class Experience:
    """Experience with an action, a tool or a model, from its earlier runs.

    Attributes:
        trials: the newest runs, the newest first.
        now: the time from which their age counts, in seconds since the epoch.
        by_model: the same by the models that were called.
    """

    trials: tuple[RunTrial, ...] = ()
    now: float = 0.0
    by_model: tuple[tuple[str, Experience], ...] = ()

    @staticmethod
    def of(trials: Iterable[RunTrial], now: float) -> Experience:
        """Return the experience of trials in any order."""
        newest = sorted(trials, key=lambda trial: trial.at, reverse=True)
        return Experience(tuple(newest[:MOST_TRIALS]), now)

    @property
    def runs(self) -> int:
        """Number of runs that count."""
        return len(self.trials)

    @property
    def success(self) -> float:
        """The part of the runs that succeeded, as if one more had: a single failure does not rule an action out."""
        weights = self._weights
        good = sum(weight for weight, trial in zip(weights, self.trials, strict=True) if trial.succeeded)
        return (good + 1.0) / (sum(weights) + 1.0)

    @property
    def seconds(self) -> float:
        """Mean duration of a run in seconds."""
        return self._average([trial.seconds for trial in self.trials])

    @property
    def dollars(self) -> float:
        """Mean price of a run in US dollars."""
        return self._average([trial.dollars for trial in self.trials])

    @property
    def estimate(self) -> RunEstimate:
        """The estimate of the next run; it expects to take nothing, without any earlier run."""
        return RunEstimate(seconds=self.seconds, dollars=self.dollars, success=self.success, runs=self.runs)

    def sample(self, draw: Random) -> RunEstimate:
        """Return what the next run may well take: the less is known, the further from the mean.

        Plans that follow such estimates try an action as often as it is likely to be the best: Thompson sampling,
        after Chapelle and Li, "An empirical evaluation of Thompson sampling" (NIPS 2011).
        """
        weights = self._weights
        good = sum(weight for weight, trial in zip(weights, self.trials, strict=True) if trial.succeeded)
        sharpness = _sharpen(sum(weights))
        success = draw.betavariate(sharpness * good + 1.0, sharpness * (sum(weights) - good) + 1.0)
        # One deviation for both: they grow with the work of a run.
        deviation = draw.gauss(0.0, 1.0)
        seconds = self._deviate([trial.seconds for trial in self.trials], deviation)
        dollars = self._deviate([trial.dollars for trial in self.trials], deviation)
        return RunEstimate(seconds=seconds, dollars=dollars, success=success, runs=self.runs)

    @property
    def _weights(self) -> list[float]:
        return [
            _FADING**rank * 0.5 ** (max(0.0, self.now - trial.at) / _HALF_LIFE)
            for rank, trial in enumerate(self.trials)
        ]

    def _average(self, values: Sequence[float]) -> float:
        weights = self._weights
        total = sum(weights)
        return sum(weight * value for weight, value in zip(weights, values, strict=True)) / total if total else 0.0

    def _deviate(self, values: Sequence[float], deviation: float) -> float:
        mean, weight = self._average(values), sum(self._weights)
        if not weight:
            return 0.0
        variance = self._average([(value - mean) ** 2 for value in values])
        spread = max(math.sqrt(variance), _LEAST_DEVIATION * mean)
        return max(0.0, mean + deviation * spread / math.sqrt(_sharpen(weight) * weight))


def _sharpen(weight: float) -> float:
    return 1.0 + (_SHARPNESS - 1.0) * min(1.0, weight / _SURE)
