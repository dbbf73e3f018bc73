"""Every decision is an event."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from tactician import Agent, RunContext
from tactician.errors import ModelServerError, RateLimitError
from tactician.events import Event
from tactician.events.bus import EventBus, EventEmitter, EventListener
from tactician.llm import (
    CircuitClosed,
    CircuitOpened,
    Features,
    ModelFellBack,
    ModelResponse,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
)
from tactician.llm.model import OutputSpec
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.retries import NO_RETRY, ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.loop import TurnStarted
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, answer, ask, deployed, together, virtual

DOWN = ModelServerError("down", status=503)


def routed(instance: str, reason: str = "round_robin", model: str = "m") -> Event:
    return RequestRouted(run_id="", model=model, instance=instance, reason=reason)


def emitter(listener: EventListener, run_id: str, path: tuple[str, ...] = ()) -> EventEmitter:
    return EventEmitter(EventBus(listener), run_id, path)


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
async def test_how_long_a_further_attempt_waited_is_told_once(clock: FakeClock) -> None:
    events: list[Event] = []
    busy = FakeModel(clock, RateLimitError("busy", status=429, retry_after=20.0))
    await ModelRouter(deployed(a=busy), clock=clock, on_event=events.append).generate(ask())
    assert events == [
        routed("a"),
        RequestRetried(
            run_id="", model="m", instance="a", attempt=1, error="rate_limit", delay=20.0, next_instance="a"
        ),
        routed("a", "retry"),
    ]


@virtual
async def test_an_open_circuit_its_closing_and_the_wait_for_it_are_events(clock: FakeClock) -> None:
    events: list[Event] = []
    router = ModelRouter(
        deployed(a=FakeModel(clock, DOWN)),
        clock=clock,
        retries=ModelRetryPolicy(server=NO_RETRY),
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=30.0),
        on_event=events.append,
    )
    with pytest.raises(ModelServerError):
        await router.generate(ask())
    await router.generate(ask())
    assert events == [
        routed("a"),
        CircuitOpened(run_id="", model="m", instance="a", seconds=30.0, error="server"),
        RequestDelayed(run_id="", model="m", instance="a", seconds=30.0, reason="cooldown"),
        routed("a"),
        CircuitClosed(run_id="", model="m", instance="a"),
    ]


@virtual
async def test_a_fallback_is_told_with_its_reason(clock: FakeClock) -> None:
    events: list[Event] = []
    router = ModelRouter(
        [Deployment("a", "m", FakeModel(clock, DOWN)), Deployment("a", "n", FakeModel(clock))],
        clock=clock,
        retries=ModelRetryPolicy(server=NO_RETRY),
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=30.0),
        fallbacks={"m": ["n"]},
        on_event=events.append,
    )
    await router.generate(ask())
    await router.generate(ask())
    assert [event for event in events if not isinstance(event, CircuitOpened)] == [
        routed("a"),
        ModelFellBack(run_id="", model="m", fallback="n", reason="server"),
        routed("a", "fallback", "n"),
        ModelFellBack(run_id="", model="m", fallback="n", reason="cooldown"),
        routed("a", "fallback", "n"),
    ]


@pytest.mark.parametrize("kind", [RequestRouted, RequestRetried, RequestDelayed, CircuitOpened, CircuitClosed])
def test_a_listener_that_fails_ends_no_call(kind: type[Event], caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()

    def listener(event: Event) -> None:
        if isinstance(event, kind):
            raise LookupError(kind.__name__)  # noqa: TRY004

    model = FakeModel(clock, DOWN, DOWN)
    router = ModelRouter(
        [Deployment("a", "m", model, requests_per_second=1, max_concurrency=1)],
        clock=clock,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=2, cooldown=1.0),
        on_event=listener,
    )

    async def main() -> None:
        results = await together(router.generate(ask()) for _ in range(3))
        assert all(isinstance(one, ModelResponse) for one in results)

    clock.run(main())
    assert router.status()[0].in_flight == 0
    assert f"a listener failed on {kind.__name__}" in caplog.text


@virtual
async def test_nothing_is_built_when_nobody_listens(clock: FakeClock) -> None:
    built: list[str] = []

    def noting(name: str) -> Callable[..., None]:
        return lambda **values: built.append(name)

    names = [
        "RequestRouted",
        "RequestRetried",
        "RequestDelayed",
        "CircuitOpened",
        "CircuitClosed",
        "ModelFellBack",
    ]
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(f"tactician.llm.routing.reporter.{name}", noting(name))
        router = ModelRouter(
            [Deployment("a", "m", FakeModel(clock, DOWN, DOWN), 1.0), Deployment("a", "n", FakeModel(clock))],
            clock=clock,
            circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=1.0),
            fallbacks={"m": ["n"]},
        )
        await together(router.generate(ask(model="m")) for _ in range(5))
        await asyncio.sleep(10.0)
        await router.generate(ask(model="m"))
    assert built == []


@virtual
async def test_the_run_that_a_request_belongs_to_hears_of_it_and_the_router_hears_whose_it_is(clock: FakeClock) -> None:
    of_the_router: list[Event] = []
    of_the_run: list[Event] = []
    router = ModelRouter(
        [
            Deployment("a", "m", FakeModel(clock, DOWN), requests_per_second=1.0),
            Deployment("a", "n", FakeModel(clock, features=Features()), requests_per_second=1.0),
        ],
        clock=clock,
        retries=ModelRetryPolicy(server=NO_RETRY),
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=30.0),
        fallbacks={"m": ["n"]},
        on_event=of_the_router.append,
    )
    seen = replace(
        ask(),
        output=OutputSpec("X", {"type": "object"}),
        observer=emitter(of_the_run.append, "r1", ("A", "B")),
    )
    await router.generate(ask(model="n"))
    await router.generate(seen)
    await asyncio.sleep(60.0)
    await router.generate(seen)
    assert [type(event).__name__ for event in of_the_run] == [
        *("RequestRouted", "CircuitOpened", "ModelFellBack", "RequestDelayed", "RequestRouted"),
        *("RequestRouted", "CircuitClosed"),
    ]
    assert {(event.run_id, event.path) for event in of_the_run} == {("r1", ("A", "B"))}
    assert of_the_router == [routed("a", model="n"), *of_the_run]


@virtual
async def test_a_retry_and_a_stream_are_told_to_the_run_too(clock: FakeClock) -> None:
    events: list[Event] = []
    router = ModelRouter(deployed(a=FakeModel(clock, DOWN), b=FakeModel(clock)), clock=clock)
    async for _ in router.stream(replace(ask(), observer=emitter(events.append, "r1"))):
        pass
    assert events == [
        RequestRouted(run_id="r1", model="m", instance="a", reason="round_robin"),
        RequestRetried(run_id="r1", model="m", instance="a", attempt=1, error="server", delay=0.0, next_instance="b"),
        RequestRouted(run_id="r1", model="m", instance="b", reason="retry"),
    ]


@virtual
async def test_whoever_listens_to_the_router_and_to_the_run_hears_each_event_once(clock: FakeClock) -> None:
    events: list[Event] = []
    router = ModelRouter(deployed(a=FakeModel(clock)), clock=clock, on_event=events.append)
    await router.generate(replace(ask(), observer=emitter(events.append, "r1")))
    assert events == [RequestRouted(run_id="r1", model="m", instance="a", reason="round_robin")]


@virtual
async def test_requests_at_the_same_time_are_each_told_to_their_own_run(clock: FakeClock) -> None:
    heard: dict[str, list[Event]] = {run: [] for run in ("r1", "r2", "r3")}
    router = ModelRouter([Deployment("a", "m", FakeModel(clock, seconds=1.0), 1.0, max_concurrency=1)], clock=clock)
    await together(router.generate(replace(ask(), observer=emitter(sink.append, run))) for run, sink in heard.items())
    for run, events in heard.items():
        assert [event.run_id for event in events] == [run] * (1 if run == "r1" else 2)


async def test_an_agents_run_hears_what_the_router_did_for_it() -> None:
    events: list[Event] = []
    clock = FakeClock()
    flaky, steady = FakeModel(clock, DOWN, answer("Hi.")), FakeModel(clock, answer("Hi."))
    router = ModelRouter(deployed(a=flaky, b=steady))
    result = await Agent("Greeter", model="m").run("hello", context=RunContext.over(router, events.append))
    assert result.output == "Hi."
    calls = [event for event in events if isinstance(event, RequestRouted | RequestRetried)]
    assert [type(event) for event in calls] == [RequestRouted, RequestRetried, RequestRouted]
    turn = next(event for event in events if isinstance(event, TurnStarted))
    assert {(event.run_id, event.path) for event in calls} == {(turn.run_id, ("Greeter",))}
    assert turn.request.observer is None, "what listeners are given does not hold the listeners"


async def test_a_request_that_nobody_hears_of_has_no_observer() -> None:
    model = FakeModel(FakeClock(), answer("Hi."))
    await Agent("Greeter", model=model).run("hello")
    assert [request.observer for request in model.requests] == [None]


def test_an_observer_is_no_part_of_what_is_asked() -> None:
    observed = replace(ask(), observer=emitter(print, "r1"))
    assert observed == ask()
    assert repr(observed) == repr(ask())
    assert hash(observed) == hash(ask())
