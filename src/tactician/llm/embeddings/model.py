"""Contract of every embedding model: texts in, a vector for each of them out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Protocol, TypeAlias, runtime_checkable

from tactician.frozen import frozen
from tactician.llm.usage import NO_USAGE, ModelPrice, Usage

Vector: TypeAlias = tuple[float, ...]


@frozen(kw_only=True)
class EmbeddingOptions:
    """Options of embedding calls. `None` means the model's own default.

    Attributes:
        dimensions: the length of the vectors, if the model can shorten them; else the call fails.
        timeout: seconds for each request; a call for many texts can take several.
    """

    dimensions: int | None = None
    timeout: float | None = None


NO_EMBEDDING_OPTIONS = EmbeddingOptions()


@frozen
class Embeddings:
    """Vectors of texts, in the order of the texts, all of the same length.

    Attributes:
        model: the full name of the model; vectors of different models cannot be compared.
    """

    vectors: tuple[Vector, ...] = field(repr=False)
    model: str
    usage: Usage = NO_USAGE

    @property
    def dimensions(self) -> int:
        """Length of each vector; 0 without vectors."""
        return len(self.vectors[0]) if self.vectors else 0

    def __len__(self) -> int:
        return len(self.vectors)

    def attribute_to(self, model: str, price: ModelPrice | None = None) -> Embeddings:
        """Return a copy whose usage names the model, or this object if its usage already does."""
        usage = self.usage.attribute_to(model, price)
        return self if usage is self.usage else replace(self, usage=usage)


@frozen
class BatchLimits:
    """Limits of a request. A text that is longer than `bytes` by itself goes alone.

    Attributes:
        texts: the number of texts.
        bytes: the total bytes of UTF-8: a token is a byte or more, so this also bounds the tokens.
    """

    texts: int = 2048
    bytes: int = 300_000


NO_BATCH_LIMITS = BatchLimits(sys.maxsize, sys.maxsize)


@runtime_checkable
class EmbeddingModel(Protocol):
    """Model that turns texts into vectors."""

    @property
    def name(self) -> str:
        """Full name, for example `openai:text-embedding-3-small`."""
        ...

    @property
    def limits(self) -> BatchLimits:
        """Limits of a request; a router splits larger inputs. Unlimited by default."""
        return NO_BATCH_LIMITS

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        """Return a vector for each text, in order; without texts, no request is sent.

        Raises:
            ModelError: of the class that matches the failure. There is no partial result.
        """
        ...

    async def embed_one(self, text: str, options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Vector:
        """Return the vector of a single text.

        Raises:
            ModelError: of the class that matches the failure.
        """
        return (await self.embed((text,), options)).vectors[0]
