"""Embeddings over HTTP: what goes out, what comes back, and every way in which that can go wrong."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Mapping, Sequence

import pytest
from aiohttp import web

from tactician.errors import (
    AuthenticationError,
    ConfigurationError,
    ContextLengthError,
    MalformedResponseError,
    ModelError,
    ModelRequestError,
    ModelTimeoutError,
    RateLimitError,
)
from tactician.llm import Usage
from tactician.llm.embeddings.model import BatchLimits, EmbeddingModel, EmbeddingOptions
from tactician.llm.embeddings.remote import RemoteEmbeddingModel
from tactician.llm.provider import Provider
from tactician.llm.provider_access import ProviderAccess
from tactician.llm.providers import PROVIDERS
from tests.support.chat_server import ChatServer, Received, Reply, answers, fails

KEY = "sk-very-secret"
SHORT = EmbeddingOptions(dimensions=2)


def vectors(*found: Sequence[object], tokens: int = 5, indices: Sequence[int] | None = None) -> dict[str, object]:
    places = indices if indices is not None else range(len(found))
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in zip(places, found, strict=True)]
    return {"object": "list", "data": data, "model": "served", "usage": {"prompt_tokens": tokens}}


def measures() -> Reply:
    """Each text's vector is its number and its length: so that a test sees which vector belongs to which text."""

    async def reply(_: web.Request, received: Received) -> web.StreamResponse:
        texts = received.body["input"]
        assert isinstance(texts, list)
        return web.json_response(vectors(*([float(text.strip("x") or 0), len(text)] for text in texts)))

    return reply


def model(server: ChatServer, limits: BatchLimits = BatchLimits(), timeout: float = 20.0) -> RemoteEmbeddingModel:  # noqa: B008
    return RemoteEmbeddingModel(server.endpoint(timeout=timeout), "test-model", limits=limits)


async def test_the_request_and_the_answer_of_several_texts(server: ChatServer) -> None:
    server.will(answers(vectors([1, 0.5], [0.25, 2])))

    found = await RemoteEmbeddingModel.at_provider(ProviderAccess(PROVIDERS["openai"], KEY, server.url)).embed(
        ["a", "b"]
    )

    assert found.vectors == ((1.0, 0.5), (0.25, 2.0))
    assert (found.dimensions, len(found), found.model) == (2, 2, "openai:text-embedding-3-small")
    assert found.usage == Usage(input_tokens=5, requests=1)
    received = server.received[0]
    assert received.path == "/v1/embeddings"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body == {"model": "text-embedding-3-small", "input": ["a", "b"]}


async def test_one_text_gives_one_vector(server: ChatServer) -> None:
    server.will(answers(vectors([1, 2, 3])))

    assert await model(server).embed_one("a") == (1.0, 2.0, 3.0)


def test_it_is_an_embedding_model(server: ChatServer) -> None:
    assert isinstance(model(server), EmbeddingModel)


async def test_no_texts_give_no_vectors_and_no_request(server: ChatServer) -> None:
    found = await model(server).embed([])

    assert (found.vectors, found.dimensions, found.usage.requests) == ((), 0, 0)
    assert server.received == []


async def test_vectors_that_come_in_another_order_are_put_in_order(server: ChatServer) -> None:
    server.will(answers(vectors([2.0], [0.0], [1.0], indices=[2, 0, 1])))

    assert (await model(server).embed(["a", "b", "c"])).vectors == ((0.0,), (1.0,), (2.0,))


async def test_vectors_without_indices_are_in_order(server: ChatServer) -> None:
    server.will(answers({"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]}))

    found = await model(server).embed(["a", "b"])

    assert (found.vectors, found.usage) == (((1.0,), (2.0,)), Usage(requests=1))


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        (BatchLimits(texts=3), [3, 3, 3, 1]),
        (BatchLimits(texts=1), [1] * 10),
        (BatchLimits(texts=10), [10]),
        (BatchLimits(bytes=2), [2, 2, 2, 2, 2]),
        (BatchLimits(bytes=0), [1] * 10),
    ],
)
async def test_many_texts_go_in_batches_and_keep_their_order(
    server: ChatServer, limits: BatchLimits, sizes: list[int]
) -> None:
    server.will(measures())

    found = await model(server, limits).embed([str(n) for n in range(10)])

    assert found.vectors == tuple((float(n), 1.0) for n in range(10))
    assert [len(body["input"]) for body in server.bodies] == sizes  # type: ignore[arg-type]  # it is a list
    assert found.usage == Usage(input_tokens=5 * len(sizes), requests=len(sizes))


async def test_bytes_are_counted_not_letters(server: ChatServer) -> None:
    server.will(answers(vectors([1.0])))

    await model(server, BatchLimits(bytes=4)).embed(["éé", "éé"])

    assert [body["input"] for body in server.bodies] == [["éé"], ["éé"]]


async def test_when_a_later_batch_fails_the_call_fails(server: ChatServer) -> None:
    server.will(answers(vectors([1.0])), fails(429, headers={"Retry-After": "3"}))

    with pytest.raises(RateLimitError) as raised:
        await model(server, BatchLimits(texts=1)).embed(["a", "b", "c"])

    assert raised.value.retry_after == 3
    assert len(server.received) == 2


PLACES: Mapping[str, tuple[str, str, str]] = {
    "openai": ("/v1/embeddings", "authorization", "dimensions"),
    "azure-openai": ("/openai/deployments/my%20model/embeddings?api-version=2026-01-01", "api-key", "dimensions"),
    "mistral": ("/v1/embeddings", "authorization", "output_dimension"),
    "gemini": ("/v1beta/openai/embeddings", "authorization", "dimensions"),
    "ollama": ("/v1/embeddings", "authorization", "dimensions"),
}


@pytest.mark.parametrize("name", PLACES)
async def test_every_provider_has_its_path_its_header_and_its_word_for_dimensions(
    server: ChatServer, name: str
) -> None:
    server.will(answers(vectors([1, 2])))
    path, header, dimensions = PLACES[name]
    access = ProviderAccess(PROVIDERS[name], KEY, server.url, "mine", "2026-01-01")
    asked = RemoteEmbeddingModel.at_provider(access, "my model")

    found = await asked.embed(["a"], SHORT)

    received = server.received[0]
    assert received.path == path
    assert received.headers[header].endswith(KEY)
    assert received.body == {"model": "my model", "input": ["a"], dimensions: 2}
    assert found.model == "mine:my model"


async def test_a_provider_of_ones_own_is_taken_for_one_like_openai(server: ChatServer) -> None:
    server.will(answers(vectors([1.0])))

    await RemoteEmbeddingModel.at_provider(ProviderAccess(Provider("mine", server.url))).embed(["a"])

    assert server.received[0].path == "/v1/embeddings"


async def test_a_base_url_may_end_with_the_version(server: ChatServer) -> None:
    server.will(answers(vectors([1.0])))

    await RemoteEmbeddingModel.at_provider(ProviderAccess(PROVIDERS["openai"], base_url=f"{server.url}/v1")).embed(
        ["a"]
    )

    assert server.received[0].path == "/v1/embeddings"


@pytest.mark.parametrize(
    ("name", "base_url", "message"),
    [
        ("anthropic", None, "anthropic serves no embeddings; those that do are openai"),
        ("grok", None, "grok serves no embeddings"),
        ("azure-openai", None, "mine: azure-openai has no fixed address; set base_url"),
        ("azure-openai", "http://127.0.0.1", "mine: azure-openai needs api_version"),
    ],
)
def test_a_place_that_cannot_be_says_why(name: str, base_url: str | None, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RemoteEmbeddingModel.at_provider(ProviderAccess(PROVIDERS[name], KEY, base_url, "mine"))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", ""], "text 1 is empty"),
        (["a", None], "text 1 must be a text, not NoneType"),
        ([b"a"], "text 0 must be a text, not bytes"),
        ([["a"]], "text 0 must be a text, not list"),
        (["\ud800"], "text 0 is not valid Unicode"),
        ("several", "use embed_one for a single text"),
        (b"several", "use embed_one for a single text"),
    ],
)
async def test_what_is_no_text_is_refused_before_any_request(
    server: ChatServer, texts: Sequence[str], message: str
) -> None:
    with pytest.raises(ModelRequestError, match=f"test:test-model: .*{message}"):
        await model(server, BatchLimits(texts=1)).embed(texts)

    assert server.received == []


@pytest.mark.parametrize("dimensions", [0, -1])
async def test_dimensions_that_cannot_be_are_refused(server: ChatServer, dimensions: int) -> None:
    with pytest.raises(ModelRequestError, match="dimensions must be at least 1"):
        await model(server).embed(["a"], EmbeddingOptions(dimensions=dimensions))


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"data": None},
        {"data": {}},
        {"data": []},
        {"data": [1, 2]},
        {"data": [{}, {}]},
        vectors([1.0]),
        vectors([1.0], [2.0], [3.0]),
        vectors([1.0], [2.0], indices=[0, 0]),
        vectors([1.0], [2.0], indices=[1, 2]),
        vectors([1.0], []),
        vectors([1.0], [2.0, 3.0]),
        vectors([1.0], ["2.0"]),
        vectors([1.0], [None]),
        vectors([1.0], [[2.0]]),
        vectors([1.0], [10**400]),
        {"data": [{"embedding": "AACAPw=="}, {"embedding": "AACAPw=="}]},
        {"data": [{"embedding": [1.0], "index": [0]}, {"embedding": [1.0], "index": 1}]},
        {**vectors([1.0], [2.0]), "usage": {"prompt_tokens": "many"}},
        vectors([1.0], [2.0], tokens=10**30),
        b'{"data": [{"embedding": [NaN]}, {"embedding": [1.0]}]}',
    ],
)
async def test_an_answer_without_the_vectors_of_all_texts(server: ChatServer, body: object) -> None:
    server.will(answers(body))

    with pytest.raises(MalformedResponseError, match="the answer does not hold the vectors of 2 texts"):
        await model(server).embed(["a", "b"])


async def test_a_number_of_tokens_below_zero_is_not_counted(server: ChatServer) -> None:
    server.will(answers(vectors([1.0], tokens=-5)))

    assert (await model(server).embed(["a"])).usage == Usage(requests=1)


async def test_an_answer_that_is_not_json(server: ChatServer) -> None:
    server.will(answers(b"<html>"))

    with pytest.raises(MalformedResponseError, match="the answer is not JSON"):
        await model(server).embed(["a"])


async def test_vectors_of_another_length_than_was_asked_for(server: ChatServer) -> None:
    server.will(answers(vectors([1.0, 2.0, 3.0])))

    with pytest.raises(MalformedResponseError, match=r"vectors of \[3\] dimensions came, 2 was asked for"):
        await model(server).embed(["a"], SHORT)


async def test_a_text_that_is_too_long(server: ChatServer) -> None:
    server.will(fails(400, "This model's maximum context length is 8192 tokens, however you requested 9000."))

    with pytest.raises(ContextLengthError):
        await model(server).embed(["a"])


@pytest.mark.parametrize(("of_call", "of_endpoint"), [(0.02, 60.0), (None, 0.02)])
async def test_an_answer_that_does_not_come_in_time(
    server: ChatServer, of_call: float | None, of_endpoint: float
) -> None:
    server.will(server.stall())

    with pytest.raises(ModelTimeoutError, match=r"no answer within 0\.02 s"):
        await model(server, timeout=of_endpoint).embed(["a"], EmbeddingOptions(timeout=of_call))


async def test_a_hundred_calls_at_once_each_get_their_own_vectors(server: ChatServer) -> None:
    server.will(measures())
    asked = model(server, BatchLimits(texts=2))

    found = await asyncio.gather(*(asked.embed([f"{n}", f"{n}x", f"{n}xx"]) for n in range(100)))

    for n, one in enumerate(found):
        length = len(f"{n}")
        assert one.vectors == ((n, length), (n, length + 1), (n, length + 2))
    assert len(server.received) == 200


async def test_the_key_is_in_no_text(server: ChatServer) -> None:
    server.will(fails(401, f"Incorrect API key: {KEY}"))
    asked = RemoteEmbeddingModel.at_provider(
        ProviderAccess(PROVIDERS["azure-openai"], KEY, server.url, api_version="1")
    )

    with pytest.raises(AuthenticationError) as raised:
        await asked.embed(["a"])

    shown = f"{asked!r} {asked.endpoint!r} {raised.value!r} {''.join(traceback.format_exception(raised.value))}"
    assert KEY not in shown
    assert "***" in str(raised.value)
    assert isinstance(raised.value, ModelError)
    assert raised.value.model == "azure-openai:text-embedding-3-small"
