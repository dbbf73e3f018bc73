from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.resilience.rate_limiter import RateLimiter

COSTS = st.lists(st.tuples(st.floats(0, 3), st.integers(1, 40)), min_size=1, max_size=40)


def started(limiter: RateLimiter, calls: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """When calls start that come one after the other, each so long after the start of the one before."""
    now, starts = 1000.0, []
    for gap, cost in calls:
        now = max(now + gap, limiter.available_at(now + gap, cost))
        limiter.consume(now, cost)
        starts.append((now, cost))
    return starts


@given(COSTS, st.floats(0.5, 50))
def test_without_a_burst_each_start_keeps_the_next_away_for_as_long_as_it_costs(
    calls: list[tuple[float, int]], rate: float
) -> None:
    starts = started(RateLimiter(rate), calls)
    for (first, cost), (second, _) in pairwise(starts):
        assert second - first >= cost / rate - 1e-6


@given(COSTS, st.floats(0.5, 50), st.floats(0, 3))
def test_no_window_holds_more_than_its_length_and_the_burst_and_what_one_cost_exceeds_that(
    calls: list[tuple[float, int]], rate: float, burst: float
) -> None:
    starts = started(RateLimiter(rate, burst), calls)
    excess = max(0.0, max(cost for _, cost in calls) - rate * burst)
    for first in range(len(starts)):
        taken = 0
        for now, cost in starts[first:]:
            taken += cost
            assert taken <= rate * (now - starts[first][0] + burst) + excess + 1e-6


@given(COSTS, st.floats(0.5, 50), st.floats(0, 3))
def test_what_waits_is_let_in_as_soon_as_the_rate_allows(
    calls: list[tuple[float, int]], rate: float, burst: float
) -> None:
    starts = started(RateLimiter(rate, burst), [(0.0, cost) for _, cost in calls])
    assert starts[-1][0] - 1000.0 <= sum(cost for _, cost in calls) / rate + 1e-6


def test_what_was_not_used_after_all_is_given_back() -> None:
    limiter = RateLimiter(10.0, burst=1.0)
    limiter.consume(0.0, 100)
    assert limiter.available_at(0.0, 10) == pytest.approx(10.0)
    limiter.adjust(-95)
    assert limiter.available_at(0.0, 5) == pytest.approx(0.0)


def test_what_was_used_beyond_the_estimate_is_paid_for() -> None:
    limiter = RateLimiter(10.0, burst=1.0)
    limiter.consume(0.0, 10)
    limiter.adjust(90)
    assert limiter.available_at(0.0, 10) == pytest.approx(10.0)


def test_no_more_is_saved_than_the_burst_holds() -> None:
    limiter = RateLimiter(10.0, burst=1.0)
    limiter.consume(0.0, 1)
    limiter.adjust(-1000)
    assert limiter.available_at(5.0, 10) == 5.0
    limiter.consume(5.0, 10)
    assert limiter.available_at(5.0, 10) == 6.0


def test_a_start_costs_one_and_nothing_is_kept_for_later_unless_a_limiter_says_so() -> None:
    limiter = RateLimiter(2.0)
    assert limiter.available_at(10.0) == 10.0
    limiter.consume(10.0)
    assert limiter.available_at(10.0) == 10.5
    kept = RateLimiter(2.0, burst=1.0)
    kept.consume(10.0, 2)
    assert kept.available_at(10.0) == 10.5
