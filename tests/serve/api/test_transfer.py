"""Bodies and answers on their way: slow senders, readers that do not read, and compression."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

import httpx
import pytest
from starlette.datastructures import Headers
from starlette.types import Message

from tactician.serve import Person
from tactician.serve.api.serving.guard import Callers, RequestLimits
from tactician.serve.api.serving.sse import Streams
from tactician.serve.problems import ApiError
from tests.serve.api.serving import create_platform, find, served, start
from tests.serve.api.test_pictures import PNG

ANNA, BERT = "anna-has-a-secret", "bert-has-a-secret"
PEOPLE = {ANNA: Person("anna"), BERT: Person("bert")}


class TestUploads:
    async def test_slow_ones_of_a_person_hold_up_nobody_else(self) -> None:
        release, begun = asyncio.Event(), asyncio.Semaphore(0)

        async def send_slowly() -> AsyncIterator[bytes]:
            yield PNG[:10]
            begun.release()
            await release.wait()
            yield PNG[10:]

        async with served(create_platform(), people=PEOPLE) as client:
            slow = [asyncio.create_task(upload(client, ANNA, send_slowly())) for _ in range(5)]
            for _ in range(4):
                await begun.acquire()
            assert (await upload(client, BERT, PNG)).status_code == 201
            assert begun.locked(), "a person sends four at a time"
            release.set()
            assert [done.status_code for done in await asyncio.gather(*slow)] == [201] * 5


async def upload(client: httpx.AsyncClient, token: str, content: bytes | AsyncIterator[bytes]) -> httpx.Response:
    return await client.post("/api/pictures", content=content, headers={"Authorization": f"Bearer {token}"})


async def test_a_stream_ends_when_its_reader_does_not_read() -> None:
    closed = False

    async def texts() -> AsyncGenerator[str]:
        nonlocal closed
        try:
            while True:
                yield "data: x\n\n"
        finally:
            closed = True

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    streams = Streams(1, patience=0.01)
    scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
    async with asyncio.timeout(20):
        await streams.respond(texts())(scope, receive, send)
    assert (streams.open, closed) == (0, True)


class TestCompression:
    @pytest.mark.parametrize("path", ["/api/runs", "/api/openapi.json", "/ui/"])
    async def test_answers_are_compressed(self, path: str) -> None:
        async with served(create_platform()) as client:
            for _ in range(3):
                await find(client, await start(client, "talker", "Hello"), "completed")
            packed = await client.get(path, headers={"Accept-Encoding": "gzip"})
            plain = await client.get(path, headers={"Accept-Encoding": "identity"})
        assert (packed.headers.get("content-encoding"), plain.headers.get("content-encoding")) == ("gzip", None)
        assert packed.content == plain.content

    async def test_streams_and_pictures_are_not(self) -> None:
        async with served(create_platform()) as client:
            client.headers["Accept-Encoding"] = "gzip"
            run_id = await start(client, "talker", "Hello")
            await find(client, run_id, "completed")
            stream = await client.get(f"/api/runs/{run_id}/events")
            uploaded = (await client.post("/api/pictures", content=PNG)).json()["url"]
            picture = await client.get(uploaded)
        assert len(stream.content) > 500
        assert "content-encoding" not in stream.headers
        assert "content-encoding" not in picture.headers


def test_a_caller_who_was_silent_gets_no_more_than_the_burst() -> None:
    now = 0.0
    callers = Callers(None, RequestLimits(rate=10, burst=3), clock=lambda: now)

    def count_admitted() -> int:
        admitted = 0
        for _ in range(5):
            with suppress(ApiError):
                callers.admit(Headers(), "127.0.0.1")
                admitted += 1
        return admitted

    first = count_admitted()
    now = 3600.0
    assert (first, count_admitted()) == (3, 3)
