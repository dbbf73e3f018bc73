"""The contract of every embedding model: texts in, one vector for each of them out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias, runtime_checkable

from tactician.llm.usage import NO_USAGE, ModelPrice, Usage

Vector: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOptions:
    """Options for the embedding of texts. Everything left `None` is the model's own default.

    Attributes:
        dimensions: the length of the vectors, where the model can shorten them; else the call fails.
        timeout: seconds for each request; a call for many texts can take several.
    """

    dimensions: int | None = None
    timeout: float | None = None


NO_EMBEDDING_OPTIONS = EmbeddingOptions()


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors of texts, in the order of the texts, all of one length.

    Attributes:
        model: the full name of the model; vectors of different models cannot be compared.
    """

    vectors: tuple[Vector, ...] = field(repr=False)
    model: str
    usage: Usage = NO_USAGE

    @property
    def dimensions(self) -> int:
        """The length of each vector; 0 when there are none."""
        return len(self.vectors[0]) if self.vectors else 0

    def __len__(self) -> int:
        return len(self.vectors)

    def attribute_to(self, model: str, price: ModelPrice | None = None) -> Embeddings:
        """Return the same with a usage that says whose it is; itself where it says so already."""
        usage = self.usage.attribute_to(model, price)
        return self if usage is self.usage else replace(self, usage=usage)


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits of one request. A text that is longer than `bytes` by itself goes alone.

    Attributes:
        texts: how many texts.
        bytes: how many bytes of UTF-8 in all: a token is at least one byte, so it is a bound for the tokens, too.
    """

    texts: int = 2048
    bytes: int = 300_000


NO_BATCH_LIMITS = BatchLimits(sys.maxsize, sys.maxsize)


@runtime_checkable
class EmbeddingModel(Protocol):
    """Model that turns texts into vectors."""

    @property
    def name(self) -> str:
        """The full name, for example `openai:text-embedding-3-small`."""
        ...

    @property
    def limits(self) -> BatchLimits:
        """How much it takes in one request; a router sends more in several. Without limits by default."""
        return NO_BATCH_LIMITS

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        """Return one vector for each text, in order; no texts give no vectors, and no request.

        Raises:
            ModelError: of the kind that fits the failure. Without an answer to every text there is none at all.
        """
        ...

    async def embed_one(self, text: str, options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Vector:
        """Return the vector of one text.

        Raises:
            ModelError: of the kind that fits the failure.
        """
        return (await self.embed((text,), options)).vectors[0]
