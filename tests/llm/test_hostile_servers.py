"""Servers that send too much, too long or nonsense: a typed error soon, within bounded memory."""

from __future__ import annotations

import asyncio
import gzip
import socket
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import repeat
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tactician.errors import (
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
)
from tactician.llm import Endpoint, ImageModel, ModelRequest
from tactician.llm import UserMessage as Said
from tactician.llm.embeddings.remote import RemoteEmbeddingModel
from tactician.llm.images import RemoteImageModel
from tactician.llm.remote import RemoteModel
from tests.support.chat_server import ChatServer, answers, chunk, sends, sse
from tests.support.effort import FUZZED, examples
from tests.support.raw_server import RawServer, head

HI = ModelRequest((Said("hi"),))
MEBIBYTE = 2**20
STREAM = "Content-Type: text/event-stream"
JSON = "Content-Type: application/json"
Call: TypeAlias = Callable[[RemoteModel], Awaitable[object]]


async def generating(model: RemoteModel) -> object:
    return await model.generate(HI)


async def streaming(model: RemoteModel) -> object:
    return [item async for item in model.stream(HI)]


both_ways = pytest.mark.parametrize("ask", [generating, streaming])


def model_at(url: str, **changes: float) -> RemoteModel:
    return RemoteModel("m", replace(Endpoint("hostile", f"{url}/v1/chat/completions"), **changes))  # type: ignore[arg-type]


def bomb(mebibytes: int, beginning: bytes = b"") -> bytes:
    """A gzip file of so many blanks, a thousandth of their size."""
    packer = zlib.compressobj(9, wbits=31)
    packed = [packer.compress(beginning)]
    packed += [packer.compress(b" " * MEBIBYTE) for _ in range(mebibytes)]
    return b"".join((*packed, packer.flush()))


@both_ways
async def test_a_gzip_bomb_is_refused_within_bounded_memory(ask: Call) -> None:
    packed = bomb(200, b"data: " if ask is streaming else b"")
    assert len(packed) < MEBIBYTE
    answer = (head("Content-Encoding: gzip", JSON, f"Content-Length: {len(packed)}"), packed)
    async with RawServer(lambda: answer) as server:
        tracemalloc.start()
        try:
            with pytest.raises(MalformedResponseError, match=r"hostile:m: .* is larger than 16"):
                await ask(model_at(server.url))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 80 * MEBIBYTE


@both_ways
async def test_an_answer_without_an_end_is_refused(ask: Call) -> None:
    async with RawServer(lambda: (head(JSON), *repeat(b"x" * MEBIBYTE, 40))) as server:
        with pytest.raises(MalformedResponseError, match="is larger than 16"):
            await ask(model_at(server.url))


@both_ways
async def test_an_error_without_an_end_is_read_to_its_beginning(ask: Call) -> None:
    def script() -> Iterator[bytes]:
        yield head(JSON, status="503 Busy")
        yield from repeat(b"no " * 30_000)

    async with RawServer(script) as server:
        with pytest.raises(ModelServerError, match="HTTP 503: no no no") as raised:
            await ask(model_at(server.url))
    assert len(str(raised.value)) < 1000


@both_ways
async def test_a_long_message_of_an_error_is_cut_off(ask: Call) -> None:
    async with ChatServer(answers({"error": {"message": "a" * 50_000}}, 500)) as server:
        with pytest.raises(ModelServerError) as raised:
            await ask(server.model())
    assert len(str(raised.value)) < 1100


@both_ways
async def test_an_error_in_a_stream_has_a_message_of_bounded_length(ask: Call) -> None:
    error = {"error": {"message": "a" * 50_000, "code": "b" * 50_000}}
    async with ChatServer(sends(sse(error)) if ask is streaming else answers(error)) as server:
        with pytest.raises(ModelError) as raised:
            await ask(server.model())
    assert len(str(raised.value)) < 1000


async def test_a_stream_of_comments_ends() -> None:
    async def script() -> AsyncIterator[bytes]:
        yield head(STREAM)
        while True:
            yield b": still thinking\n\n"
            await asyncio.sleep(0.005)

    async with RawServer(script) as server:
        with pytest.raises(ModelTimeoutError, match=r"hostile:m: the stream did not end within 1 s"):
            await streaming(model_at(server.url, timeout=0.5, stream_timeout=1))


async def test_a_stream_of_comments_ends_by_its_size_too() -> None:
    comments = b": " + b"still thinking " * 70_000 + b"\n\n"
    async with RawServer(lambda: (head(STREAM), *repeat(comments, 140))) as server:
        with pytest.raises(MalformedResponseError, match="the stream is larger than 128 MiB"):
            await streaming(model_at(server.url))


async def test_a_stream_has_the_time_of_its_call_at_least() -> None:
    async def script() -> AsyncIterator[bytes]:
        yield head(STREAM)
        yield sse(chunk(content="hello"), done=False)
        await asyncio.sleep(0.05)
        yield sse(chunk("stop"))

    async with RawServer(script) as server:
        assert len(await streaming(model_at(server.url, timeout=20.0, stream_timeout=0.001))) == 2  # type: ignore[arg-type]


HEADS = {
    "a long line": b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n{}",
    "a long header": head("X-Long: " + "x" * 100_000) + b"{}",
    "many headers": head(*(f"X-{number}: 1" for number in range(50_000))) + b"{}",
    "not HTTP": b"\x00\xff\x16\x03\x01 garbage \r\n\r\n",
    "two lengths": head("Content-Length: 5", "Content-Length: 7") + b"{}",
    "a length that is none": head("Content-Length: -1") + b"{}",
    "a chunk that is none": head("Transfer-Encoding: chunked") + b"zz\r\n{}\r\n0\r\n\r\n",
    "a body that is not gzip": head("Content-Encoding: gzip", "Content-Length: 2") + b"{}",
    "a gzip file that is cut off": head("Content-Encoding: gzip", "Content-Length: 20")
    + gzip.compress(b"{}" * 99)[:20],
    "nothing": b"",
}


@both_ways
@pytest.mark.parametrize("kind", HEADS)
async def test_what_is_not_an_answer_is_a_typed_error(ask: Call, kind: str) -> None:
    async with RawServer(lambda: (HEADS[kind],)) as server:
        with pytest.raises((ModelConnectionError, MalformedResponseError)) as raised:
            await ask(model_at(f"{server.url}/secret-path"))
    assert str(raised.value).startswith("hostile:m: ")
    assert "secret-path" not in str(raised.value)


async def test_a_head_without_an_end_is_refused() -> None:
    def script() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        yield from repeat(b"X-More: x\r\n" * 1000)

    async with RawServer(script) as server:
        with pytest.raises(ModelConnectionError):
            await generating(model_at(server.url))


@both_ways
async def test_a_host_that_does_not_take_connections_is_not_waited_for_long(
    ask: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tactician.llm.http.CONNECT_TIMEOUT", 0.05)
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for client in (first, second):  # they fill the queue, so that a third gets no answer
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        with pytest.raises(ModelConnectionError, match=f"cannot reach {url}: no connection in time"):
            await ask(model_at(url, timeout=77.5, stream_timeout=78.5))


@pytest.mark.parametrize("header", ["a\nb", "a\r\nX-Other: b"])
@both_ways
async def test_a_key_that_no_header_can_carry_is_a_typed_error(server: ChatServer, ask: Call, header: str) -> None:
    endpoint = replace(server.endpoint(), headers={"X-Key": header})
    with pytest.raises(ModelRequestError, match="m: the request cannot be sent"):
        await ask(RemoteModel("m", endpoint))


@both_ways
async def test_a_request_that_cannot_be_encoded_is_a_typed_error(server: ChatServer, ask: Call) -> None:
    model, request = server.model(), ModelRequest((Said("a \ud800 b"),))
    with pytest.raises(ModelRequestError, match="the request cannot be sent"):
        await (model.generate(request) if ask is generating else anext(model.stream(request)))
    assert server.received == []


async def test_vectors_and_pictures_have_limits_too() -> None:
    async with RawServer(lambda: (head(JSON), *repeat(b" " * MEBIBYTE, 60))) as server:
        endpoint = Endpoint("hostile", server.url)
        with pytest.raises(MalformedResponseError, match="larger than 16 MiB"):
            await RemoteEmbeddingModel(endpoint, "m").embed(["a"])
        painter: ImageModel = RemoteImageModel(endpoint, "m")
        with pytest.raises(MalformedResponseError, match="larger than 32 MiB"):
            await painter.generate("a cat")


GOOD = head(JSON) + b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}'
EVENTS = head(STREAM) + sse(chunk(content="x"), chunk("stop"))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """An answer with parts of it cut out, put in or repeated."""
    data = bytearray(draw(st.sampled_from((GOOD, EVENTS))))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 20)))
        data[start:end] = draw(st.one_of(st.binary(max_size=8), st.just(bytes(data[start:end]) * 3), st.just(b"\r\n")))
    return bytes(data)


@examples(FUZZED, HealthCheck.function_scoped_fixture)
@given(answer=damaged(), is_streamed=st.booleans())
def test_only_typed_errors_come_of_damaged_answers(answer: bytes, is_streamed: bool) -> None:
    async def attempt() -> None:
        async with RawServer(lambda: (answer,)) as server:
            ask = streaming if is_streamed else generating
            with suppress(ModelError):
                await asyncio.wait_for(ask(model_at(server.url, timeout=0.5, stream_timeout=0.5)), 30)

    asyncio.run(attempt())
