"""Embeddings: texts as vectors, whose directions are close where the texts mean something similar."""

from tactician.llm.vectors.local import LocalEmbeddingModel
from tactician.llm.vectors.model import NO_EMBEDDING_OPTIONS, EmbeddingModel, EmbeddingOptions, Embeddings, Vector
from tactician.llm.vectors.remote import DEFAULT_EMBEDDING_MODEL, EMBEDDING_PROVIDERS, RemoteEmbeddingModel
from tactician.llm.vectors.texts import BatchLimits

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
    "LocalEmbeddingModel",
]
