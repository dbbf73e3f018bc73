"""The statistics of comparisons: beside scipy, and with few false alarms."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tactician.errors import ConfigurationError
from tactician.evals import compare_scores
from tests.support.effort import EFFORT

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("size", [2, 7, 13, 40, 200])
def test_the_interval_and_the_test_are_those_of_scipy(size: int) -> None:
    chance = np.random.default_rng(size)
    before, after = chance.normal(0, 1, size), chance.normal(0.3, 1, size)
    ours = compare_scores(before.tolist(), after.tolist(), seed=1, resamples=4_000)
    theirs = stats.bootstrap(
        (after - before,), np.mean, n_resamples=4_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    spread = float(np.std(after - before)) / size**0.5
    assert ours.interval == pytest.approx((theirs.low, theirs.high), abs=0.15 * spread)
    flipped = stats.permutation_test(
        (after - before,), np.mean, permutation_type="samples", n_resamples=40_000, rng=np.random.default_rng(3)
    )
    assert ours.p_value == pytest.approx(float(flipped.pvalue), abs=0.03)


@pytest.mark.soak
@pytest.mark.parametrize(("size", "is_binary"), [(4, True), (8, True), (10, False), (30, True)])
def test_equal_systems_raise_few_alarms(size: int, is_binary: bool) -> None:
    chance = random.Random(size)

    def run(rate: float) -> float:
        return float(chance.random() < rate) if is_binary else chance.gauss(rate)

    alarms, simulations = 0, 1_000 * EFFORT
    for number in range(simulations):
        rates = [chance.random() for _ in range(size)]
        before, after = ([run(rate) for rate in rates] for _ in range(2))
        alarms += compare_scores(before, after, seed=number, resamples=100).verdict != "same"
    assert alarms <= 0.05 * simulations


def test_a_clear_difference_is_seen_and_a_single_case_proves_nothing() -> None:
    worse = compare_scores([1.0] * 10, [0.0] * 10)
    assert (worse.verdict, worse.difference, worse.interval) == ("worse", -1.0, (-1.0, -1.0))
    assert compare_scores([0.0] * 10, [1.0] * 10).is_better
    assert compare_scores({"a": 1.0}, {"a": 0.0}).verdict == "same"
    assert compare_scores([1.0] * 5, [0.0] * 5).verdict == "same", "5 coins in a row happen"
    assert compare_scores([1.0] * 10, [1.0] * 10).p_value == 1.0


def test_scores_are_paired_by_name_and_the_seed_repeats_all() -> None:
    chance = random.Random(5)
    before = {str(number): chance.random() for number in range(30)}
    after = {name: before[name] + chance.gauss(0, 0.1) for name in reversed(before)}
    assert compare_scores(before, after, seed=3) == compare_scores(before, after, seed=3)
    assert compare_scores(before, {**after, "more": 9.0}, seed=3) == compare_scores(before, after, seed=3)
    with pytest.raises(ConfigurationError, match="the same case"):
        compare_scores([1.0], [1.0, 2.0])
    with pytest.raises(ConfigurationError, match="finite"):
        compare_scores([1.0], [float("nan")])
