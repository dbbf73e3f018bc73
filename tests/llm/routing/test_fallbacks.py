"""When a model cannot answer, another one does."""

import asyncio

import pytest

from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    RateLimitError,
    UnknownModelError,
)
from tactician.llm import Features, LlmOptions, ModelRequest, UserMessage
from tactician.llm.model import TextDelta, ToolSpec
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import ALL, FakeClock, FakeModel, answer, ask, deployed, virtual

DOWN = ModelServerError("down", status=503)


def serving(clock: FakeClock, **outcomes: list[ModelError]) -> tuple[list[Deployment], dict[str, FakeModel]]:
    """One deployment at the instance `here` for each model, with what that raises."""
    models = {name: FakeModel(clock, *errors) for name, errors in outcomes.items()}
    return [Deployment("here", name, model) for name, model in models.items()], models


@pytest.mark.parametrize(
    "error",
    [
        DOWN,
        RateLimitError("busy", status=429),
        AuthenticationError("key", status=401),
        AuthenticationError("no credit", status=402),
        ModelNotFoundError("what?", status=404),
        ContentFilterError("no", status=400),
        ContextLengthError("too long", status=400),
        ModelError("nobody knows"),
    ],
)
def test_a_model_that_cannot_answer_is_replaced_by_the_next(error: ModelError) -> None:
    clock = FakeClock()
    deployments, models = serving(clock, first=[error] * 9, second=[])
    response = clock.run(ModelRouter(deployments, clock=clock).generate(ask(model="first", fallbacks=("second",))))
    assert response.usage.model == "here:second"
    assert len(models["second"].starts) == 1


@virtual
async def test_a_request_that_is_wrong_is_wrong_for_every_model(clock: FakeClock) -> None:
    deployments, models = serving(clock, first=[ModelRequestError("wrong", status=422)], second=[])
    with pytest.raises(ModelRequestError):
        await ModelRouter(deployments, clock=clock).generate(ask(model="first", fallbacks=("second",)))
    assert models["second"].starts == []


@virtual
async def test_the_requests_fallbacks_come_before_the_routers(clock: FakeClock) -> None:
    deployments, models = serving(clock, first=[DOWN] * 9, second=[DOWN] * 9, third=[])
    router = ModelRouter(deployments, clock=clock, fallbacks={"first": ["third", "second"]})
    response = await router.generate(ask(model="first", fallbacks=("second",)))
    assert response.usage.model == "here:third"
    assert [len(model.starts) for model in models.values()] == [3, 3, 1]


@virtual
async def test_the_routers_fallbacks_of_a_model_hold_for_its_deployments_too(clock: FakeClock) -> None:
    deployments, _ = serving(clock, first=[DOWN] * 9, second=[])
    router = ModelRouter(deployments, clock=clock, fallbacks={"first": ["second"]})
    assert (await router.generate(ask(model="here:first"))).usage.model == "here:second"


@virtual
async def test_the_last_models_error_is_raised_and_tells_the_whole_story(clock: FakeClock) -> None:
    deployments, _ = serving(clock, first=[DOWN], second=[AuthenticationError("key", status=401)])
    first = deployments[0].served_model
    assert isinstance(first, FakeModel)
    first._outcomes.extend([DOWN] * 2)
    with pytest.raises(AuthenticationError) as caught:
        await ModelRouter(deployments, clock=clock).generate(ask(model="first", fallbacks=("second",)))
    story = "4 attempts: here:first (server), here:first (server), here:first (server), here:second (refused)"
    assert caught.value.__notes__ == [story]


@virtual
async def test_no_call_waits_for_a_model_whose_circuits_are_all_open(clock: FakeClock) -> None:
    deployments, models = serving(clock, first=[DOWN] * 9, second=[])
    circuit_breaker = CircuitBreakerPolicy(failure_threshold=3, cooldown=60.0)
    router = ModelRouter(
        deployments, clock=clock, fallbacks={"first": ["second"]}, circuit_breaker=circuit_breaker, random=lambda: 0.0
    )
    for _ in range(5):
        await router.generate(ask(model="first"))
    assert [len(model.starts) for model in models.values()] == [3, 5]
    assert clock.monotonic() == 1000.0


@virtual
async def test_a_call_waits_for_its_own_model_when_the_fallback_is_open_too(clock: FakeClock) -> None:
    deployments, _ = serving(clock, first=[DOWN] * 3, second=[DOWN] * 3)
    circuit_breaker = CircuitBreakerPolicy(failure_threshold=3, cooldown=60.0)
    router = ModelRouter(
        deployments, clock=clock, fallbacks={"first": ["second"]}, circuit_breaker=circuit_breaker, random=lambda: 0.0
    )
    with pytest.raises(ModelServerError):
        await router.generate(ask(model="first"))
    assert (await router.generate(ask(model="first"))).usage.model == "here:first"
    assert clock.monotonic() == 1060.0


@virtual
async def test_a_fallback_that_can_do_less_gets_a_request_that_it_can_take(clock: FakeClock) -> None:
    primary = FakeModel(clock, *[DOWN] * 9)
    simple = FakeModel(clock, answer('{"tool": "find", "arguments": {"what": "it"}}'), features=Features())
    router = ModelRouter([Deployment("a", "m", primary), Deployment("b", "simple", simple)], clock=clock)
    tools = (ToolSpec("find", "Finds", {"type": "object", "properties": {"what": {"type": "string"}}}),)
    options = LlmOptions(model="m", fallbacks=("simple",))
    request = ModelRequest((UserMessage("find it"),), tools=tools, options=options)
    assert router.resolve(options).features == ALL
    response = await router.generate(request)
    assert [call.name for call in response.message.tool_calls] == ["find"]
    assert simple.requests[0].tools == ()
    primary._outcomes, simple._outcomes = [DOWN] * 9, [answer('{"answer": "there"}')]
    simple.deltas = ('{"ans', "wer")
    items = [item async for item in router.stream(request)]
    assert [type(item) is TextDelta for item in items] == [False], "half of a fitted answer means nothing"


def test_a_fallback_that_nobody_serves_is_an_error_before_any_request() -> None:
    clock = FakeClock()
    model = FakeModel(clock)
    with pytest.raises(UnknownModelError, match="Nothing serves 'x', the default or in the fallbacks"):
        ModelRouter(deployed(a=model), fallbacks={"m": ["x"]})
    with pytest.raises(UnknownModelError, match="Nothing serves the model 'x'"):
        clock.run(ModelRouter(deployed(a=model), clock=clock).generate(ask(fallbacks=("x",))))
    assert model.starts == []


@virtual
async def test_a_routers_fallback_that_the_request_does_not_allow_is_left_out(clock: FakeClock) -> None:
    a, b = FakeModel(clock, *[DOWN] * 9), FakeModel(clock)
    router = ModelRouter(
        [Deployment("a", "m", a), Deployment("b", "other", b)], clock=clock, fallbacks={"m": ["other"]}
    )
    with pytest.raises(ModelServerError):
        await router.generate(ask(instances=("a",)))
    assert b.starts == []


@virtual
async def test_calls_that_wait_for_a_failing_deployment_leave_for_the_fallback(clock: FakeClock) -> None:
    """The circuit opens while they are in its queue, behind a limit that only two of them fit in."""
    failing, healthy = FakeModel(clock, *[DOWN] * 999, seconds=0.1), FakeModel(clock, seconds=0.1)
    deployments = [Deployment("here", "first", failing, max_concurrency=2), Deployment("here", "second", healthy)]
    router = ModelRouter(deployments, clock=clock, fallbacks={"first": ["second"]})
    began = clock.monotonic()
    responses = await asyncio.gather(*(router.generate(ask(model="first")) for _ in range(150)))
    assert {response.usage.model for response in responses} == {"here:second"}
    assert clock.monotonic() - began < 5


@virtual
async def test_calls_behind_a_trial_that_fails_leave_for_the_fallback(clock: FakeClock) -> None:
    failing, healthy = FakeModel(clock, *[DOWN] * 999, seconds=0.1), FakeModel(clock, *[DOWN] * 5, seconds=0.1)
    deployments = [Deployment("here", "first", failing), Deployment("here", "second", healthy)]
    breaker = CircuitBreakerPolicy(failure_threshold=1)
    router = ModelRouter(deployments, clock=clock, fallbacks={"first": ["second"]}, circuit_breaker=breaker)
    began = clock.monotonic()
    responses = await asyncio.gather(*(router.generate(ask(model="first")) for _ in range(20)), return_exceptions=True)
    answers = [one for one in responses if not isinstance(one, BaseException)]
    assert len(answers) >= 15
    assert clock.monotonic() - began < 300
    assert all(state.in_flight == 0 for state in router.status())


@virtual
async def test_calls_without_a_fallback_wait_for_the_cooldown(clock: FakeClock) -> None:
    model = FakeModel(clock, *[DOWN] * 3, seconds=0.1)
    deployments = [Deployment("here", "first", model, max_concurrency=1)]
    router = ModelRouter(deployments, clock=clock, circuit_breaker=CircuitBreakerPolicy(failure_threshold=3))
    responses = await asyncio.gather(*(router.generate(ask(model="first")) for _ in range(4)))
    assert len(responses) == 4
