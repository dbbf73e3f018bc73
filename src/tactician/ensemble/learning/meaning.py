"""Similarity of texts by their embeddings."""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Iterable
from math import isfinite, sqrt
from operator import mul
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from tactician.frozen import frozen
from tactician.llm import EmbeddingModel
from tactician.llm.embeddings.model import Vector
from tactician.llm.model_sources import as_media_source
from tactician.runs import RunContext
from tactician.runs.reporting import report_model_call

Embedder: TypeAlias = EmbeddingModel | str
"""Embedding model, or its name among the models of the run."""
_MOST_PACKED: Final = 200_000
_FLOAT_SIZE: Final = 4
_DISSIMILAR: Final = -2.0


@frozen
class PackedVector:
    """Embedding of a text, as it is stored.

    Attributes:
        model: name of the model; vectors of different models cannot be compared.
        numbers: the vector, as little-endian 32-bit floats in Base64.
    """

    model: Annotated[str, Field(max_length=500)]
    numbers: Annotated[str, Field(max_length=_MOST_PACKED)]

    @classmethod
    def create(cls, model: str, vector: Vector) -> PackedVector:
        """Return a vector in its stored form, with the length 1."""
        length = sqrt(_sum_products(vector, vector)) or 1.0
        return cls(model, b64encode(struct.pack(f"<{len(vector)}f", *(number / length for number in vector))).decode())

    def unpack(self) -> Vector:
        """Return the vector, which is empty when the stored form is not valid."""
        try:
            data = b64decode(self.numbers, validate=True)
            return struct.unpack(f"<{len(data) // _FLOAT_SIZE}f", data)
        except (ValueError, struct.error):
            return ()


@frozen
class Query:
    """Embedding that others are compared with.

    Attributes:
        model: name of the model.
        vector: the vector, of the length 1.
    """

    model: str
    vector: Vector

    def compare(self, other: PackedVector | None) -> float:
        """Return the cosine of the angle to another vector; -2 when the vectors cannot be compared."""
        if other is None or other.model != self.model:
            return _DISSIMILAR
        numbers = other.unpack()
        cosine = _sum_products(self.vector, numbers) if len(numbers) == len(self.vector) else _DISSIMILAR
        return cosine if isfinite(cosine) else _DISSIMILAR  # a vector that is damaged may have any numbers


async def embed_text(embedder: Embedder, text: str, context: RunContext) -> PackedVector:
    """Return the embedding of a text. Its usage counts to the run.

    Args:
        embedder: the model.
        text: the text.
        context: context of the run.

    Raises:
        ConfigurationError: when there is no such model.
        ModelError: when it cannot be called.
    """
    model = as_media_source(context.models).embedding_model(embedder) if isinstance(embedder, str) else embedder
    answer = await report_model_call(model.embed((text,)), context, "embeddings", model.name)
    context.tally.add(answer.usage.attribute_to(model.name))
    return PackedVector.create(answer.model, answer.vectors[0])


def _sum_products(left: Iterable[float], right: Iterable[float]) -> float:
    total: float = sum(map(mul, left, right))
    return total
