"""Embedding model inside this process: llama.cpp through xllamacpp, by default with the SmolLM2 weights."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tactician.errors import ContextLengthError, ModelRequestError, ModelTimeoutError
from tactician.llm import embedded
from tactician.llm.embeddings.batching import check_sizes, decode, split_batches
from tactician.llm.embeddings.model import (
    NO_EMBEDDING_OPTIONS,
    BatchLimits,
    EmbeddingModel,
    EmbeddingOptions,
    Embeddings,
    Vector,
)
from tactician.llm.usage import NO_USAGE

Pooling: TypeAlias = Literal["mean", "cls", "last"]
MAX_TOKENS = 2048
# A thread cannot be interrupted, so a batch is no more than a cancelled call may leave running.
_LIMITS = BatchLimits(texts=4, bytes=4096)
_executor = ThreadPoolExecutor(max_workers=4, thread_name_prefix="tactician-embeddings")


class LocalEmbeddingModel(EmbeddingModel):
    """GGUF model at the path, else the weights of the embedded language model.

    The model loads on the first call; the event loop is never blocked. Vectors have the length 1. A text can have
    up to `MAX_TOKENS` tokens. The default weights belong to a language model: their vectors separate similar from
    different texts, though worse than the vectors of a model that was trained for it.

    `pooling` says how the vectors of a text's tokens are combined: by default, as the file says, and the mean
    for the default weights, which do not say it.
    """

    def __init__(self, path: str | Path | None = None, *, pooling: Pooling | None = None) -> None:
        self.path = Path(path).expanduser() if path is not None else None
        self.pooling: Pooling | None = pooling or ("mean" if path is None else None)

    def __repr__(self) -> str:
        return f"LocalEmbeddingModel({self.name!r})"

    @property
    def name(self) -> str:
        """`"local"`, with the path of a file that is not the default."""
        return "local" if self.path is None else f"local:{self.path}"

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        """Return a vector for each text, in order; without texts, the model is not loaded.

        Raises:
            MissingExtraError: when the extra `local` or the weights are not installed.
            ConfigurationError: when the file does not exist, or is not a model.
            ContextLengthError: when a text is too long.
            ModelRequestError: when a text is empty, or the model has no vectors of the requested length.
            ModelTimeoutError: when the `timeout` of the options passes.
        """
        sizes = check_sizes(texts, options, self.name)
        vectors: list[Vector] = []
        usage = NO_USAGE
        for batch in split_batches(texts, sizes, _LIMITS):
            body = await self._answer(list(batch), options.timeout)
            self._raise_for_error(body)
            more, used = decode(body, len(batch), NO_EMBEDDING_OPTIONS, self.name)
            self._check_dimensions(len(more[0]), options.dimensions)
            vectors += more
            usage += used
        return Embeddings(tuple(vectors), self.name, usage)

    async def _answer(self, texts: list[str], seconds: float | None) -> object:
        work = asyncio.get_running_loop().run_in_executor(_executor, self._work, texts)
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError as error:
            raise ModelTimeoutError(f"{self.name}: no answer within {seconds} s", model=self.name) from error

    def _work(self, texts: list[str]) -> object:
        path = embedded.find_weights(self.path, self.name)
        server = embedded.load(path, f"embeddings:{self.pooling}", self._configure)
        try:
            return server.handle_embeddings({"model": self.name, "input": texts})
        except (ValueError, RuntimeError) as error:
            raise ModelRequestError(f"{self.name}: {error}", model=self.name) from error

    def _configure(self, parameters: Any) -> None:  # noqa: ANN401 - it comes from a module without types
        import xllamacpp

        parameters.embedding = True
        if self.pooling is not None:
            pooling = f"LLAMA_POOLING_TYPE_{self.pooling.upper()}"
            parameters.pooling_type = getattr(xllamacpp.llama_pooling_type, pooling)
        # With four slots, 45 of 60 texts of different lengths got other vectors than they get alone, and none sooner.
        parameters.n_parallel = 1
        # A text that does not fit into a physical batch is refused.
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = MAX_TOKENS

    def _raise_for_error(self, body: object) -> None:
        if not isinstance(body, dict) or not isinstance(error := body.get("error"), dict):
            return
        message = str(error.get("message"))
        if "too large to process" in message or error.get("type") == "exceed_context_size_error":
            raise ContextLengthError(
                f"{self.name}: a text has more than {MAX_TOKENS} tokens ({message})", model=self.name
            )
        raise ModelRequestError(f"{self.name}: {message}", model=self.name)

    def _check_dimensions(self, dimensions: int, requested: int | None) -> None:
        if requested not in (None, dimensions):
            raise ModelRequestError(
                f"{self.name}: vectors have {dimensions} dimensions, not {requested}", model=self.name
            )
