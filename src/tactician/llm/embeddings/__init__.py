"""Embeddings: vectors of texts, close to each other where the texts have similar meanings."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.llm.embeddings.batching import check_sizes as check_sizes
    from tactician.llm.embeddings.batching import split_batches as split_batches
    from tactician.llm.embeddings.local import LocalEmbeddingModel as LocalEmbeddingModel
    from tactician.llm.embeddings.model import NO_EMBEDDING_OPTIONS as NO_EMBEDDING_OPTIONS
    from tactician.llm.embeddings.model import BatchLimits as BatchLimits
    from tactician.llm.embeddings.model import EmbeddingModel as EmbeddingModel
    from tactician.llm.embeddings.model import EmbeddingOptions as EmbeddingOptions
    from tactician.llm.embeddings.model import Embeddings as Embeddings
    from tactician.llm.embeddings.model import Vector as Vector
    from tactician.llm.embeddings.remote import DEFAULT_EMBEDDING_MODEL as DEFAULT_EMBEDDING_MODEL
    from tactician.llm.embeddings.remote import EMBEDDING_PROVIDERS as EMBEDDING_PROVIDERS
    from tactician.llm.embeddings.remote import RemoteEmbeddingModel as RemoteEmbeddingModel
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.llm.embeddings.batching": "check_sizes split_batches",
            "tactician.llm.embeddings.local": "LocalEmbeddingModel",
            "tactician.llm.embeddings.model": (
                "NO_EMBEDDING_OPTIONS BatchLimits EmbeddingModel EmbeddingOptions Embeddings Vector"
            ),
            "tactician.llm.embeddings.remote": "DEFAULT_EMBEDDING_MODEL EMBEDDING_PROVIDERS RemoteEmbeddingModel",
        },
    )
