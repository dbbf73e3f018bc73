"""Which HTTP statuses are worth another attempt, where a policy says it."""

import pytest

from tactician.errors import (
    AuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
)
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, ask, deployed

POLICY = ModelRetryPolicy(statuses=frozenset({409, 429, 503}))


def attempts(error: ModelError, policy: ModelRetryPolicy) -> int:
    """How often a call is tried that always ends so."""
    clock = FakeClock()
    model = FakeModel(clock, *[error] * 9)

    async def call() -> None:
        with pytest.raises(type(error)):
            await ModelRouter(
                deployed(a=model),
                clock=clock,
                circuit_breaker=CircuitBreakerPolicy(failure_threshold=0),
                retries=policy,
            ).generate(ask())

    clock.run(call())
    return len(model.requests)


@pytest.mark.parametrize(
    "error",
    [RateLimitError("", status=429), ModelServerError("", status=503), ModelRequestError("", status=409)],
    ids=["429", "503", "409"],
)
def test_a_listed_status_is_tried_again(error: ModelError) -> None:
    assert attempts(error, POLICY) == 3


@pytest.mark.parametrize(
    "error",
    [
        ModelServerError("", status=500),
        RateLimitError("", status=529),
        ModelTimeoutError("", status=408),
        AuthenticationError("", status=401),
    ],
    ids=["500", "529", "408", "401"],
)
def test_another_status_is_not(error: ModelError) -> None:
    assert attempts(error, POLICY) == 1


@pytest.mark.parametrize("error", [ModelConnectionError(""), ModelTimeoutError("")], ids=["connection", "timeout"])
def test_what_is_no_answer_is_tried_again_as_ever(error: ModelError) -> None:
    assert attempts(error, POLICY) == 3


def test_without_a_list_the_rules_say_it() -> None:
    assert attempts(ModelServerError("", status=500), ModelRetryPolicy()) == 3
    assert attempts(ModelRequestError("", status=409), ModelRetryPolicy()) == 1
