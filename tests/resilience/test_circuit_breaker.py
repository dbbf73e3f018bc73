"""Circuit breakers with a window: failures count for a while, and the first cooldown is what the policy says."""

from __future__ import annotations

from math import inf

import pytest

from tactician.resilience.backoff import draw_backoff
from tactician.resilience.circuit_breaker import CircuitBreaker, CircuitBreakerPolicy

MINUTE = CircuitBreakerPolicy(failure_threshold=3, window=60, cooldown=300)


def fail_at(breaker: CircuitBreaker, *times: float) -> list[float | None]:
    """Fail at each time, in calls of their own, and return the cooldowns."""
    return [breaker.record_failure(call, now, 0.0) for call, now in enumerate(times, 1)]


def test_failures_within_the_window_open_the_circuit() -> None:
    breaker = CircuitBreaker(MINUTE)
    assert fail_at(breaker, 0, 30, 60) == [None, None, 300]
    assert breaker.is_open
    assert breaker.available_at == 360


def test_a_failure_before_the_window_does_not_count() -> None:
    breaker = CircuitBreaker(MINUTE)
    assert fail_at(breaker, 0, 30, 61, 89) == [None, None, None, 300]


def test_a_success_takes_no_failure_back_from_the_window() -> None:
    breaker = CircuitBreaker(MINUTE)
    fail_at(breaker, 0, 10)
    breaker.record_success(3)
    assert breaker.record_failure(4, 20, 0.0) == 300


def test_without_a_window_failures_count_in_a_row() -> None:
    breaker = CircuitBreaker(CircuitBreakerPolicy(failure_threshold=2))
    fail_at(breaker, 0)
    breaker.record_success(2)
    assert breaker.record_failure(3, 1, 0.0) is None
    assert breaker.record_failure(4, 10_000, 0.0) == 5


def test_a_trial_that_succeeds_forgets_what_failed_before() -> None:
    breaker = CircuitBreaker(MINUTE)
    fail_at(breaker, 0, 1, 2)
    breaker.begin_trial(4)
    assert breaker.available_at == inf
    assert breaker.record_success(4)
    assert breaker.record_failure(5, 3, 0.0) is None
    assert breaker.record_failure(6, 4, 0.0) is None
    assert breaker.record_failure(7, 5, 0.0) == 300


def test_a_trial_that_fails_opens_the_circuit_again_for_longer() -> None:
    breaker = CircuitBreaker(CircuitBreakerPolicy(failure_threshold=1, window=60, cooldown=10, max_cooldown=15))
    assert breaker.record_failure(1, 0, 0.0) == 10
    breaker.begin_trial(2)
    assert breaker.record_failure(2, 10, 0.0) == 15


def test_cooldowns_grow_up_to_the_longest_and_start_anew_after_a_success() -> None:
    breaker = CircuitBreaker(CircuitBreakerPolicy())
    cooldowns = fail_at(breaker, 0, 1, 2, 3, 4)[4:]
    for call in range(6, 12):
        breaker.begin_trial(call)
        cooldowns.append(breaker.record_failure(call, 1000 * call, 0.0))
    assert cooldowns == [5, 10, 20, 40, 80, 120, 120]
    breaker.begin_trial(12)
    assert breaker.record_success(12)
    assert fail_at(breaker, 0, 1, 2, 3, 4) == [None, None, None, None, 5]


def test_a_service_that_asks_for_a_pause_gets_it_only_while_the_circuit_is_closed() -> None:
    breaker = CircuitBreaker(CircuitBreakerPolicy(failure_threshold=2))
    breaker.hold(7)
    breaker.hold(3)
    assert breaker.available_at == 7
    fail_at(breaker, 10, 10)
    breaker.hold(99)
    assert breaker.available_at == 15


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_pauses_are_drawn_from_nothing_up_to_the_backoff(share: float) -> None:
    assert draw_backoff(3, base=1, factor=2, longest=60, random=lambda: share) == share * 4
    assert 0 <= draw_backoff(2, base=1, factor=2, longest=60) < 2
