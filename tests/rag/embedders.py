"""Embedding models without weights: a vector counts the roots of words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import blake2b

from tactician.errors import ModelConnectionError
from tactician.llm import EmbeddingModel, Usage
from tactician.llm.embeddings.model import EmbeddingOptions, Embeddings, Vector

NO_OPTIONS = EmbeddingOptions()
MEANINGS = {"automobile": "car", "vehicle": "car", "refund": "return", "feline": "cat"}
"""Words that mean the same, which a search for words cannot know."""


class CountingEmbedder(EmbeddingModel):
    """Model whose vectors are near each other when texts have words, or meanings, in common."""

    def __init__(self, name: str = "counting", dimensions: int = 64) -> None:
        self._name = name
        self._dimensions = dimensions
        self.texts: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_OPTIONS) -> Embeddings:
        self.texts += texts
        return Embeddings(tuple(map(self.count, texts)), self.name, Usage(input_tokens=len(texts)))

    def count(self, text: str) -> Vector:
        numbers = [0.01] * self._dimensions
        for word in text.lower().replace(".", " ").replace("?", " ").split():
            root = MEANINGS.get(word, word).removesuffix("s")
            place = int.from_bytes(blake2b(root.encode(), digest_size=4, key=self._name.encode()).digest())
            numbers[place % self._dimensions] += 1.0
        return tuple(numbers)


class FailingEmbedder(CountingEmbedder):
    """Model that fails until it is mended."""

    is_broken = True

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_OPTIONS) -> Embeddings:
        if self.is_broken:
            raise ModelConnectionError("The service is gone.")
        return await super().embed(texts, options)


class SlowEmbedder(CountingEmbedder):
    """Model that lets others run before it answers."""

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_OPTIONS) -> Embeddings:
        for _ in range(10):
            await asyncio.sleep(0)
        return await super().embed(texts, options)
