"""A stream is tried again before its first delta, and never after it."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from tactician.errors import (
    ContentFilterError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelServerError,
)
from tactician.llm import ModelRequest, ModelResponse
from tactician.llm.model import Delta, TextDelta
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.router import ModelRouter
from tests.llm.routing.support import ALL, FakeClock, FakeModel, answer, ask, deployed, settled, together, virtual

CUT = ModelConnectionError("broken off")


class Streaming(FakeModel):
    """Yields deltas, each after a second, and then what comes last: a response, an error, or nothing."""

    def __init__(self, clock: FakeClock, *plays: tuple[str | ModelResponse | ModelError, ...]) -> None:
        super().__init__(clock, features=ALL)
        self.plays = list(plays)
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        self.requests.append(request)
        try:
            for item in self.plays.pop(0):
                await asyncio.sleep(1.0)
                if isinstance(item, ModelError):
                    raise item
                yield TextDelta(item) if isinstance(item, str) else item
        finally:
            self.closed += 1


def texts(items: list[Delta | ModelResponse]) -> list[str]:
    return [item.text if isinstance(item, TextDelta) else "." for item in items]


async def drain(router: ModelRouter, got: list[Delta | ModelResponse]) -> None:
    async for item in router.stream(ask()):
        got.append(item)  # noqa: PERF401 - what came before an error counts


@virtual
async def test_deltas_come_as_they_are_and_the_response_last(clock: FakeClock) -> None:
    response = answer("ab")
    model = Streaming(clock, ("a", "b", response))
    router = ModelRouter(deployed(a=model), clock=clock)
    items = []
    async for item in router.stream(ask()):
        items.append(item)
        assert model.closed == isinstance(item, ModelResponse), "the model is done when the response is given"
    assert texts(items) == ["a", "b", "."]
    last = items[-1]
    assert isinstance(last, ModelResponse)
    assert (last.message, last.usage.model) == (response.message, "a:m")
    (status,) = router.status()
    assert (status.in_flight, status.failures, status.usage.total_tokens, status.latency) == (0, 0, 10, 3.0)


@virtual
async def test_what_fails_before_the_first_delta_is_tried_elsewhere(clock: FakeClock) -> None:
    a, b = Streaming(clock, (CUT,)), Streaming(clock, ("b", answer()))
    router = ModelRouter(deployed(a=a, b=b), clock=clock)
    assert texts([item async for item in router.stream(ask())]) == ["b", "."]
    assert [one.failures for one in router.status()] == [1, 0]


@virtual
async def test_what_fails_after_the_first_delta_is_raised_as_it_is(clock: FakeClock) -> None:
    a, b = Streaming(clock, ("a", CUT)), Streaming(clock)
    router = ModelRouter(deployed(a=a, b=b), clock=clock)
    got: list[Delta | ModelResponse] = []
    with pytest.raises(ModelConnectionError) as caught:
        await drain(router, got)
    assert caught.value is CUT
    assert texts(got) == ["a"]
    assert b.requests == []
    assert [(one.in_flight, one.failures) for one in router.status()] == [(0, 1), (0, 0)]


@pytest.mark.parametrize("plays", [((),) * 2, (("a",),)])
def test_a_stream_that_ends_without_its_response_is_an_error(plays: tuple[tuple[str, ...], ...]) -> None:
    clock = FakeClock()
    model = Streaming(clock, *plays)
    router = ModelRouter(deployed(a=model), clock=clock)
    with pytest.raises(MalformedResponseError, match="a:m: the stream ended before the answer was complete"):
        clock.run(drain(router, []))
    assert len(model.requests) == len(plays), "tried once more, if nothing had come"
    assert router.status()[0].in_flight == 0


@virtual
async def test_an_answer_without_deltas_is_judged_as_a_whole(clock: FakeClock) -> None:
    a = Streaming(clock, (answer("", finish_reason="content_filter", tokens=3),))
    b = Streaming(clock, ("b", answer("b")))
    items = [item async for item in ModelRouter(deployed(a=a, b=b), clock=clock).stream(ask())]
    assert texts(items) == ["b", "."]
    last = items[-1]
    assert isinstance(last, ModelResponse)
    assert last.usage.total_tokens == 13


@virtual
async def test_a_filtered_stream_that_has_begun_is_given_as_it_is(clock: FakeClock) -> None:
    a, b = Streaming(clock, ("a", answer("a", finish_reason="content_filter"))), Streaming(clock)
    items = [item async for item in ModelRouter(deployed(a=a, b=b), clock=clock).stream(ask())]
    assert texts(items) == ["a", "."]
    assert b.requests == []


@virtual
async def test_whoever_stops_listening_stops_the_model_and_frees_its_place(clock: FakeClock) -> None:
    model = Streaming(clock, ("a", "b", answer()), ("c", answer()))
    router = ModelRouter([Deployment("a", "m", model, max_concurrency=1)], clock=clock)
    stream = router.stream(ask())
    assert await anext(stream) == TextDelta("a")
    waiting: list[Delta | ModelResponse] = []
    other = asyncio.create_task(drain(router, waiting))
    await settled()
    assert router.status()[0].in_flight == 1
    await stream.aclose()
    assert model.closed == 1
    await other
    assert texts(waiting) == ["c", "."]
    assert router.status()[0].in_flight == 0


@virtual
async def test_a_stream_that_is_cancelled_at_any_moment_frees_its_place(clock: FakeClock) -> None:
    for tenths in range(0, 45, 5):
        model = Streaming(clock, ("a", "b", answer()))
        router = ModelRouter(deployed(a=model), clock=clock)
        task = asyncio.create_task(drain(router, []))
        await asyncio.sleep(tenths / 10)
        task.cancel()
        await together([task])
        assert router.status()[0].in_flight == 0
        assert model.closed == len(model.requests)


@virtual
async def test_a_stream_that_nobody_starts_takes_no_place(clock: FakeClock) -> None:
    router = ModelRouter(deployed(a=Streaming(clock)), clock=clock)
    stream = router.stream(ask())
    await stream.aclose()
    assert (router.status()[0].in_flight, router.status()[0].requests) == (0, 0)


@virtual
async def test_a_stream_holds_its_place_until_its_end(clock: FakeClock) -> None:
    model = Streaming(clock, ("a", answer()), ("b", answer()))
    router = ModelRouter([Deployment("a", "m", model, max_concurrency=1)], clock=clock)
    got: list[Delta | ModelResponse] = []
    await together([drain(router, got), drain(router, got)])
    assert texts(got) == ["a", ".", "b", "."]


@virtual
async def test_errors_of_a_stream_are_counted_like_others(clock: FakeClock) -> None:
    a, b = Streaming(clock, *[("a", ModelServerError("down", status=500))] * 5), Streaming(clock)
    router = ModelRouter(deployed(a=a, b=b), clock=clock)
    for _ in range(5):
        with pytest.raises(ModelServerError):
            [item async for item in router.resolve(ask(instances=("a",)).options).stream(ask(instances=("a",)))]
    assert router.status()[0].cooldown_until is not None


@virtual
async def test_a_filter_that_says_no_to_all_says_so(clock: FakeClock) -> None:
    model = Streaming(clock, (ContentFilterError("no", status=400),))
    with pytest.raises(ContentFilterError):
        [item async for item in ModelRouter(deployed(a=model), clock=clock).stream(ask())]
