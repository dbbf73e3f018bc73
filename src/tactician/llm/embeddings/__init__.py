"""Embeddings: vectors of texts, close to each other where the texts have similar meanings."""

from tactician.llm.embeddings.batching import check_sizes, split_batches
from tactician.llm.embeddings.local import LocalEmbeddingModel
from tactician.llm.embeddings.model import (
    NO_EMBEDDING_OPTIONS,
    BatchLimits,
    EmbeddingModel,
    EmbeddingOptions,
    Embeddings,
    Vector,
)
from tactician.llm.embeddings.remote import DEFAULT_EMBEDDING_MODEL, EMBEDDING_PROVIDERS, RemoteEmbeddingModel

__all__ = [
    "EmbeddingModel",
    "EmbeddingOptions",
    "NO_EMBEDDING_OPTIONS",
    "Embeddings",
    "Vector",
    "RemoteEmbeddingModel",
    "DEFAULT_EMBEDDING_MODEL",
    "EMBEDDING_PROVIDERS",
    "BatchLimits",
    "check_sizes",
    "split_batches",
    "LocalEmbeddingModel",
]
