"""Embedding model behind an HTTP endpoint for OpenAI's `POST /embeddings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self
from urllib.parse import quote

from tactician.frozen import frozen
from tactician.llm.embeddings.batching import DEFAULT_LIMITS, check_sizes, decode, split_batches
from tactician.llm.embeddings.model import (
    NO_EMBEDDING_OPTIONS,
    BatchLimits,
    EmbeddingModel,
    EmbeddingOptions,
    Embeddings,
    Vector,
)
from tactician.llm.http import MAX_ANSWER, post_json
from tactician.llm.provider_access import ProviderAccess, check_provider_kind
from tactician.llm.redaction import Redaction
from tactician.llm.remote import Endpoint
from tactician.llm.usage import NO_PRICES, NO_USAGE, ModelPrice, Usage

DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small"
_MAX_VECTOR = 2**17  # bytes of JSON: 4,096 numbers of 32 characters


@frozen
class _EmbeddingApi:
    """API of a provider for embeddings: its path, its limits, its name for `dimensions`."""

    path: str = "/v1/embeddings"
    limits: BatchLimits = DEFAULT_LIMITS
    dimensions_field: str = "dimensions"
    versioned: bool = False


# OpenAI documents its limits; the limits of Mistral and Gemini are set low, so that a batch is never refused. Ollama
# has none, and works on a batch as long as it takes.
_APIS: Mapping[str, _EmbeddingApi] = {
    "openai": _EmbeddingApi(),
    "azure-openai": _EmbeddingApi("/openai/deployments/{model}/embeddings", versioned=True),
    "mistral": _EmbeddingApi(limits=BatchLimits(bytes=16_384), dimensions_field="output_dimension"),
    "gemini": _EmbeddingApi("/v1beta/openai/embeddings", BatchLimits(texts=100)),
    "ollama": _EmbeddingApi(limits=BatchLimits(texts=64)),
}
EMBEDDING_PROVIDERS = tuple(_APIS)


class RemoteEmbeddingModel(EmbeddingModel):
    """Embedding model at an endpoint. `{model}` in the endpoint's URL stands for the model's name.

    Many texts are sent in several requests, in sequence, each as large as `limits` allow. A failed request is
    not retried: a router does that.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str = DEFAULT_EMBEDDING_MODEL,
        *,
        limits: BatchLimits = DEFAULT_LIMITS,
        dimensions_field: str = "dimensions",
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self._limits = limits
        self._dimensions_field = dimensions_field
        self._url = endpoint.url.replace("{model}", quote(model, safe=""))
        self._headers = {"Content-Type": "application/json", **endpoint.headers}

    @classmethod
    def at_provider(
        cls,
        access: ProviderAccess,
        model: str = DEFAULT_EMBEDDING_MODEL,
        *,
        prices: Mapping[str, ModelPrice] = NO_PRICES,
    ) -> Self:
        """Return a model at a provider: openai, azure-openai, mistral, gemini, ollama, or a compatible provider.

        Raises:
            ConfigurationError: when the provider has no embeddings, or its address or API version is missing.
            UnsupportedFeatureError: when a custom specification does not declare embeddings.
        """
        check_provider_kind(access.provider.name, "embeddings", EMBEDDING_PROVIDERS)
        api = _APIS.get(access.provider.name, _EmbeddingApi())
        endpoint = access.create_media_endpoint(
            api.path, feature="embeddings", endpoint="embeddings", versioned=api.versioned, prices=prices
        )
        return cls(endpoint, model, limits=api.limits, dimensions_field=api.dimensions_field)

    def __repr__(self) -> str:
        return f"RemoteEmbeddingModel({self.name!r})"

    @property
    def name(self) -> str:
        """Name of the endpoint and the model, for example `openai:text-embedding-3-small`."""
        return f"{self.endpoint.name}:{self.model}"

    @property
    def limits(self) -> BatchLimits:
        """Limits of a request."""
        return self._limits

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        """Return a vector for each text, in order; without texts, no request is sent.

        Raises:
            ModelError: of the class that matches the failure. There is no partial result.
        """
        sizes = check_sizes(texts, options, self.name)
        vectors: list[Vector] = []
        usage = NO_USAGE
        for batch in split_batches(texts, sizes, self.limits):
            more, used = await self._ask(batch, options)
            vectors += more
            usage += used
        return Embeddings(
            tuple(vectors), self.name, usage.attribute_to(self.name, self.endpoint.find_price(self.model))
        )

    async def _ask(self, batch: Sequence[str], options: EmbeddingOptions) -> tuple[tuple[Vector, ...], Usage]:
        body: dict[str, object] = {"model": self.model, "input": list(batch)}
        if options.dimensions is not None:
            body[self._dimensions_field] = options.dimensions
        seconds = options.timeout or self.endpoint.timeout
        limit = MAX_ANSWER + len(batch) * _MAX_VECTOR
        with Redaction(self._url, self.endpoint.headers):
            answer = await post_json(self._url, body, self._headers, seconds, self.name, limit)
            return decode(answer, len(batch), options, self.name)
