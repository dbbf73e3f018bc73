import asyncio

import pytest

from tactician.errors import ModelServerError, ModelTimeoutError
from tactician.llm import ModelResponse
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, answer, ask, deployed, together, virtual

SHORT = ModelRetryPolicy(deadline=10.0)


@virtual
async def test_a_call_that_hangs_ends_at_the_deadline(clock: FakeClock) -> None:
    router = ModelRouter(deployed(a=FakeModel(clock, seconds=1000.0)), clock=clock, retries=SHORT)
    with pytest.raises(ModelTimeoutError, match=r"m: no answer within the deadline of 10 s; no attempt was made"):
        await router.generate(ask())
    assert clock.monotonic() == pytest.approx(1010.0)
    assert router.status()[0].in_flight == 0


@virtual
async def test_all_attempts_together_have_one_deadline_and_the_error_names_them(clock: FakeClock) -> None:
    a, b = FakeModel(clock, ModelServerError("down", status=500), seconds=4.0), FakeModel(clock, seconds=20.0)
    with pytest.raises(ModelTimeoutError, match=r"deadline of 10 s; 1 attempt: a:m \(server\)") as caught:
        await ModelRouter(deployed(a=a, b=b), clock=clock, retries=SHORT).generate(ask())
    assert caught.value.model == "m"
    assert clock.monotonic() == pytest.approx(1010.0)


@virtual
async def test_waiting_counts(clock: FakeClock) -> None:
    model = FakeModel(clock)
    router = ModelRouter([Deployment("a", "m", model, requests_per_second=0.25)], clock=clock, retries=SHORT)
    results = await together(router.generate(ask()) for _ in range(5))
    assert [type(one) for one in results] == [ModelResponse] * 3 + [ModelTimeoutError] * 2
    assert clock.monotonic() == pytest.approx(1010.0)
    await asyncio.sleep(10.0)
    await router.generate(ask())
    assert router.status()[0].in_flight == 0


@virtual
async def test_a_pause_that_would_end_after_the_deadline_is_not_begun(clock: FakeClock) -> None:
    model = FakeModel(clock, *[ModelServerError("down", status=500)] * 9)
    router = ModelRouter(
        deployed(a=model),
        clock=clock,
        retries=ModelRetryPolicy(deadline=2.5),
        random=lambda: 1.0,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=0),
    )
    with pytest.raises(ModelServerError):
        await router.generate(ask())
    assert clock.monotonic() == pytest.approx(1001.0)


@virtual
async def test_calls_that_began_later_end_later(clock: FakeClock) -> None:
    router = ModelRouter(deployed(a=FakeModel(clock, seconds=1000.0)), clock=clock, retries=SHORT)
    ended: list[float] = []

    async def call(after: float) -> None:
        await asyncio.sleep(after)
        with pytest.raises(ModelTimeoutError):
            await router.generate(ask())
        ended.append(clock.monotonic())

    await together(call(after) for after in [0.0, 0.0, 3.0, 7.5])
    assert ended == pytest.approx([1010.0, 1010.0, 1013.0, 1017.5])


@virtual
async def test_an_answer_that_was_not_good_enough_is_better_than_none(clock: FakeClock) -> None:
    a, b = FakeModel(clock, answer("", finish_reason="content_filter")), FakeModel(clock, seconds=99.0)
    response = await ModelRouter(deployed(a=a, b=b), clock=clock, retries=SHORT).generate(ask())
    assert response.finish_reason == "content_filter"


@virtual
async def test_a_deadline_is_not_mistaken_for_a_cancellation_nor_the_other_way_round(clock: FakeClock) -> None:
    router = ModelRouter(deployed(a=FakeModel(clock, seconds=1000.0)), clock=clock, retries=SHORT)
    cancelled = asyncio.create_task(router.generate(ask()))
    expired = asyncio.create_task(router.generate(ask()))
    both = asyncio.create_task(router.generate(ask()))
    await asyncio.sleep(1.0)
    cancelled.cancel()
    asyncio.get_running_loop().call_at(1010.0, both.cancel)
    results = await together([cancelled, expired, both])
    assert [type(one) for one in results] == [asyncio.CancelledError, ModelTimeoutError, asyncio.CancelledError]
    assert expired.cancelling() == 0


@virtual
async def test_a_timeout_around_a_call_is_the_callers(clock: FakeClock) -> None:
    router = ModelRouter(deployed(a=FakeModel(clock, seconds=1000.0)), clock=clock, retries=SHORT)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5.0):
            await router.generate(ask())
    assert clock.monotonic() == pytest.approx(1005.0)
    assert router.status()[0].in_flight == 0


@virtual
async def test_a_stream_has_until_its_first_delta(clock: FakeClock) -> None:
    model = FakeModel(clock, seconds=1000.0)
    router = ModelRouter(deployed(a=model), clock=clock, retries=SHORT)
    with pytest.raises(ModelTimeoutError):
        [item async for item in router.stream(ask())]
    model._seconds, model.deltas = 1.0, ("a", "b")
    async for _ in router.stream(ask()):
        await asyncio.sleep(20.0)
    assert router.status()[0].in_flight == 0
