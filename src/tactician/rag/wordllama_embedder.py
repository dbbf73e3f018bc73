"""Embedding model whose weights come with a package: no service, no download, no key."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any, Final

from tactician.extras import require_extra
from tactician.llm import EmbeddingModel
from tactician.llm.embeddings.model import EmbeddingOptions, Embeddings, Vector
from tactician.runs.context.threads import in_thread

_NO_OPTIONS: Final = EmbeddingOptions()
_loading: Final = threading.Lock()
_loaded: list[Any] = []


class WordLlamaEmbedder(EmbeddingModel):
    """Model of the package WordLlama: vectors of 256 numbers, thousands of texts in a second on a processor core.

    The vector of a text is an average of the vectors of its words. It needs the extra `wordllama`, works without a
    network, and suits English best.
    """

    @property
    def name(self) -> str:
        """Name of the model."""
        return "wordllama:256"

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = _NO_OPTIONS) -> Embeddings:
        """Return a vector for each text, in order.

        Raises:
            MissingExtraError: when the extra is not installed.
        """
        return Embeddings(await in_thread(self._embed, list(texts)), self.name)

    def _embed(self, texts: list[str]) -> tuple[Vector, ...]:
        model = _load()
        encoded = model.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        # The package makes all texts as long as the longest, which takes twice the time.
        sums = (model.embedding[each.ids].sum(axis=0) for each in encoded)
        return tuple(tuple((vector / (sqrt(vector @ vector) or 1.0)).tolist()) for vector in sums)


def _load() -> Any:  # noqa: ANN401 - it comes from a module without types
    """Return the model, which is loaded once for the process."""
    with _loading:
        if not _loaded:
            with require_extra("wordllama", "Embeddings without a service need"):
                import wordllama
            # It looks for the tokenizer in a folder that the wheel does not have, and would download it.
            folder = Path(wordllama.__file__).parent
            model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
            model.tokenizer.no_padding()
            _loaded.append(model)
        return _loaded[0]
