"""Requests per second, tokens per second and concurrency: never exceeded, nobody overtakes, nothing is lost."""

import asyncio
import math
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tactician.errors import ConfigurationError, ModelServerError, RateLimitError
from tactician.llm import ModelRequest
from tactician.llm.routing import deployment_pool
from tactician.llm.routing.deployment import CallLimits, Deployment
from tactician.llm.routing.deployment_state import DeploymentState
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.backoff import RetryRule
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, answer, ask, deployed, settled, together, virtual
from tests.support.effort import examples


@dataclass(frozen=True)
class Arrival:
    """A call: when it comes, how many tokens it takes, and when it is cancelled, if it is."""

    at: int
    tokens: int
    cancelled_after: int | None


@dataclass(frozen=True)
class Limits:
    requests_per_second: float | None
    tokens_per_second: float | None
    max_concurrency: int


# In tenths of a second, so that calls come, start, end and are cancelled at the same instant.
ARRIVALS = st.lists(
    st.builds(Arrival, st.integers(0, 30), st.integers(1, 60), st.none() | st.integers(0, 20)), min_size=1, max_size=30
)
LIMITS = st.lists(
    st.builds(
        Limits,
        st.none() | st.sampled_from([0.5, 1.0, 2.0, 10.0]),
        st.none() | st.sampled_from([20.0, 100.0]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=3,
)


def tokens_of(request: ModelRequest) -> int:
    return int(request.prompt.split()[1])


@examples(150)
@given(ARRIVALS, LIMITS, st.sampled_from([0, 1, 3, 10]), st.sampled_from(["round_robin", "least_loaded"]))
@example([Arrival(0, 1, 0), Arrival(0, 1, None), Arrival(0, 1, None)], [Limits(2.0, None, 1)], 0, "round_robin")
def test_limits_hold_and_order_is_kept_however_calls_come_and_are_cancelled(
    arrivals: list[Arrival], limits: list[Limits], tenths: int, policy: str
) -> None:
    clock = FakeClock()
    seconds = tenths / 10
    models = [FakeModel(clock, seconds=seconds, decide=lambda r: answer(r.prompt, tokens=tokens_of(r))) for _ in limits]
    router = ModelRouter(
        [
            Deployment(f"i{n}", "m", model, one.requests_per_second, one.tokens_per_second, one.max_concurrency)
            for n, (model, one) in enumerate(zip(models, limits, strict=True))
        ],
        policy=policy,  # type: ignore[arg-type]
        estimate=tokens_of,
        clock=clock,
        retries=ModelRetryPolicy(deadline=math.inf),
    )
    began: list[int] = []
    for model in models:
        record(model, began)

    async def call(number: int, arrival: Arrival) -> str:
        return (await router.generate(ask(f"{number} {arrival.tokens}"))).message.text

    async def main() -> list[str | BaseException]:
        loop, tasks, order = asyncio.get_running_loop(), {}, sorted(enumerate(arrivals), key=lambda one: one[1].at)
        for number, arrival in order:
            await asyncio.sleep(max(0.0, 1000.0 + arrival.at / 10 - clock.monotonic()))
            tasks[number] = asyncio.create_task(call(number, arrival))
            if arrival.cancelled_after is not None:
                loop.call_later(arrival.cancelled_after / 10, tasks[number].cancel)
        return await together(tasks[number] for number, _ in order)

    results = clock.run(main())
    order = sorted(range(len(arrivals)), key=lambda number: arrivals[number].at)

    survivors = [n for n in order if arrivals[n].cancelled_after is None]
    assert [n for n in began if n in survivors] == survivors, "nobody overtakes"
    by_number = dict(zip(order, results, strict=True))
    assert all(by_number[n] == f"{n} {arrivals[n].tokens}" for n in survivors), "everybody gets the own answer"
    for model, one in zip(models, limits, strict=True):
        assert model.peak <= one.max_concurrency
        if one.requests_per_second is not None:
            gaps = [b - a for a, b in zip(model.starts, model.starts[1:], strict=False)]
            assert all(gap >= 1 / one.requests_per_second - 1e-6 for gap in gaps)
        if one.tokens_per_second is not None:
            assert_tokens_within(model, one.tokens_per_second)
    assert [one.in_flight for one in router.status()] == [0] * len(limits), "every slot comes back"
    # And whoever comes now is served: nothing was lost.
    assert clock.run(router.generate(ask("0 1"))).message.text == "0 1"


def record(model: FakeModel, began: list[int]) -> None:
    """Notes the numbers of calls as they begin, whichever model they go to."""
    generate = model.generate

    async def noted(request: ModelRequest) -> object:
        began.append(int(request.prompt.split()[0]))
        return await generate(request)

    model.generate = noted  # type: ignore[method-assign, assignment]


def assert_tokens_within(model: FakeModel, rate: float) -> None:
    spent = [tokens_of(request) for request in model.requests]
    excess = max(0.0, max(spent, default=0) - rate)
    for first, start in enumerate(model.starts):
        total = 0
        for at, tokens in zip(model.starts[first:], spent[first:], strict=True):
            total += tokens
            assert total <= rate * (at - start + 1) + excess + 1e-3


@virtual
async def test_starts_are_spaced_by_the_requests_per_second(clock: FakeClock) -> None:
    model = FakeModel(clock)
    router = ModelRouter([Deployment("a", "m", model, requests_per_second=4)], clock=clock)
    await together(router.generate(ask()) for _ in range(5))
    assert model.starts == pytest.approx([1000.0, 1000.25, 1000.5, 1000.75, 1001.0])


@virtual
async def test_the_routers_own_limit_holds_for_each_deployment_that_has_none(clock: FakeClock) -> None:
    a, b, c = FakeModel(clock), FakeModel(clock), FakeModel(clock)
    router = ModelRouter(
        [Deployment("a", "x", a), Deployment("a", "y", b), Deployment("c", "x", c, requests_per_second=math.inf)],
        requests_per_second=1,
        clock=clock,
    )
    await together(router.generate(ask(model=name)) for name in ["a:x", "a:x", "y", "y", "c:x", "c:x"])
    assert a.starts == b.starts == [1000.0, 1001.0]
    assert c.starts == [1000.0, 1000.0]


@virtual
async def test_no_more_calls_are_under_way_than_allowed(clock: FakeClock) -> None:
    model = FakeModel(clock, seconds=1.0)
    router = ModelRouter([Deployment("a", "m", model, max_concurrency=3)], clock=clock)
    await together(router.generate(ask()) for _ in range(10))
    assert model.peak == 3
    assert clock.monotonic() == pytest.approx(1004.0)


@virtual
async def test_what_an_answer_used_beyond_the_estimate_delays_the_next(clock: FakeClock) -> None:
    model = FakeModel(clock, answer(tokens=500))
    router = ModelRouter(
        [Deployment("a", "m", model, tokens_per_second=100)], clock=clock, estimate=lambda request: 100
    )
    await router.generate(ask())
    await router.generate(ask())
    assert model.starts[1] - model.starts[0] == pytest.approx(5.0)


@virtual
async def test_what_an_answer_did_not_use_lets_the_next_in_earlier(clock: FakeClock) -> None:
    model = FakeModel(clock, answer(tokens=10), seconds=1.0)
    router = ModelRouter(
        [Deployment("a", "m", model, tokens_per_second=100)], clock=clock, estimate=lambda request: 1000
    )
    await together(router.generate(ask()) for _ in range(2))
    assert model.starts[1] - model.starts[0] == pytest.approx(1.0)


@virtual
async def test_a_refused_request_costs_no_tokens(clock: FakeClock) -> None:
    model = FakeModel(clock, ModelServerError("down", status=500))
    router = ModelRouter(
        [Deployment("a", "m", model, tokens_per_second=10)],
        clock=clock,
        estimate=lambda request: 100,
        retries=ModelRetryPolicy(server=RetryRule(base=0)),
    )
    await router.generate(ask())
    assert model.starts == [1000.0, 1000.0]


@virtual
async def test_a_small_request_does_not_overtake_a_large_one_that_waits_for_tokens(clock: FakeClock) -> None:
    model = FakeModel(clock)
    router = ModelRouter(
        [Deployment("a", "m", model, tokens_per_second=100)], clock=clock, estimate=lambda r: int(r.prompt)
    )
    await together(router.generate(ask(size)) for size in ["100", "90", "1"])
    assert model.prompts == ["100", "90", "1"]


@virtual
async def test_a_limited_instance_is_passed_over_while_another_can_start_now(clock: FakeClock) -> None:
    a, b = FakeModel(clock), FakeModel(clock)
    router = ModelRouter([Deployment("a", "m", a, requests_per_second=1), Deployment("b", "m", b)], clock=clock)
    for _ in range(5):
        await router.generate(ask())
    assert (len(a.starts), len(b.starts)) == (1, 4)
    assert clock.monotonic() == 1000.0


@virtual
async def test_a_call_that_may_go_elsewhere_is_not_held_up_by_those_that_may_not(clock: FakeClock) -> None:
    a, b = FakeModel(clock, seconds=10.0), FakeModel(clock)
    router = ModelRouter([Deployment("a", "m", a, max_concurrency=1), Deployment("b", "m", b)], clock=clock)
    stuck = [asyncio.create_task(router.generate(ask(instances=("a",)))) for _ in range(3)]
    await settled()
    await router.generate(ask())
    assert clock.monotonic() == 1000.0
    await together(stuck)
    assert (len(a.starts), len(b.starts)) == (3, 1)


@virtual
async def test_a_call_behind_the_first_with_a_wider_choice_does_not_take_what_the_first_waits_for(
    clock: FakeClock,
) -> None:
    a, b = FakeModel(clock), FakeModel(clock, seconds=60.0)
    router = ModelRouter(
        [Deployment("a", "m", a, tokens_per_second=100), Deployment("b", "m", b, max_concurrency=1)],
        clock=clock,
        estimate=lambda request: int(request.prompt),
    )
    await router.generate(ask("50", instances=("a",)))
    busy = asyncio.create_task(router.generate(ask("1", instances=("b",))))
    await settled()
    large = asyncio.create_task(router.generate(ask("100", instances=("a",))))
    await settled()
    small = asyncio.create_task(router.generate(ask("10")))
    await together([large, small, busy])
    assert a.prompts == ["50", "100", "10"]


def test_a_start_that_is_taken_back_after_the_next_one_leaves_that_its_distance() -> None:
    deployment = Deployment("a", "m", FakeModel(FakeClock()), requests_per_second=1)
    state = DeploymentState(deployment, 0, CallLimits(), CircuitBreakerPolicy())
    state.start(1000.0, 0)
    state.start(1001.0, 0)
    state.cancel_start(1, 0)
    assert state.available_at(1001.0, 0) == 1002.0
    state.cancel_start(2, 0)
    assert state.available_at(1001.0, 0) == 1001.0


@virtual
async def test_a_queue_does_not_grow_without_end(clock: FakeClock) -> None:
    router = ModelRouter([Deployment("a", "m", FakeModel(clock, seconds=1.0), max_concurrency=1)], clock=clock)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployment_pool, "MAX_WAITING", 2)
        results = await together(router.generate(ask()) for _ in range(4))
    assert [type(one).__name__ for one in results] == ["ModelResponse"] * 3 + [RateLimitError.__name__]


@virtual
async def test_nothing_wakes_up_while_calls_wait(clock: FakeClock) -> None:
    """No busy loop: a second of waiting takes no more steps than there are things that happen."""
    router = ModelRouter(
        [Deployment("a", "m", FakeModel(clock), requests_per_second=0.001)],
        clock=clock,
        retries=ModelRetryPolicy(deadline=math.inf),
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=0),
    )
    steps = 0
    ticking = clock.monotonic

    def counted() -> float:
        nonlocal steps
        steps += 1
        return ticking()

    clock.monotonic = counted  # type: ignore[method-assign]
    await together(router.generate(ask()) for _ in range(10))
    assert steps < 200


@pytest.mark.parametrize("limit", ["requests_per_second", "tokens_per_second", "max_concurrency"])
def test_a_limit_has_to_be_above_zero(limit: str) -> None:
    with pytest.raises(ConfigurationError, match=f"a:m: {limit} must be greater than 0, not 0"):
        Deployment("a", "m", FakeModel(FakeClock()), **{limit: 0})


def test_deployed_models_have_their_instances_names() -> None:
    assert [one.name for one in deployed(a=FakeModel(FakeClock()))] == ["a:m"]
