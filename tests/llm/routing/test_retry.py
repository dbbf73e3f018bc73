"""Retries for calls that no router makes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
    ModelError,
    ModelRequestError,
    ModelServerError,
    RateLimitError,
)
from tactician.llm.routing import ModelRetryPolicy, retry
from tests.llm.routing.support import FakeClock, virtual

DOWN = ModelServerError("down", status=500)


class Flaky:
    """Raises its errors, one for each call, and then says "yes"."""

    def __init__(self, clock: FakeClock, *errors: ModelError) -> None:
        self.clock = clock
        self.starts: list[float] = []
        self._errors: Iterator[ModelError] = iter(errors)

    async def call(self) -> str:
        self.starts.append(self.clock.monotonic() - 1000.0)
        for error in self._errors:
            raise error
        return "yes"

    async def outcome(self, retries: ModelRetryPolicy | None = ModelRetryPolicy()) -> str:  # noqa: B008
        return await retry(self.call, retries, clock=self.clock, random=lambda: 1.0)


@virtual
async def test_what_fails_in_passing_is_tried_again_after_a_pause(clock: FakeClock) -> None:
    flaky = Flaky(clock, DOWN, RateLimitError("busy", status=429, retry_after=30.0))

    assert await flaky.outcome() == "yes"
    assert flaky.starts == [0.0, 1.0, 31.0]


@virtual
async def test_after_the_last_attempt_its_error_is_raised(clock: FakeClock) -> None:
    flaky = Flaky(clock, DOWN, DOWN, ModelServerError("the last", status=503))

    with pytest.raises(ModelServerError, match="the last"):
        await flaky.outcome()
    assert flaky.starts == [0.0, 1.0, 3.0]


@pytest.mark.parametrize(
    "error",
    [ModelRequestError("wrong", status=400), AuthenticationError("key", status=401), ContentFilterError("no")],
)
def test_what_is_no_use_is_not_tried_again(error: ModelError) -> None:
    clock = FakeClock()
    flaky = Flaky(clock, error)

    with pytest.raises(type(error)):
        clock.run(flaky.outcome())
    assert flaky.starts == [0.0]


@virtual
async def test_without_a_policy_nothing_is_tried_again(clock: FakeClock) -> None:
    flaky = Flaky(clock, DOWN)

    with pytest.raises(ModelServerError):
        await flaky.outcome(None)
    assert flaky.starts == [0.0]


@virtual
async def test_no_attempt_begins_after_the_deadline(clock: FakeClock) -> None:
    flaky = Flaky(clock, RateLimitError("busy", retry_after=4.0), RateLimitError("busy", retry_after=7.0))

    with pytest.raises(RateLimitError):
        await flaky.outcome(ModelRetryPolicy(deadline=10.0))
    assert flaky.starts == [0.0, 4.0]
