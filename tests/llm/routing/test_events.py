"""Every decision is an event."""

import asyncio
from collections.abc import Callable

import pytest

from tactician.errors import ModelServerError, RateLimitError
from tactician.events import (
    Event,
    InstanceRecovered,
    InstanceRested,
    ModelFellBack,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
)
from tactician.llm.routing import NEVER, Deployment, ModelRouter, RestPolicy, RetryPolicy
from tests.llm.routing.support import FakeClock, FakeModel, ask, deployed, together, virtual

DOWN = ModelServerError("down", status=503)


def routed(instance: str, reason: str = "round_robin", model: str = "m") -> Event:
    return RequestRouted(run_id="", model=model, instance=instance, reason=reason)


@virtual
async def test_a_request_that_goes_through_is_one_event(clock: FakeClock) -> None:
    events: list[Event] = []
    router = ModelRouter(deployed(a=FakeModel(clock)), clock=clock, policy="least_loaded", on_event=events.append)
    await router.generate(ask())
    assert events == [routed("a", "least_loaded")]


@virtual
async def test_waiting_for_a_limit_is_told_with_its_seconds(clock: FakeClock) -> None:
    events: list[Event] = []
    deployment = Deployment("a", "m", FakeModel(clock), requests_per_second=0.5)
    router = ModelRouter([deployment], clock=clock, on_event=events.append)
    await together(router.generate(ask()) for _ in range(2))
    delayed = RequestDelayed(run_id="", model="m", instance="a", seconds=2.0, reason="limits")
    assert events == [routed("a"), delayed, routed("a")]


@virtual
async def test_a_retry_is_told_with_what_failed_and_where_it_goes(clock: FakeClock) -> None:
    events: list[Event] = []
    a, b = FakeModel(clock, DOWN), FakeModel(clock, RateLimitError("busy", status=429))
    router = ModelRouter(deployed(a=a, b=b), clock=clock, random=lambda: 0.5, on_event=events.append)
    await router.generate(ask())
    assert events == [
        routed("a"),
        RequestRetried(run_id="", model="m", instance="a", attempt=1, error="server", delay=0.0, next_instance="b"),
        routed("b", "retry"),
        RequestRetried(run_id="", model="m", instance="b", attempt=2, error="rate_limit", delay=1.0, next_instance="a"),
        routed("a", "retry"),
    ]


@virtual
async def test_a_rest_its_end_and_the_wait_for_it_are_told(clock: FakeClock) -> None:
    events: list[Event] = []
    router = ModelRouter(
        deployed(a=FakeModel(clock, DOWN)),
        clock=clock,
        retries=RetryPolicy(server=NEVER),
        rests=RestPolicy(failures=1, seconds=30.0),
        on_event=events.append,
    )
    with pytest.raises(ModelServerError):
        await router.generate(ask())
    await router.generate(ask())
    assert events == [
        routed("a"),
        InstanceRested(run_id="", model="m", instance="a", seconds=30.0, error="server"),
        RequestDelayed(run_id="", model="m", instance="a", seconds=30.0, reason="rest"),
        routed("a"),
        InstanceRecovered(run_id="", model="m", instance="a"),
    ]


@virtual
async def test_a_fallback_is_told_with_its_reason(clock: FakeClock) -> None:
    events: list[Event] = []
    router = ModelRouter(
        [Deployment("a", "m", FakeModel(clock, DOWN)), Deployment("a", "n", FakeModel(clock))],
        clock=clock,
        retries=RetryPolicy(server=NEVER),
        rests=RestPolicy(failures=1, seconds=30.0),
        fallbacks={"m": ["n"]},
        on_event=events.append,
    )
    await router.generate(ask())
    await router.generate(ask())
    assert [event for event in events if not isinstance(event, InstanceRested)] == [
        routed("a"),
        ModelFellBack(run_id="", model="m", fallback="n", reason="server"),
        routed("a", "fallback", "n"),
        ModelFellBack(run_id="", model="m", fallback="n", reason="rest"),
        routed("a", "fallback", "n"),
    ]


@pytest.mark.parametrize("kind", [RequestRouted, RequestRetried, RequestDelayed, InstanceRested, InstanceRecovered])
def test_a_listener_that_fails_ends_the_call_and_no_place_is_lost(kind: type[Event]) -> None:
    clock = FakeClock()

    def listener(event: Event) -> None:
        if isinstance(event, kind):
            raise LookupError(kind.__name__)  # noqa: TRY004

    model = FakeModel(clock, DOWN, DOWN)
    router = ModelRouter(
        [Deployment("a", "m", model, requests_per_second=1, max_concurrency=1)],
        clock=clock,
        rests=RestPolicy(failures=2, seconds=1.0),
        on_event=listener,
    )

    async def main() -> None:
        results = await together(router.generate(ask()) for _ in range(3))
        assert any(isinstance(one, LookupError) for one in results)

    clock.run(main())
    assert router.status()[0].in_flight == 0


@virtual
async def test_nothing_is_built_when_nobody_listens(clock: FakeClock) -> None:
    built: list[str] = []

    def noting(name: str) -> Callable[..., None]:
        return lambda **values: built.append(name)

    names = [
        "RequestRouted",
        "RequestRetried",
        "RequestDelayed",
        "InstanceRested",
        "InstanceRecovered",
        "ModelFellBack",
    ]
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(f"tactician.llm.routing.reports.{name}", noting(name))
        router = ModelRouter(
            [Deployment("a", "m", FakeModel(clock, DOWN, DOWN), 1.0), Deployment("a", "n", FakeModel(clock))],
            clock=clock,
            rests=RestPolicy(failures=1, seconds=1.0),
            fallbacks={"m": ["n"]},
        )
        await together(router.generate(ask(model="m")) for _ in range(5))
        await asyncio.sleep(10.0)
        await router.generate(ask(model="m"))
    assert built == []
