"""Answers of models that are kept between evaluations, so that an unchanged request costs nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import pydantic

from tactician.events.encoding import encode
from tactician.llm import Features, LanguageModel, LlmOptions, ModelPrice, ModelRequest, ModelResponse
from tactician.llm.model import Delta
from tactician.llm.model_sources import ModelSource, as_model_source

_FREE: Final = ModelPrice(0.0, 0.0)
_ADAPTER: Final = pydantic.TypeAdapter(ModelResponse)


class AnswerCache:
    """Folder with the answers of models, each in a file that is named by a hash of the whole request.

    The request is the model, the messages, the tools, the output schema and all options. Two requests that differ in
    any of these have two answers; a changed prompt is asked anew. What is in the folder costs nothing.

    Args:
        folder: the folder, which is made when the first answer is kept.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def wrap(self, model: LanguageModel, repetition: int = 1) -> LanguageModel:
        """Return the model with this cache before it.

        Args:
            model: the model.
            repetition: number of the run of a case; each has answers of its own, so that they can differ.
        """
        if isinstance(model, CachedModel):
            return model
        kind = CachedRouter if hasattr(type(model), "resolve") else CachedModel
        return kind(model, self, repetition)

    async def find(self, key: str) -> ModelResponse | None:
        """Return the answer with a key, or `None`; a file that cannot be read is no answer."""
        return await asyncio.to_thread(self._read, key)

    async def keep(self, key: str, response: ModelResponse) -> None:
        """Keep an answer; one that was cut off is asked for again."""
        if response.finish_reason in ("stop", "tool_calls"):
            await asyncio.to_thread(self._write, key, json.dumps(encode(response), ensure_ascii=False))

    def _read(self, key: str) -> ModelResponse | None:
        try:
            response = _ADAPTER.validate_json((self._folder / f"{key}.json").read_bytes())
        except (OSError, pydantic.ValidationError):
            return None
        return replace(response, usage=replace(response.usage, price=_FREE, parts=()))

    def _write(self, key: str, text: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / f"{key}.json"
        written = file.with_suffix(f".{id(text):x}.tmp")
        written.write_text(text, "utf-8")
        written.replace(file)  # a program that is killed leaves no half of an answer


class CachedModel:
    """Model whose answers are kept; see `AnswerCache`."""

    def __init__(self, model: LanguageModel, cache: AnswerCache, repetition: int) -> None:
        self._model, self._cache, self._repetition = model, cache, repetition

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def features(self) -> Features:
        """The features of the model."""
        return self._model.features

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the answer that is kept; else ask the model, and keep its answer."""
        key = find_key(self._model.name, request, self._repetition)
        if (kept := await self._cache.find(key)) is not None:
            return kept
        response = await self._model.generate(request)
        await self._cache.keep(key, response)
        return response

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the answer that is kept as a whole; else what the model streams, and keep its answer."""
        key = find_key(self._model.name, request, self._repetition)
        if (kept := await self._cache.find(key)) is not None:
            yield kept
            return
        async for piece in self._model.stream(request):
            if isinstance(piece, ModelResponse):
                await self._cache.keep(key, piece)
            yield piece


class CachedRouter(CachedModel):
    """Model that is also the source of other models, all of which have the cache before them."""

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the model for the options, with the cache before it."""
        source: ModelSource = as_model_source(self._model)
        return self._cache.wrap(source.resolve(options), self._repetition)


def find_key(model: str, request: ModelRequest, repetition: int) -> str:
    """Return the hash of a whole request to a model, and of the number of the run of a case."""
    parts = {part.name: encode(getattr(request, part.name)) for part in fields(request) if part.name != "observer"}
    text = json.dumps([model, repetition, parts], sort_keys=True, ensure_ascii=False)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
