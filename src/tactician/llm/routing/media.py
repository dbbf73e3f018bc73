"""Calls of embedding models and image models: each batch of texts, and each image, is a routed call."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import field, replace
from typing import Generic, Self, TypeVar, cast

from tactician.errors import MalformedResponseError, ModelError
from tactician.frozen import frozen
from tactician.llm.embeddings.batching import check_sizes, split_batches
from tactician.llm.embeddings.model import (
    NO_EMBEDDING_OPTIONS,
    BatchLimits,
    EmbeddingModel,
    EmbeddingOptions,
    Embeddings,
)
from tactician.llm.images import (
    DEFAULT_QUALITY,
    DEFAULT_SIZE,
    NO_IMAGE_OPTIONS,
    GeneratedImages,
    ImageModel,
    ImageOptions,
)
from tactician.llm.messages import Image
from tactician.llm.options import RoutingOptions
from tactician.llm.routing.attempt import Attempt
from tactician.llm.routing.call import RoutedCall
from tactician.llm.routing.call_settings import CallSettings
from tactician.llm.routing.retries import SINGLE_ATTEMPT, Failure
from tactician.llm.routing.routes import Route, RouteTable
from tactician.llm.usage import NO_USAGE

_CHARACTERS_PER_TOKEN = 4
ModelT = TypeVar("ModelT")


@frozen
class _Batch:
    """Texts that go to an embedding model together."""

    texts: Sequence[str] = field(repr=False)
    options: EmbeddingOptions


class _EmbeddingCall(RoutedCall[_Batch, Embeddings]):
    __slots__ = ()

    def _send(self, attempt: Attempt, request: _Batch) -> Awaitable[Embeddings]:
        model = cast("EmbeddingModel", attempt.state.deployment.served_model)
        return model.embed(request.texts, request.options)

    def _count_tokens(self, request: _Batch) -> int:
        return max(1, sum(map(len, request.texts)) // _CHARACTERS_PER_TOKEN)

    def _extend_timeout(self, first: float, times: int) -> _Batch:
        options = self._original.options
        return replace(self._original, options=replace(options, timeout=(options.timeout or first) * times))


@frozen
class _Order:
    """Request for a new image, or for a change of an image."""

    prompt: str = field(repr=False)
    size: str = DEFAULT_SIZE
    quality: str = DEFAULT_QUALITY
    n: int = 1
    image: Image | None = field(default=None, repr=False)
    mask: Image | None = field(default=None, repr=False)
    options: ImageOptions = NO_IMAGE_OPTIONS

    def place(self, model: ImageModel) -> Awaitable[GeneratedImages]:
        """Send the request to a model."""
        if self.image is not None:
            return model.edit(self.image, self.prompt, mask=self.mask, options=self.options)
        return model.generate(self.prompt, size=self.size, quality=self.quality, n=self.n, options=self.options)


class _ImageCall(RoutedCall[_Order, GeneratedImages]):
    __slots__ = ()

    def _send(self, attempt: Attempt, request: _Order) -> Awaitable[GeneratedImages]:
        model = cast("ImageModel", attempt.state.deployment.served_model)
        return request.place(model)

    def _count_tokens(self, request: _Order) -> int:
        return max(1, len(request.prompt) // _CHARACTERS_PER_TOKEN)

    def _extend_timeout(self, first: float, times: int) -> _Order:
        options = self._original.options
        return replace(self._original, options=replace(options, timeout=(options.timeout or first) * times))

    async def _prepare_retry(self, failure: Failure, error: ModelError | None) -> bool:
        # Some instances of a model may edit images while others cannot.
        if failure is Failure.UNFIT and self._original.image is not None:
            self._states = self._list_untried()
            return bool(self._states)
        return await super()._prepare_retry(failure, error)


class _MediaModel(Generic[ModelT]):
    """Model of a router, by name, for a caller with these options."""

    def __init__(self, table: RouteTable, settings: CallSettings, name: str | None, options: RoutingOptions) -> None:
        route = table.find(name, options.instances)
        self.models = cast("tuple[ModelT, ...]", route.models)
        self._name = route.name
        self._options = options
        self._table = table
        self._settings = settings

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """Name by which the model was requested."""
        return self._name

    def with_options(self, options: RoutingOptions) -> Self:
        """Return the same model for a caller with these options.

        Raises:
            UnknownModelError: when no allowed instance serves the model.
        """
        return type(self)(self._table, self._settings, self.name, options)

    def _find_route(self) -> Route:
        return self._table.find(self.name, self._options.instances)


class RoutedEmbeddingModel(_MediaModel[EmbeddingModel], EmbeddingModel):
    """Embedding model of a router, by name.

    Many texts are sent in batches, in sequence, each as large as every instance accepts. A batch is a routed
    call of its own: a batch that fails is retried alone, with the router's deadline for itself. All batches are
    answered by deployments of the same model.

    Attributes:
        models: the models behind it, by instance.
    """

    @property
    def limits(self) -> BatchLimits:
        """Limits of a request that every instance accepts."""
        limits = [model.limits for model in self.models]
        return BatchLimits(min(limit.texts for limit in limits), min(limit.bytes for limit in limits))

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        """Return a vector for each text, in order; without texts, no request is sent.

        Raises:
            ModelTimeoutError: when the deadline of a batch passes.
            ModelError: the error of the last attempt, with a note of all attempts. There is no partial result.
        """
        batches = split_batches(texts, check_sizes(texts, options, self.name), self.limits)
        answers = [await self._embed(_Batch(batch, options)) for batch in batches]
        vectors = tuple(vector for answer in answers for vector in answer.vectors)
        if len(lengths := {answer.dimensions for answer in answers}) > 1:
            names = ", ".join(state.instance for state in self._find_route().stages[0].states)
            raise MalformedResponseError(
                f"{self.name}: the vectors have different lengths, {sorted(lengths)}. The instances {names} serve "
                "different models under this name; give each model a name of its own.",
                model=self.name,
            )
        return Embeddings(vectors, self.name, sum((answer.usage for answer in answers), NO_USAGE))

    async def probe(self, text: str, options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        """Make a single attempt, as a health check. It counts towards limits and health.

        Raises:
            ModelError: as the model raises it.
        """
        settings, routing = replace(self._settings, retries=SINGLE_ATTEMPT), self._options
        batch = _Batch((text,), options)
        return await _EmbeddingCall(settings, self._find_route(), batch, routing.observer, routing.session).run()

    async def _embed(self, batch: _Batch) -> Embeddings:
        options = self._options
        return await _EmbeddingCall(self._settings, self._find_route(), batch, options.observer, options.session).run()


class RoutedImageModel(_MediaModel[ImageModel], ImageModel):
    """Image model of a router, by name, with its fallbacks.

    Attributes:
        models: the models behind it, by instance.
    """

    async def generate(
        self,
        prompt: str,
        *,
        size: str = DEFAULT_SIZE,
        quality: str = DEFAULT_QUALITY,
        n: int = 1,
        options: ImageOptions = NO_IMAGE_OPTIONS,
    ) -> GeneratedImages:
        """Generate `n` images from the prompt.

        Raises:
            ModelTimeoutError: when the deadline passes.
            ModelError: the error of the last attempt, with a note of all attempts.
        """
        return await self._place(_Order(prompt, size, quality, n, options=options))

    async def edit(
        self, image: Image, prompt: str, *, mask: Image | None = None, options: ImageOptions = NO_IMAGE_OPTIONS
    ) -> GeneratedImages:
        """Edit the image as the prompt says, only where the `mask` is transparent, if given.

        Raises:
            UnsupportedFeatureError: when no instance edits images.
            ModelTimeoutError: when the deadline passes.
            ModelError: the error of the last attempt, with a note of all attempts.
        """
        return await self._place(_Order(prompt, image=image, mask=mask, options=options))

    async def _place(self, order: _Order) -> GeneratedImages:
        options = self._options
        return await _ImageCall(self._settings, self._find_route(), order, options.observer, options.session).run()
