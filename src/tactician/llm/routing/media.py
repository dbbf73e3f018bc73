"""Calls of embedding models and image models: each batch of texts, and each image, is one routed call."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar, cast

from tactician.errors import MalformedResponseError, ModelError
from tactician.llm.embeddings import (
    NO_EMBEDDING_OPTIONS,
    BatchLimits,
    EmbeddingModel,
    EmbeddingOptions,
    Embeddings,
    check_sizes,
    split_batches,
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
from tactician.llm.routing.call import RoutedCall
from tactician.llm.routing.retries import JUST_ONCE, Failure
from tactician.llm.routing.routes import Route, RouteTable
from tactician.llm.routing.setup import Setup
from tactician.llm.routing.visit import Visit
from tactician.llm.usage import NO_USAGE

_CHARACTERS_PER_TOKEN = 4
ModelT = TypeVar("ModelT")


@dataclass(frozen=True, slots=True)
class _Batch:
    """Texts that go to an embedding model together."""

    texts: Sequence[str] = field(repr=False)
    options: EmbeddingOptions


class _EmbeddingCall(RoutedCall[_Batch, Embeddings]):
    __slots__ = ()

    def _ask(self, visit: Visit, request: _Batch) -> Awaitable[Embeddings]:
        model = cast("EmbeddingModel", visit.lane.deployment.serves)
        return visit.call(lambda batch: model.embed(batch.texts, batch.options), request)

    def _count_tokens(self, request: _Batch) -> int:
        return max(1, sum(map(len, request.texts)) // _CHARACTERS_PER_TOKEN)

    def _allow_time(self, first: float, times: int) -> _Batch:
        options = self._original.options
        return replace(self._original, options=replace(options, timeout=(options.timeout or first) * times))


@dataclass(frozen=True, slots=True)
class _Order:
    """A new image, or a change of one."""

    prompt: str = field(repr=False)
    size: str = DEFAULT_SIZE
    quality: str = DEFAULT_QUALITY
    n: int = 1
    image: Image | None = field(default=None, repr=False)
    mask: Image | None = field(default=None, repr=False)
    options: ImageOptions = NO_IMAGE_OPTIONS

    def place(self, model: ImageModel) -> Awaitable[GeneratedImages]:
        """Ask a model for it."""
        if self.image is not None:
            return model.edit(self.image, self.prompt, mask=self.mask, options=self.options)
        return model.generate(self.prompt, size=self.size, quality=self.quality, n=self.n, options=self.options)


class _ImageCall(RoutedCall[_Order, GeneratedImages]):
    __slots__ = ()

    def _ask(self, visit: Visit, request: _Order) -> Awaitable[GeneratedImages]:
        model = cast("ImageModel", visit.lane.deployment.serves)
        return visit.call(lambda order: order.place(model), request)

    def _count_tokens(self, request: _Order) -> int:
        return max(1, len(request.prompt) // _CHARACTERS_PER_TOKEN)

    def _allow_time(self, first: float, times: int) -> _Order:
        options = self._original.options
        return replace(self._original, options=replace(options, timeout=(options.timeout or first) * times))

    async def _is_worth_another(self, failure: Failure, error: ModelError | None) -> bool:
        # Of the instances of one model, not all can edit images.
        if failure is Failure.UNFIT and self._original.image is not None:
            self._lanes = self._untried()
            return bool(self._lanes)
        return await super()._is_worth_another(failure, error)


class _MediaModel(Generic[ModelT]):
    """One model of a router, by name, for a caller with these options."""

    def __init__(self, table: RouteTable, setup: Setup, name: str | None, options: RoutingOptions) -> None:
        route = table.find(name, options.instances)
        self.models = cast("tuple[ModelT, ...]", route.models)
        self._name = route.name
        self._options = options
        self._table = table
        self._setup = setup

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """The name by which it was asked for."""
        return self._name

    def within(self, options: RoutingOptions) -> Self:
        """Return the same model for a caller with these options.

        Raises:
            UnknownModelError: when no instance that they allow serves it.
        """
        return type(self)(self._table, self._setup, self.name, options)

    def _find_route(self) -> Route:
        return self._table.find(self.name, self._options.instances)


class RoutedEmbeddingModel(_MediaModel[EmbeddingModel], EmbeddingModel):
    """One embedding model of a router, by name.

    Many texts go in batches, one after the other, each as large as every instance takes. A batch is a routed call of
    its own: one that fails is tried again alone, and has the router's deadline for itself. All batches are answered by
    deployments of the same model.

    Attributes:
        models: what stands behind it, one at each instance.
    """

    @property
    def limits(self) -> BatchLimits:
        """How much every instance takes in one request."""
        limits = [model.limits for model in self.models]
        return BatchLimits(min(one.texts for one in limits), min(one.bytes for one in limits))

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        """Return one vector for each text, in order; no texts give no vectors, and no request.

        Raises:
            ModelTimeoutError: when the deadline of a batch passes.
            ModelError: that of the last attempt, with a note of what was tried. Without an answer to every text there
                is none at all.
        """
        batches = split_batches(texts, check_sizes(texts, options, self.name), self.limits)
        answers = [await self._embed(_Batch(batch, options)) for batch in batches]
        vectors = tuple(vector for answer in answers for vector in answer.vectors)
        if len(lengths := {answer.dimensions for answer in answers}) > 1:
            lanes = ", ".join(lane.instance for lane in self._find_route().stages[0].lanes)
            raise MalformedResponseError(
                f"{self.name}: vectors of {sorted(lengths)} dimensions came. The instances {lanes} serve different "
                "models under this name; give each model a name of its own.",
                model=self.name,
            )
        return Embeddings(vectors, self.name, sum((answer.usage for answer in answers), NO_USAGE))

    async def probe(self, text: str, options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        """One single attempt, to see how the model does. Limits and health count it like any other.

        Raises:
            ModelError: as the model raises it.
        """
        setup, routing = replace(self._setup, retries=JUST_ONCE), self._options
        batch = _Batch((text,), options)
        return await _EmbeddingCall(setup, self._find_route(), batch, routing.observer, routing.session).run()

    async def _embed(self, batch: _Batch) -> Embeddings:
        options = self._options
        return await _EmbeddingCall(self._setup, self._find_route(), batch, options.observer, options.session).run()


class RoutedImageModel(_MediaModel[ImageModel], ImageModel):
    """One image model of a router, by name. Where it cannot answer, its fallbacks do.

    Attributes:
        models: what stands behind it, one at each instance.
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
        """Make `n` images of what the prompt says.

        Raises:
            ModelTimeoutError: when the deadline passes.
            ModelError: that of the last attempt, with a note of what was tried.
        """
        return await self._place(_Order(prompt, size, quality, n, options=options))

    async def edit(
        self, image: Image, prompt: str, *, mask: Image | None = None, options: ImageOptions = NO_IMAGE_OPTIONS
    ) -> GeneratedImages:
        """Change the image as the prompt says; only where the `mask` is transparent, when there is one.

        Raises:
            UnsupportedFeatureError: when no instance edits images.
            ModelTimeoutError: when the deadline passes.
            ModelError: that of the last attempt, with a note of what was tried.
        """
        return await self._place(_Order(prompt, image=image, mask=mask, options=options))

    async def _place(self, order: _Order) -> GeneratedImages:
        options = self._options
        return await _ImageCall(self._setup, self._find_route(), order, options.observer, options.session).run()
