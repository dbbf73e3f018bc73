"""One single attempt, to see how a deployment does."""

import pytest

from tactician.errors import ModelServerError, RateLimitError
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, ask, deployed, virtual

DOWN = ModelServerError("down", status=503)


@virtual
async def test_a_probe_is_one_attempt_at_exactly_what_is_named(clock: FakeClock) -> None:
    a, b = FakeModel(clock, DOWN), FakeModel(clock)
    router = ModelRouter(
        [*deployed(a=a, b=b), Deployment("a", "n", FakeModel(clock))], clock=clock, fallbacks={"m": ["n"]}
    )
    with pytest.raises(ModelServerError, match="down"):
        await router.for_model("a:m").probe(ask())
    assert (len(a.starts), len(b.starts)) == (1, 0)
    assert (await router.for_model("a:m").probe(ask())).message.text == "yes"
    assert [one.requests for one in router.status()] == [2, 0, 0]


@virtual
async def test_the_health_of_a_deployment_tells_of_its_last_call_and_of_all(clock: FakeClock) -> None:
    a = FakeModel(clock, None, None, DOWN, seconds=1.0)
    router = ModelRouter(deployed(a=a), clock=clock)
    model = router.for_model("m")
    await model.probe(ask())
    a._seconds = 2.0
    await model.probe(ask())
    (status,) = router.status()
    assert (status.latency, status.average_latency, status.answers, status.failure) == (2.0, 1.5, 2, None)
    with pytest.raises(ModelServerError):
        await model.probe(ask())
    (status,) = router.status()
    assert (status.latency, status.average_latency, status.answers, status.failure) == (2.0, 1.5, 2, "server")
    await model.probe(ask())
    assert router.status()[0].failure is None


@virtual
async def test_the_health_of_a_deployment_tells_how_long_it_is_left_alone(clock: FakeClock) -> None:
    busy = FakeModel(clock, RateLimitError("busy", status=429, retry_after=28.0))
    router = ModelRouter(
        deployed(a=busy, b=FakeModel(clock, DOWN)),
        clock=clock,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1),
    )
    for name in ("a:m", "b:m"):
        with pytest.raises((RateLimitError, ModelServerError)):
            await router.for_model(name).probe(ask())
    await clock.sleep(3.0)
    told = [(one.name, one.failure, one.cooldown_seconds) for one in router.status()]
    assert told == [("a:m", "rate_limit", 25.0), ("b:m", "server", 2.0)]
    await clock.sleep(25.0)
    assert [one.cooldown_seconds for one in router.status()] == [0.0, 0.0]


def test_a_model_that_has_its_instance_in_its_name_is_called_just_that() -> None:
    model = FakeModel(FakeClock())
    assert Deployment("openai", "openai:gpt-5.4", model).name == "openai:gpt-5.4"
    assert Deployment("openai", "gpt-5.4", model).name == "openai:gpt-5.4"
