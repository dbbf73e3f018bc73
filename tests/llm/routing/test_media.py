"""Embedding models and image models behind a router: the same limits, retries and circuit breakers as for chat."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tactician.errors import (
    ConfigurationError,
    MalformedResponseError,
    ModelError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
    UnknownModelError,
    UnsupportedFeatureError,
)
from tactician.events import Event
from tactician.llm import EmbeddingModel, Image, ImageModel, RoutingOptions, Usage
from tactician.llm.embeddings.model import BatchLimits, EmbeddingOptions, Embeddings
from tactician.llm.images import GeneratedImages, ImageOptions
from tactician.llm.model_sources import MediaModelSource
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.events import CircuitOpened, RequestRouted
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, ask, together, virtual

DOWN = ModelServerError("down", status=500)
CAT = Image(data="Y2F0")


class FakeEmbeddings(EmbeddingModel):
    """A text's vector is its length, after the next of its errors is raised. Each text takes a token."""

    def __init__(self, clock: FakeClock, *errors: ModelError | None, texts: int = 2, dimensions: int = 1) -> None:
        self.clock = clock
        self.starts: list[float] = []
        self.batches: list[tuple[str, ...]] = []
        self.timeouts: list[float | None] = []
        self._errors = list(errors)
        self._texts = texts
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        return "fake"

    @property
    def limits(self) -> BatchLimits:
        return BatchLimits(texts=self._texts)

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = EmbeddingOptions()) -> Embeddings:  # noqa: B008
        self.starts.append(self.clock.monotonic() - 1000.0)
        self.batches.append(tuple(texts))
        self.timeouts.append(options.timeout)
        if self._errors and (error := self._errors.pop(0)) is not None:
            raise error
        vectors = tuple((float(len(text)),) * self._dimensions for text in texts)
        return Embeddings(vectors, self.name, Usage(len(texts), requests=1))


class FakeImages(ImageModel):
    """A picture's address is its prompt, after the next of its errors is raised."""

    def __init__(self, *errors: ModelError, edits: bool = True) -> None:
        self.made: list[str] = []
        self.timeouts: list[float | None] = []
        self._errors = list(errors)
        self._edits = edits

    @property
    def name(self) -> str:
        return "fake"

    async def generate(
        self,
        prompt: str,
        *,
        size: str = "",
        quality: str = "",
        n: int = 1,
        options: ImageOptions = ImageOptions(),  # noqa: B008
    ) -> GeneratedImages:
        self.made.append(prompt)
        self.timeouts.append(options.timeout)
        if self._errors:
            raise self._errors.pop(0)
        return GeneratedImages((Image(url=f"{prompt} {size} {quality}"),) * n, "fake", Usage(1, 9, requests=1))

    async def edit(
        self,
        image: Image,
        prompt: str,
        *,
        mask: Image | None = None,
        options: ImageOptions = ImageOptions(),  # noqa: B008
    ) -> GeneratedImages:
        if not self._edits:
            raise UnsupportedFeatureError("here", "image_editing", frozenset())
        return await self.generate(prompt, options=options)


def served(**models: EmbeddingModel | ImageModel) -> list[Deployment]:
    return [Deployment(instance, "e", model) for instance, model in models.items()]


@virtual
async def test_batches_are_spread_over_the_instances_and_keep_their_order(clock: FakeClock) -> None:
    one, two = FakeEmbeddings(clock), FakeEmbeddings(clock, texts=3)
    router = ModelRouter(served(a=one, b=two), clock=clock)

    found = await router.embedding_model().embed(["a", "bb", "ccc", "dddd", "eeeee", "ffffff"])

    assert found.vectors == ((1.0,), (2.0,), (3.0,), (4.0,), (5.0,), (6.0,))
    assert (one.batches, two.batches) == ([("a", "bb"), ("eeeee", "ffffff")], [("ccc", "dddd")])
    assert (found.model, found.usage, router.usage(instance="a")) == (
        "e",
        Usage(6, requests=3),
        Usage(4, requests=2),
    )
    assert [part.model for part in found.usage.parts] == ["a:e", "b:e"]


@virtual
async def test_only_the_batch_that_failed_is_tried_again_and_elsewhere(clock: FakeClock) -> None:
    one, two = FakeEmbeddings(clock, DOWN), FakeEmbeddings(clock)
    router = ModelRouter(served(a=one, b=two), clock=clock)

    found = await router.embedding_model("e").embed(["a", "b", "c"])

    assert len(found) == 3
    assert (one.batches, two.batches) == ([("a", "b")], [("a", "b"), ("c",)])
    assert [(status.kind, status.requests, status.failures) for status in router.status()] == [
        ("embeddings", 1, 1),
        ("embeddings", 2, 0),
    ]


@virtual
async def test_the_circuit_of_a_failing_instance_opens_and_the_other_serves(clock: FakeClock) -> None:
    one, two, events = FakeEmbeddings(clock, *[DOWN] * 9), FakeEmbeddings(clock), list[Event]()
    router = ModelRouter(
        served(a=one, b=two),
        clock=clock,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=2, cooldown=50.0),
        on_event=events.append,
    )
    model = router.embedding_model()

    for _ in range(10):
        await model.embed(["a"])

    assert (len(one.batches), len(two.batches)) == (2, 10)
    assert [event.seconds for event in events if isinstance(event, CircuitOpened)] == [50.0]


@virtual
async def test_retry_after_is_kept_and_other_pauses_double(clock: FakeClock) -> None:
    busy = FakeEmbeddings(clock, RateLimitError("busy", status=429, retry_after=30.0), DOWN)
    router = ModelRouter(
        served(a=busy), clock=clock, random=lambda: 0.5, circuit_breaker=CircuitBreakerPolicy(failure_threshold=0)
    )

    await router.embedding_model().embed(["a"])

    assert busy.starts == [0.0, 30.0, 31.0]


@virtual
async def test_a_timeout_gets_its_time_once_more_and_a_wrong_request_is_sent_once(clock: FakeClock) -> None:
    late = FakeEmbeddings(clock, ModelTimeoutError("late"), ModelTimeoutError("late"))
    await ModelRouter(served(a=late), clock=clock).embedding_model().embed(["a"], EmbeddingOptions(timeout=5.0))
    painter = FakeImages(ModelTimeoutError("late"))
    await ModelRouter(served(a=painter), clock=clock).image_model().generate("cat")
    wrong = FakeEmbeddings(clock, ModelRequestError("wrong", status=400))
    with pytest.raises(ModelRequestError):
        await ModelRouter(served(a=wrong), clock=clock).embedding_model().embed(["a"])

    assert (late.timeouts, painter.timeouts, len(wrong.batches)) == ([5.0, 10.0, 15.0], [None, 240.0], 1)


@virtual
async def test_each_batch_has_the_deadline_for_itself(clock: FakeClock) -> None:
    slow = FakeEmbeddings(clock, *[None, RateLimitError("busy", retry_after=8.0)] * 2)
    router = ModelRouter(served(a=slow), clock=clock, retries=ModelRetryPolicy(deadline=10.0))

    await router.embedding_model().embed(["a"] * 6)

    assert slow.starts == [0.0, 0.0, 8.0, 8.0, 16.0]


@virtual
async def test_no_attempt_begins_after_the_deadline(clock: FakeClock) -> None:
    busy = FakeEmbeddings(clock, RateLimitError("busy", retry_after=4.0), RateLimitError("busy", retry_after=7.0))
    router = ModelRouter(served(a=busy), clock=clock, retries=ModelRetryPolicy(deadline=10.0))

    with pytest.raises(ModelError) as caught:
        await router.embedding_model().embed(["a"])
    assert busy.starts == [0.0, 4.0]
    assert "a:e (rate_limit)" in str(caught.value) + str(caught.value.__notes__)


@virtual
async def test_limits_hold(clock: FakeClock) -> None:
    model = FakeEmbeddings(clock, texts=1)
    router = ModelRouter([Deployment("a", "e", model, requests_per_second=2)], clock=clock)
    await together(router.embedding_model().embed(["a", "b"]) for _ in range(2))
    assert model.starts == [0.0, 0.5, 1.0, 1.5]

    model = FakeEmbeddings(clock, texts=1)
    began = clock.monotonic() - 1000.0
    router = ModelRouter([Deployment("a", "e", model)], tokens_per_second=1, clock=clock)
    await together(router.embedding_model().embed(["four" * 3]) for _ in range(3))
    assert [start - began for start in model.starts] == [0.0, 1.0, 2.0]  # three tokens were estimated, one was used


@virtual
async def test_pins_and_sessions_of_a_caller_hold_and_its_run_hears_the_events(clock: FakeClock) -> None:
    one, two, three = (FakeEmbeddings(clock) for _ in range(3))
    router = ModelRouter(served(a=one, b=two, c=three), clock=clock, policy="sticky")

    pinned = router.embedding_model("e", RoutingOptions(instances=("b",)))
    for _ in range(4):
        await pinned.embed(["a"])
    assert (len(one.batches), len(two.batches), len(three.batches)) == (0, 4, 0)

    sticky = router.embedding_model("e", RoutingOptions(session="alice"))
    for _ in range(4):
        await sticky.embed(["a"])
    assert sorted(len(model.batches) for model in (one, two, three)) in ([0, 4, 4], [0, 0, 8])
    with pytest.raises(UnknownModelError, match=r"embedding model 'e' at the allowed instances \(us\)"):
        router.embedding_model("e", RoutingOptions(instances=("us",)))


@virtual
async def test_vectors_of_different_models_are_never_in_one_answer(clock: FakeClock) -> None:
    router = ModelRouter(served(a=FakeEmbeddings(clock), b=FakeEmbeddings(clock, dimensions=2)), clock=clock)
    with pytest.raises(
        MalformedResponseError, match=r"the vectors have different lengths, \[1, 2\]\. The instances a, b serve"
    ):
        await router.embedding_model().embed(["a", "b", "c"])

    deployments = [*served(a=FakeEmbeddings(clock)), Deployment("a", "f", FakeEmbeddings(clock))]
    message = "The fallbacks of 'e': an embedding model can have none, because vectors of different models cannot be"
    with pytest.raises(ConfigurationError, match=message):
        ModelRouter(deployments, fallbacks={"e": ["f"]})
    router = ModelRouter(deployments)
    with pytest.raises(ConfigurationError, match=message):
        router.set_fallbacks("e", "f", kind="embeddings")


@virtual
async def test_an_image_model_may_fall_back_to_another_one(clock: FakeClock) -> None:
    first, second = FakeImages(*[DOWN] * 3), FakeImages()
    router = ModelRouter(
        [Deployment("a", "p", first), Deployment("a", "q", second)], clock=clock, fallbacks={"p": ["q"]}
    )

    made = await router.image_model("p").generate("cat", size="1x1", quality="hd", n=2)

    assert [image.url for image in made.images] == ["cat 1x1 hd"] * 2
    assert (made.usage.model, len(first.made), len(second.made)) == ("a:q", 3, 1)


@virtual
async def test_an_image_is_edited_where_that_can_be_done(clock: FakeClock) -> None:
    azure, openai = FakeImages(edits=False), FakeImages()
    model = ModelRouter(served(azure=azure, openai=openai), clock=clock).image_model()

    for _ in range(4):
        await model.edit(CAT, "a hat")
        await together(model.generate("a cat") for _ in range(2))
    with pytest.raises(UnsupportedFeatureError):
        await ModelRouter(served(azure=azure), clock=clock).image_model().edit(CAT, "a hat")

    assert openai.made.count("a hat") == 4
    assert (azure.made, openai.made.count("a cat")) == (["a cat"] * 4, 4)


@virtual
async def test_models_of_each_kind_have_names_and_a_default_of_their_own(clock: FakeClock) -> None:
    chat, vectors = FakeModel(clock), FakeEmbeddings(clock)
    router = ModelRouter([Deployment("a", "m", chat), Deployment("a", "m", vectors)], clock=clock)

    assert isinstance(router, MediaModelSource)
    assert (await router.generate(ask())).message.text == "yes"
    assert (await router.embedding_model("a:m").embed_one("abc")) == (3.0,)
    assert (router.models, router.has_model("m"), router.has_model("m", "images")) == (("m",), True, False)
    with pytest.raises(UnknownModelError, match=r"names no image model, .* because no instance with an image model"):
        router.image_model()
    with pytest.raises(UnknownModelError, match=r"Nothing serves the embedding model 'n'.* Served are: m \(at a\)"):
        router.embedding_model("n")
    several = [Deployment("a", name, vectors) for name in ("x", "y")]
    with pytest.raises(UnknownModelError, match="names no embedding model"):
        ModelRouter(several).embedding_model()
    assert ModelRouter(several, default_embedding="y").embedding_model().name == "y"
    with pytest.raises(UnknownModelError, match="'z'"):
        ModelRouter(several, default_image="z")


@virtual
async def test_no_texts_give_no_request_and_a_call_says_where_it_went(clock: FakeClock) -> None:
    events = list[Event]()
    model = FakeEmbeddings(clock)
    router = ModelRouter(served(a=model), clock=clock, on_event=events.append)

    assert len(await router.embedding_model().embed([])) == 0
    assert model.batches == []
    await router.embedding_model().embed(["a"])
    assert [(one.model, one.instance) for one in events if isinstance(one, RequestRouted)] == [("e", "a")]
