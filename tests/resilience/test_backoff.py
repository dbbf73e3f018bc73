"""Pauses between attempts grow up to a limit, however many attempts there were."""

from __future__ import annotations

import pytest

from tactician.process import ActionRetryPolicy
from tactician.resilience.backoff import RetryRule, compute_backoff
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tactician.resilience.pace import Pace
from tactician.testing import FakeClock


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 1.0), (2, 3.0), (3, 9.0), (4, 10.0), (10_000, 10.0)])
def test_it_grows_up_to_a_limit(attempt: int, seconds: float) -> None:
    assert compute_backoff(attempt, base=1, factor=3, longest=10) == seconds


def test_no_base_means_no_pause() -> None:
    assert compute_backoff(10_000, base=0, factor=2, longest=10) == 0


def test_each_policy_has_the_same_limit_after_thousands_of_attempts() -> None:
    assert ActionRetryPolicy(attempts=20_000, max_delay=7, on=(KeyError,)).pause_after(10_000, KeyError()) == 7
    assert RetryRule(attempts=20_000, longest=7).draw_delay(10_000, lambda: 1.0) == 7
    assert CircuitBreakerPolicy(max_cooldown=7).compute_cooldown(10_000) == 7


async def test_turns_begin_some_seconds_apart() -> None:
    clock, begins = FakeClock(), list[float]()
    pace = Pace(2, clock)
    for _ in range(3):
        await pace.turn()
        begins.append(clock.monotonic())
    clock.advance(1)
    await pace.turn()

    assert [begin - begins[0] for begin in (*begins, clock.monotonic())] == [0, 2, 4, 6]
