"""Wherever a call is cancelled, its place goes to the next, and nothing is lost."""

import asyncio

import pytest

from tactician.errors import ModelServerError
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, ask, deployed, settled, together, virtual


@virtual
async def test_while_the_model_works(clock: FakeClock) -> None:
    router = ModelRouter([Deployment("a", "m", FakeModel(clock, seconds=5.0), max_concurrency=1)], clock=clock)
    first, second = (asyncio.create_task(router.generate(ask())) for _ in range(2))
    await asyncio.sleep(1.0)
    first.cancel()
    await second
    assert first.cancelled()
    assert clock.monotonic() == pytest.approx(1006.0)
    assert router.status()[0].in_flight == 0


@virtual
async def test_while_it_waits_in_the_queue(clock: FakeClock) -> None:
    model = FakeModel(clock)
    router = ModelRouter([Deployment("a", "m", model, requests_per_second=1)], clock=clock)
    calls = [asyncio.create_task(router.generate(ask(str(n)))) for n in range(4)]
    await asyncio.sleep(0.5)
    calls[1].cancel()
    await together(calls)
    assert model.prompts == ["0", "2", "3"]
    assert model.starts == pytest.approx([1000.0, 1001.0, 1002.0])


@virtual
async def test_after_its_turn_came_but_before_it_noticed(clock: FakeClock) -> None:
    """The turn goes to the next at once: the second that it stood for is not lost."""
    model = FakeModel(clock)
    router = ModelRouter([Deployment("a", "m", model, requests_per_second=1)], clock=clock)
    calls = [asyncio.create_task(router.generate(ask(str(n)))) for n in range(3)]
    await settled()
    # This timer is due at the same instant as the queue's, and later: it finds the turn given, and the call asleep.
    asyncio.get_running_loop().call_at(1001.0, calls[1].cancel)
    await together(calls)
    assert model.prompts == ["0", "2"]
    assert model.starts == pytest.approx([1000.0, 1001.0])
    assert (router.status()[0].in_flight, router.status()[0].requests) == (0, 2)


@virtual
async def test_after_a_place_became_free_but_before_it_noticed(clock: FakeClock) -> None:
    model = FakeModel(clock, seconds=1.0)
    router = ModelRouter([Deployment("a", "m", model, max_concurrency=1)], clock=clock)
    calls = [asyncio.create_task(router.generate(ask(str(n)))) for n in range(3)]
    calls[0].add_done_callback(lambda _: calls[1].cancel())
    await together(calls)
    assert calls[1].cancelled()
    assert model.prompts in (["0", "2"], ["0", "1", "2"])
    assert router.status()[0].in_flight == 0


@virtual
async def test_while_it_pauses_before_another_attempt(clock: FakeClock) -> None:
    model = FakeModel(clock, *[ModelServerError("down", status=500)] * 3)
    router = ModelRouter(deployed(a=model), clock=clock, random=lambda: 1.0)
    call = asyncio.create_task(router.generate(ask()))
    await asyncio.sleep(0.5)
    call.cancel()
    await together([call])
    assert call.cancelled()
    await asyncio.sleep(10.0)
    assert len(model.starts) == 1
    assert router.status()[0].in_flight == 0


@virtual
async def test_while_it_waits_for_an_instance_to_come_back(clock: FakeClock) -> None:
    model = FakeModel(clock, ModelServerError("down", status=500))
    router = ModelRouter(
        deployed(a=model),
        clock=clock,
        random=lambda: 0.0,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=10.0),
    )
    calls = [asyncio.create_task(router.generate(ask())) for _ in range(2)]
    await asyncio.sleep(5.0)
    calls[0].cancel()
    results = await together(calls)
    assert [isinstance(one, BaseException) for one in results] == [True, False]
    assert router.status()[0].in_flight == 0


@virtual
async def test_before_it_even_began(clock: FakeClock) -> None:
    model = FakeModel(clock)
    router = ModelRouter(deployed(a=model), clock=clock)
    call = asyncio.create_task(router.generate(ask()))
    call.cancel()
    await together([call])
    assert (model.starts, router.status()[0].requests) == ([], 0)


@virtual
async def test_when_all_calls_leave_the_queue_no_timer_is_left_behind(clock: FakeClock) -> None:
    router = ModelRouter([Deployment("a", "m", FakeModel(clock), requests_per_second=0.1)], clock=clock)
    calls = [asyncio.create_task(router.generate(ask())) for _ in range(4)]
    await asyncio.sleep(1.0)
    for call in calls:
        call.cancel()
    await together(calls)
    (pool,) = router._chat._pools.values()
    assert pool.waiting == 0
    assert pool._queues == {}
