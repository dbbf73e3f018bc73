"""Failover, circuit_breaker, trials and Retry-After."""

import asyncio

import pytest

from tactician.errors import (
    ModelConnectionError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
)
from tactician.llm import ModelRequest
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.retries import NO_RETRY, ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.backoff import RetryRule
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, ask, deployed, settled, together, virtual

DOWN = ModelServerError("down", status=503)
ONE_TRY = ModelRetryPolicy(server=NO_RETRY, rate_limit=NO_RETRY)


async def fail(router: ModelRouter) -> None:
    with pytest.raises(ModelServerError):
        await router.generate(ask())


@virtual
async def test_a_failed_call_goes_to_another_instance_at_once(clock: FakeClock) -> None:
    a, b = FakeModel(clock, DOWN), FakeModel(clock)
    response = await ModelRouter(deployed(a=a, b=b), clock=clock).generate(ask())
    assert response.usage.model == "b:m"
    assert clock.monotonic() == 1000.0


@virtual
async def test_when_all_have_failed_a_call_pauses_before_it_goes_round_again(clock: FakeClock) -> None:
    a, b = FakeModel(clock, DOWN), FakeModel(clock, DOWN)
    await ModelRouter(deployed(a=a, b=b), clock=clock, random=lambda: 0.5).generate(ask())
    assert clock.monotonic() == 1001.0


@virtual
async def test_a_call_does_not_fail_over_to_an_instance_with_an_open_circuit(clock: FakeClock) -> None:
    a, b = FakeModel(clock, DOWN, DOWN), FakeModel(clock, DOWN)
    retries, circuit_breaker = (
        ModelRetryPolicy(server=RetryRule(attempts=2)),
        CircuitBreakerPolicy(failure_threshold=2, cooldown=60.0),
    )
    router = ModelRouter(
        deployed(a=a, b=b), clock=clock, retries=retries, circuit_breaker=circuit_breaker, random=lambda: 1.0
    )
    with pytest.raises(ModelServerError):
        await router.generate(ask(instances=("a",)))
    response = await router.generate(ask())
    assert response.usage.model == "b:m"
    assert b.starts == [1001.0, 1002.0]


@virtual
async def test_a_circuit_opens_after_so_many_failures_in_a_row(clock: FakeClock) -> None:
    a, b = FakeModel(clock, DOWN, DOWN, None, DOWN, DOWN, DOWN), FakeModel(clock)
    router = ModelRouter(
        deployed(a=a, b=b), clock=clock, circuit_breaker=CircuitBreakerPolicy(failure_threshold=3, cooldown=60.0)
    )
    for _ in range(40):
        await router.generate(ask())
    assert 6 <= len(a.starts) <= 8, "half of them, and at most two turns that it is owed"
    assert [one.cooldown_until for one in router.status()] == [1060.0, None]


@virtual
async def test_after_the_cooldown_one_trial_goes_through_and_closes_the_circuit(clock: FakeClock) -> None:
    a, b = FakeModel(clock, DOWN), FakeModel(clock, seconds=1.0)
    router = ModelRouter(
        deployed(a=a, b=b), clock=clock, circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=10.0)
    )
    await router.generate(ask())
    a._seconds = 5.0
    await asyncio.sleep(10.0)
    calls = [asyncio.create_task(router.generate(ask())) for _ in range(8)]
    await settled()
    assert len(a.starts) == 2, "a trial is one call"
    await together(calls)
    await together(router.generate(ask()) for _ in range(8))
    assert 6 <= len(a.starts) <= 8, "and then it is one of all, with at most two turns that it is owed"


@virtual
async def test_cooldowns_grow_until_a_trial_succeeds(clock: FakeClock) -> None:
    a = FakeModel(clock, *[DOWN] * 6)
    circuit_breaker = CircuitBreakerPolicy(failure_threshold=1, cooldown=1.0, cooldown_factor=3.0, max_cooldown=20.0)
    router = ModelRouter(deployed(a=a), clock=clock, retries=ONE_TRY, circuit_breaker=circuit_breaker)
    for _ in range(6):
        await fail(router)
    await router.generate(ask())
    assert [round(y - x, 6) for x, y in zip(a.starts, a.starts[1:], strict=False)] == [1, 3, 9, 20, 20, 20]
    a._outcomes = [DOWN]
    await fail(router)
    await router.generate(ask())
    assert round(a.starts[-1] - a.starts[-2], 6) == 1, "as short as the first, after a success"


@virtual
async def test_when_all_circuits_are_open_a_call_waits_for_the_first_to_close(clock: FakeClock) -> None:
    a, b = FakeModel(clock, DOWN), FakeModel(clock)
    router = ModelRouter(
        deployed(a=a, b=b),
        clock=clock,
        retries=ONE_TRY,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=10.0),
    )
    await fail(router)
    await asyncio.sleep(3.0)
    b._outcomes = [DOWN]
    await fail(router)
    response = await router.generate(ask())
    assert (response.usage.model, clock.monotonic()) == ("a:m", 1010.0)


@virtual
async def test_all_that_wait_for_a_trial_go_through_when_it_succeeds(clock: FakeClock) -> None:
    a = FakeModel(clock, DOWN, seconds=2.0)
    router = ModelRouter(
        deployed(a=a),
        clock=clock,
        retries=ONE_TRY,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=10.0),
    )
    await fail(router)
    await together(router.generate(ask()) for _ in range(5))
    assert a.starts == [1000.0, 1012.0, 1014.0, 1014.0, 1014.0, 1014.0]


@virtual
async def test_a_trial_that_is_cancelled_makes_way_for_another(clock: FakeClock) -> None:
    a = FakeModel(clock, DOWN, seconds=2.0)
    router = ModelRouter(
        deployed(a=a),
        clock=clock,
        retries=ONE_TRY,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=10.0),
    )
    await fail(router)
    trial, next_one = (asyncio.create_task(router.generate(ask())) for _ in range(2))
    await asyncio.sleep(11.0)
    trial.cancel()
    await next_one
    assert a.starts == [1000.0, 1012.0, 1013.0]


@virtual
async def test_a_call_from_before_the_cooldown_neither_ends_nor_prolongs_it(clock: FakeClock) -> None:
    outcomes = {"old good": None, "old bad": DOWN, "bad": DOWN}
    seconds = {"old good": 15.0, "old bad": 16.0, "bad": 1.0}

    class Slow(FakeModel):
        async def generate(self, request: ModelRequest):  # type: ignore[no-untyped-def]  # noqa: ANN202
            self._seconds = seconds.get(request.prompt, 10.0)
            return await super().generate(request)

    a = Slow(clock, decide=lambda request: outcomes.get(request.prompt))
    router = ModelRouter(
        deployed(a=a),
        clock=clock,
        retries=ONE_TRY,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=10.0),
    )
    calls = [asyncio.create_task(router.generate(ask(prompt))) for prompt in ["old good", "old bad", "bad"]]
    await asyncio.sleep(2.0)
    # The trial runs from 11 to 21; the old calls end within it, and the last call begins when it has ended.
    calls += [asyncio.create_task(router.generate(ask(prompt))) for prompt in ["trial", "last"]]
    await together(calls)
    assert a.starts == [1000.0] * 3 + [1011.0, 1021.0]


@virtual
async def test_a_wrong_request_says_nothing_about_the_instance(clock: FakeClock) -> None:
    a = FakeModel(clock, *[ModelRequestError("wrong", status=400)] * 20)
    router = ModelRouter(deployed(a=a), clock=clock, circuit_breaker=CircuitBreakerPolicy(failure_threshold=1))
    for _ in range(20):
        with pytest.raises(ModelRequestError):
            await router.generate(ask())
    assert router.status()[0].cooldown_until is None


@virtual
async def test_an_instance_that_says_when_to_come_back_is_left_alone_until_then_and_needs_no_trial(
    clock: FakeClock,
) -> None:
    a, b = FakeModel(clock, RateLimitError("busy", status=429, retry_after=30.0)), FakeModel(clock)
    router = ModelRouter(deployed(a=a, b=b), clock=clock)
    for _ in range(10):
        await router.generate(ask())
    assert (len(a.starts), len(b.starts)) == (1, 10)
    await asyncio.sleep(30.0)
    a._seconds = 1.0
    await together(router.generate(ask()) for _ in range(10))
    assert 6 <= len(a.starts) <= 8, "half of them, and at most two turns that it is owed"


@virtual
async def test_a_circuit_breaker_can_be_turned_off(clock: FakeClock) -> None:
    a = FakeModel(clock, *[DOWN] * 20)
    router = ModelRouter(
        deployed(a=a), clock=clock, retries=ONE_TRY, circuit_breaker=CircuitBreakerPolicy(failure_threshold=0)
    )
    for _ in range(20):
        await fail(router)
    assert clock.monotonic() == 1000.0


@virtual
async def test_no_call_waits_for_a_cooldown_beyond_its_deadline(clock: FakeClock) -> None:
    a = FakeModel(clock, DOWN)
    circuit_breaker = CircuitBreakerPolicy(failure_threshold=1, cooldown=400.0, max_cooldown=400.0)
    router = ModelRouter([Deployment("a", "m", a)], clock=clock, retries=ONE_TRY, circuit_breaker=circuit_breaker)
    await fail(router)
    with pytest.raises(ModelTimeoutError):
        await router.generate(ask())
    assert clock.monotonic() == 1000.0


@virtual
async def test_a_trial_with_a_retry_after_keeps_the_circuit_open_until_then(clock: FakeClock) -> None:
    a = FakeModel(clock, DOWN, RateLimitError("busy", status=429, retry_after=50.0))
    circuit_breaker = CircuitBreakerPolicy(failure_threshold=1, cooldown=10.0)
    router = ModelRouter(deployed(a=a), clock=clock, retries=ONE_TRY, circuit_breaker=circuit_breaker)
    await fail(router)
    with pytest.raises(RateLimitError):
        await router.generate(ask())
    await router.generate(ask())
    assert a.starts == [1000.0, 1010.0, 1060.0]


GONE = ModelConnectionError("refused")


@virtual
async def test_a_deployment_that_cannot_be_reached_is_known_within_seconds_however_often_it_is_called(
    clock: FakeClock,
) -> None:
    router = ModelRouter(deployed(a=FakeModel(clock, *[GONE] * 100)), clock=clock, random=lambda: 1.0)
    for _ in range(10):
        started = clock.monotonic()
        with pytest.raises(ModelConnectionError):
            await router.generate(ask())
        assert clock.monotonic() - started <= 6.0


@virtual
async def test_an_open_circuit_of_a_deployment_that_cannot_be_reached_says_when_it_is_tried_next(
    clock: FakeClock,
) -> None:
    circuit_breaker = CircuitBreakerPolicy(failure_threshold=1, cooldown=60.0)
    a = FakeModel(clock, GONE)
    router = ModelRouter(deployed(a=a), clock=clock, circuit_breaker=circuit_breaker)
    for expected in ("refused", "a:m: cannot be reached; .* the next attempt is in 60 s"):
        with pytest.raises(ModelConnectionError, match=expected):
            await router.generate(ask())
    await asyncio.sleep(57.0)
    await router.generate(ask())
    assert a.starts == [1000.0, 1060.0]


@virtual
async def test_calls_that_wait_for_a_place_end_when_the_deployment_cannot_be_reached_any_more(clock: FakeClock) -> None:
    circuit_breaker = CircuitBreakerPolicy(failure_threshold=1, cooldown=60.0)
    a = FakeModel(clock, GONE, seconds=1.0)
    router = ModelRouter(
        [Deployment("a", "m", a, max_concurrency=1)], clock=clock, circuit_breaker=circuit_breaker, max_concurrency=1
    )
    results = await together(router.generate(ask()) for _ in range(20))
    assert [type(result) for result in results] == [ModelConnectionError] * 20
    assert clock.monotonic() == 1001.0


@virtual
async def test_a_deployment_that_cannot_be_reached_has_a_fallback(clock: FakeClock) -> None:
    circuit_breaker = CircuitBreakerPolicy(failure_threshold=1, cooldown=60.0)
    deployments = [*deployed(a=FakeModel(clock, GONE, GONE)), *deployed("other", b=FakeModel(clock))]
    router = ModelRouter(deployments, clock=clock, circuit_breaker=circuit_breaker, fallbacks={"m": ("other",)})
    for _ in range(3):
        assert (await router.generate(ask())).usage.model == "b:other"
    assert clock.monotonic() == 1000.0
