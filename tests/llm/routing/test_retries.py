"""What is tried again, how often, after how long, and where."""

import pytest

from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
)
from tactician.llm import AssistantMessage, LlmOptions, ModelPrice, ModelRequest, ModelResponse, ToolCall, UserMessage
from tactician.llm.model import OutputSpec
from tactician.llm.routing.retries import NO_RETRY, ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.llm.usage import UsageTally
from tactician.resilience.backoff import RetryRule
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, answer, ask, deployed, together, virtual

NO_RESTS = CircuitBreakerPolicy(failure_threshold=0)


def lone(clock: FakeClock, *outcomes: ModelResponse | ModelError, **kwargs: object) -> tuple[ModelRouter, FakeModel]:
    """A router over one instance, whose pauses are as long as they may be."""
    model = FakeModel(clock, *outcomes)
    options = {"clock": clock, "circuit_breaker": NO_RESTS, "random": lambda: 1.0, **kwargs}
    return ModelRouter(deployed(a=model), **options), model  # type: ignore[arg-type]


def pauses(model: FakeModel) -> list[float]:
    return [round(b - a, 6) for a, b in zip(model.starts, model.starts[1:], strict=False)]


@pytest.mark.parametrize(
    ("error", "attempts", "waits"),
    [
        (RateLimitError("busy", status=429), 3, [1, 2]),
        (RateLimitError("overloaded", status=529), 3, [1, 2]),
        (ModelServerError("down", status=500), 3, [1, 2]),
        (ModelConnectionError("broken off"), 3, [1, 2]),
        (ModelTimeoutError("too slow"), 3, [0, 0]),
        (MalformedResponseError("not JSON"), 2, [0]),
        (ContentFilterError("no", status=400), 1, []),
        (ModelRequestError("wrong", status=400), 1, []),
        (ContextLengthError("too long", status=400), 1, []),
        (AuthenticationError("key", status=401), 1, []),
        (ModelNotFoundError("what?", status=404), 1, []),
        (ModelError("by status", status=429), 3, [1, 2]),
        (ModelError("by status", status=503), 3, [1, 2]),
        (ModelError("by status", status=408), 3, [0, 0]),
        (ModelError("by status", status=418), 1, []),
        (ModelError("429 Too Many Requests; never by the message"), 1, []),
    ],
)
def test_each_kind_of_error_is_tried_as_often_as_its_rule_says(
    error: ModelError, attempts: int, waits: list[float]
) -> None:
    clock = FakeClock()
    router, model = lone(clock, *[error] * 9)
    with pytest.raises(type(error)) as caught:
        clock.run(router.generate(ask()))
    assert caught.value is error
    assert len(model.starts) == attempts
    assert pauses(model) == waits


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("rate_limit", RateLimitError("busy", status=429)),
        ("timeout", ModelTimeoutError("slow")),
        ("server", ModelServerError("down", status=500)),
        ("connection", ModelConnectionError("broken off")),
        ("malformed", MalformedResponseError("not JSON")),
    ],
)
def test_every_category_has_its_own_numbers(name: str, error: ModelError) -> None:
    clock = FakeClock()
    rule = RetryRule(attempts=5, base=2.0, factor=3.0, longest=20.0)
    router, model = lone(clock, *[error] * 9, retries=ModelRetryPolicy(**{name: rule}))  # type: ignore[arg-type]
    with pytest.raises(type(error)):
        clock.run(router.generate(ask()))
    assert pauses(model) == [2, 6, 18, 20]


@virtual
async def test_a_pause_is_anything_up_to_its_ceiling(clock: FakeClock) -> None:
    numbers = iter([0.25, 0.5])
    router, model = lone(clock, *[ModelServerError("down", status=500)] * 2, random=lambda: next(numbers))
    await router.generate(ask())
    assert pauses(model) == [0.25, 1.0]


@virtual
async def test_retry_after_is_kept_exactly_and_by_all(clock: FakeClock) -> None:
    router, model = lone(clock, RateLimitError("busy", status=429, retry_after=7.5))
    await router.generate(ask())
    assert pauses(model) == [7.5]
    router, model = lone(
        clock, RateLimitError("busy", status=429, retry_after=7.5), retries=ModelRetryPolicy(rate_limit=NO_RETRY)
    )
    with pytest.raises(RateLimitError):
        await router.generate(ask())
    await router.generate(ask())
    assert pauses(model) == [7.5]


@virtual
async def test_a_retry_after_beyond_the_deadline_is_not_waited_for(clock: FakeClock) -> None:
    router, model = lone(clock, RateLimitError("come back tomorrow", status=429, retry_after=86400))
    with pytest.raises(RateLimitError, match="tomorrow"):
        await router.generate(ask())
    with pytest.raises(ModelTimeoutError, match=r"no answer within the deadline of 300 s; no attempt was made"):
        await router.generate(ask())
    assert clock.monotonic() == 1000.0
    assert len(model.starts) == 1


@virtual
async def test_each_attempt_after_a_timeout_has_more_time(clock: FakeClock) -> None:
    router, model = lone(clock, *[ModelTimeoutError("slow")] * 2)
    await router.generate(ask(timeout=20.0, temperature=0.3))
    assert [request.options.timeout for request in model.requests] == [20.0, 40.0, 60.0]
    assert {request.options.temperature for request in model.requests} == {0.3}


@virtual
async def test_without_a_timeout_of_its_own_a_call_grows_from_the_policys(clock: FakeClock) -> None:
    router, model = lone(clock, *[ModelTimeoutError("slow")] * 2, retries=ModelRetryPolicy(first_timeout=10.0))
    await router.generate(ask())
    assert [request.options.timeout for request in model.requests] == [10.0, 20.0, 30.0]


@virtual
async def test_what_the_filter_stopped_goes_to_instances_that_were_not_asked_at_most_three_in_all(
    clock: FakeClock,
) -> None:
    models = {name: FakeModel(clock, *[ContentFilterError("no", status=400)] * 9) for name in "abcde"}
    router = ModelRouter(deployed(**models), clock=clock)
    with pytest.raises(ContentFilterError):
        await router.generate(ask())
    assert [len(model.starts) for model in models.values()] == [1, 1, 1, 0, 0]
    assert clock.monotonic() == 1000.0


@virtual
async def test_a_filtered_answer_is_asked_for_elsewhere(clock: FakeClock) -> None:
    a, b = FakeModel(clock, answer("", finish_reason="content_filter")), FakeModel(clock)
    response = await ModelRouter(deployed(a=a, b=b), clock=clock).generate(ask())
    assert (response.message.text, [part.model for part in response.usage.parts]) == ("yes", ["a:m", "b:m"])


@virtual
async def test_a_filtered_answer_is_the_result_when_no_better_one_comes(clock: FakeClock) -> None:
    a = FakeModel(clock, answer("", finish_reason="content_filter"))
    b = FakeModel(clock, ModelRequestError("wrong", status=400))
    response = await ModelRouter(deployed(a=a, b=b), clock=clock).generate(ask())
    assert (response.finish_reason, response.usage.model) == ("content_filter", "a:m")


@virtual
async def test_the_usage_of_answers_that_were_thrown_away_is_counted(clock: FakeClock) -> None:
    a, b = FakeModel(clock, answer("", finish_reason="content_filter", tokens=7)), FakeModel(clock, answer(tokens=5))
    router = ModelRouter(deployed(a=a, b=b), clock=clock)
    response = await router.generate(ask())
    assert (response.usage.total_tokens, response.usage.requests) == (12, 2)
    assert router.usage().total_tokens == 12
    assert router.usage(instance="a").total_tokens == 7


@virtual
async def test_the_cost_of_answers_that_were_thrown_away_is_counted(clock: FakeClock) -> None:
    filtered = answer("", finish_reason="content_filter", tokens=1_000_000).attribute_to("a:m", ModelPrice(1.0, 0.0))
    a, b = (
        FakeModel(clock, filtered),
        FakeModel(clock, answer(tokens=1_000_000).attribute_to("b:m", ModelPrice(4.0, 0.0))),
    )
    router, tally = ModelRouter(deployed(a=a, b=b), clock=clock), UsageTally()
    response = await router.generate(ask())
    tally.add(response.usage)
    assert response.usage.cost == tally.total.cost == router.usage().cost == 5.0
    assert {name: used.cost for name, used in tally.by_model.items()} == {"a:m": 1.0, "b:m": 4.0}


@virtual
async def test_an_object_that_is_cut_off_is_asked_for_once_more(clock: FakeClock) -> None:
    router, model = lone(clock, *[answer('{"a', finish_reason="length")] * 9)
    request = ModelRequest((UserMessage("hi"),), output=OutputSpec("a", {}), options=LlmOptions(model="m"))
    response = await router.generate(request)
    assert response.finish_reason == "length"
    assert len(model.starts) == 2
    assert response.usage.total_tokens == 20


@virtual
async def test_a_tool_call_that_is_cut_off_is_asked_for_once_more(clock: FakeClock) -> None:
    cut_off = ModelResponse(AssistantMessage((ToolCall("1", "find", '{"wh'),)), finish_reason="length")
    router, model = lone(clock, cut_off)
    assert (await router.generate(ask())).finish_reason == "stop"
    assert len(model.starts) == 2


@virtual
async def test_text_that_is_cut_off_is_given_back(clock: FakeClock) -> None:
    router, model = lone(clock, answer("Once upon", finish_reason="length"))
    assert (await router.generate(ask())).message.text == "Once upon"
    assert len(model.starts) == 1


@virtual
async def test_the_last_error_tells_what_was_tried(clock: FakeClock) -> None:
    a = FakeModel(clock, *[ModelServerError("down", status=500)] * 9)
    b = FakeModel(clock, *[RateLimitError("busy", status=429)] * 9)
    with pytest.raises(ModelServerError, match="down") as caught:
        await ModelRouter(deployed(a=a, b=b), clock=clock, random=lambda: 1.0).generate(ask())
    assert caught.value.__notes__ == ["3 attempts: a:m (server), b:m (rate_limit), a:m (server)"]


@virtual
async def test_a_bug_in_a_model_is_not_tried_again_and_frees_its_place(clock: FakeClock) -> None:
    def broken(request: ModelRequest) -> None:
        raise ZeroDivisionError

    router = ModelRouter(deployed(a=FakeModel(clock, decide=broken)), clock=clock)
    with pytest.raises(ZeroDivisionError):
        await router.generate(ask())
    (status,) = router.status()
    assert (status.in_flight, status.requests) == (0, 1)


@pytest.mark.parametrize(
    ("failure", "option"),
    [
        (ModelServerError("down", status=500), "network_retries"),
        (RateLimitError("slow down", status=429), "network_retries"),
        (ModelTimeoutError("late"), "network_retries"),
        (ModelConnectionError("away"), "network_retries"),
        (answer("cut", finish_reason="length"), "truncation_retries"),
        (ContentFilterError("blocked"), "content_filter_retries"),
    ],
)
@pytest.mark.parametrize("retries", [0, 1, 4])
def test_a_call_may_have_retries_of_its_own(failure: ModelResponse | ModelError, option: str, retries: int) -> None:
    @virtual
    async def run(clock: FakeClock) -> None:
        models = {f"i{number}": FakeModel(clock, *[failure] * 9) for number in range(9)}
        router = ModelRouter(deployed(**models), clock=clock, circuit_breaker=NO_RESTS, random=lambda: 0.0)
        output = OutputSpec("o", {"type": "object"})
        request = ModelRequest((UserMessage("hi"),), output=output, options=LlmOptions(model="m", **{option: retries}))  # type: ignore[arg-type]
        await together([router.generate(request)])
        assert sum(len(model.starts) for model in models.values()) == retries + 1

    run()
