"""Statistics of paired scores: a bootstrap interval of the mean difference, and a sign-flip test.

The interval is the percentile bootstrap of Efron (1979) over cases; the test is Fisher's exact randomization of paired
differences. The interval alone raises false alarms in small data sets, where it is too narrow; the test never does, and
is blind to nothing that the interval shows in large ones. So a difference counts only when both say so.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import compress
from math import isfinite
from statistics import fmean
from typing import Final, TypeAlias

from tactician.errors import ConfigurationError
from tactician.frozen import frozen

Scores: TypeAlias = Sequence[float] | Mapping[str, float]
CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2_000
_TEST_SHARE: Final = 0.6
"""Share of the false alarms that the confidence allows which the test may raise: in simulations, too, few enough."""
_MOST_EXACT: Final = 14
"""Differences up to which all sign flips are counted: 16,384 of them."""


@frozen
class ScoreComparison:
    """Difference between two lists of paired scores.

    Attributes:
        cases: number of pairs.
        before: mean before.
        after: mean after.
        difference: mean of `after - before`.
        interval: bounds of the difference; of a single pair, without bounds.
        p_value: probability of a difference as large as this, in either direction, when nothing has changed.
        is_worse: true when `after` is lower beyond the noise.
        is_better: true when `after` is higher beyond the noise.
    """

    cases: int
    before: float
    after: float
    difference: float
    interval: tuple[float, float]
    p_value: float
    is_worse: bool = False
    is_better: bool = False

    @property
    def verdict(self) -> str:
        """The result in a word: `"worse"`, `"better"` or `"same"`."""
        return "worse" if self.is_worse else "better" if self.is_better else "same"


def compare_scores(
    before: Scores, after: Scores, *, seed: int = 0, confidence: float = CONFIDENCE, resamples: int = RESAMPLES
) -> ScoreComparison:
    """Compare paired scores, of which higher is better.

    Args:
        before: a score for each case; a mapping is paired by the names of the cases that both have.
        after: the scores of the same cases, in the same order.
        seed: seed of the resampling: the same scores and seed give the same interval.
        confidence: probability that the interval has the true difference.
        resamples: number of resamples of the bootstrap, and of the test where there are too many flips to count.

    Raises:
        ConfigurationError: when the lists differ in length or are empty, or a score is not a finite number.
    """
    differences, first, second = _pair(before, after)
    difference = fmean(differences)
    p_value = flip_signs(differences, seed=seed, flips=resamples)
    interval = resample_mean(differences, seed=seed, confidence=confidence, resamples=resamples)
    is_sure = p_value <= _TEST_SHARE * (1 - confidence)
    return ScoreComparison(
        len(differences),
        fmean(first),
        fmean(second),
        difference,
        interval,
        p_value,
        is_worse=is_sure and interval[1] < 0,
        is_better=is_sure and interval[0] > 0,
    )


def resample_mean(
    values: Sequence[float], *, seed: int = 0, confidence: float = CONFIDENCE, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean; a single value has no bounds."""
    if len(values) == 1:
        return (float("-inf"), float("inf"))
    chance, size = random.Random(seed), len(values)
    means = sorted(fmean(chance.choices(values, k=size)) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return _find_quantile(means, tail), _find_quantile(means, 1 - tail)


def flip_signs(differences: Sequence[float], *, seed: int = 0, flips: int = RESAMPLES) -> float:
    """Return the two-sided probability of a sum as far from 0, when the sign of each difference is chance."""
    values = [abs(value) for value in differences if value]
    total, observed = sum(values), abs(sum(differences))
    if not values:
        return 1.0
    least = observed - 1e-9 * total  # sums in another order differ in the last digit
    if len(values) <= _MOST_EXACT:
        sums = [-total]
        for value in values:
            sums += [part + 2 * value for part in sums]
        return sum(abs(flipped) >= least for flipped in sums) / len(sums)
    chance, extreme = random.Random(seed), 1  # the observed signs are one of the flips
    for _ in range(flips):
        signs = map(int, f"{chance.getrandbits(len(values)):b}".zfill(len(values)))
        extreme += abs(2 * sum(compress(values, signs)) - total) >= least
    return extreme / (flips + 1)


def _pair(before: Scores, after: Scores) -> tuple[list[float], list[float], list[float]]:
    """Return the differences, and both lists in the same order."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        shared = [name for name in before if name in after]
        before, after = [before[name] for name in shared], [after[name] for name in shared]
    if isinstance(before, Mapping) or isinstance(after, Mapping) or len(before) != len(after) or not before:
        raise ConfigurationError("before and after: compare a score for each case with a score for the same case")
    first, second = [float(score) for score in before], [float(score) for score in after]
    if not all(map(isfinite, (*first, *second))):
        raise ConfigurationError("before and after: a score is a finite number")
    return [new - old for old, new in zip(first, second, strict=True)], first, second


def _find_quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile between two neighbours, as numpy and scipy do by default."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
