"""Batches of texts for an embedding model, and the vectors in its answers: checked, split and ordered.

Source of the format: the OpenAI API reference, "Create embeddings"; llama.cpp and the other providers share it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from tactician.errors import MalformedResponseError, ModelRequestError
from tactician.grammar import format_count
from tactician.llm.embeddings.model import BatchLimits, EmbeddingOptions, Vector
from tactician.llm.usage import Usage
from tactician.llm.wire.decoding import expect_count

DEFAULT_LIMITS = BatchLimits()


def check_sizes(texts: Sequence[str], options: EmbeddingOptions, model: str) -> tuple[int, ...]:
    """Return the size of each text in bytes, after a check that all of them can be embedded.

    Raises:
        ModelRequestError: when a text is empty; names the first such text.
    """
    if isinstance(texts, (str, bytes)):
        raise ModelRequestError(f"{model}: embed takes several texts; use embed_one for a single text", model=model)
    if options.dimensions is not None and options.dimensions < 1:
        raise ModelRequestError(f"{model}: dimensions must be at least 1, not {options.dimensions}", model=model)
    return tuple(_size(position, text, model) for position, text in enumerate(texts))


def _size(position: int, text: object, model: str) -> int:
    if not isinstance(text, str):
        raise ModelRequestError(f"{model}: text {position} must be a text, not {type(text).__name__}", model=model)
    if not text:
        raise ModelRequestError(f"{model}: text {position} is empty, and has no vector", model=model)
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise ModelRequestError(
            f"{model}: text {position} is not valid Unicode ({error.reason})", model=model
        ) from None


def split_batches(texts: Sequence[str], sizes: Sequence[int], limits: BatchLimits) -> Iterator[Sequence[str]]:
    """Yield the texts in order, in as few batches as the limits allow."""
    start = total = 0
    for position, size in enumerate(sizes):
        if position > start and (position - start == limits.texts or total + size > limits.bytes):
            yield texts[start:position]
            start, total = position, 0
        total += size
    if start < len(texts):
        yield texts[start:]


def decode(body: object, count: int, options: EmbeddingOptions, model: str) -> tuple[tuple[Vector, ...], Usage]:
    """Return the vectors in the answer to a batch of `count` texts, and their usage.

    Raises:
        MalformedResponseError: when the answer does not have `count` vectors of the requested length.
    """
    try:
        return _decode(body, count, options.dimensions, model)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise MalformedResponseError(
            f"{model}: the answer does not hold the vectors of "
            f"{format_count(count, 'text')} ({reason}): {str(body)[:300]}",
            model=model,
        ) from error


def _decode(body: object, count: int, dimensions: int | None, model: str) -> tuple[tuple[Vector, ...], Usage]:
    if not isinstance(body, dict) or not isinstance(data := body["data"], list):
        raise TypeError("an object with a list `data` is needed")
    by_position = {item.get("index", position): _vector(item["embedding"]) for position, item in enumerate(data)}
    if len(data) != count or by_position.keys() != set(range(count)):
        raise ValueError(f"{format_count(len(data), 'vector')} came, with {len(by_position)} indices")
    vectors = tuple(by_position[position] for position in range(count))
    lengths = {len(vector) for vector in vectors}
    if len(lengths) > 1 or (dimensions is not None and lengths != {dimensions}):
        raise ValueError(
            f"vectors of {sorted(lengths)} dimensions came, {dimensions or 'the same number'} was asked for"
        )
    return vectors, _usage(body.get("usage"), model)


def _vector(values: object) -> Vector:
    if not isinstance(values, list) or not values:
        raise TypeError("a vector is a list of numbers")
    vector = tuple(array("d", values))  # refuses what is not a number, at the speed of C
    if not isfinite(sum(vector)):
        raise ValueError("a vector has no finite length")
    return vector


def _usage(usage: object, model: str) -> Usage:
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return Usage(input_tokens=expect_count(tokens), requests=1, model=model)
