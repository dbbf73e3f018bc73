"""Servers over HTTP whose answers have no end."""

from __future__ import annotations

import asyncio
import gzip
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tactician.mcp import McpError, McpServer

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


@asynccontextmanager
async def serve(answer: Callable[[asyncio.StreamWriter], None], endless: bytes) -> AsyncIterator[str]:
    """Serve an answer that goes on until the client closes, and return its URL."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            answer(writer)
            while endless:
                writer.write(endless)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()


@pytest.mark.parametrize("transport", [McpServer.http, McpServer.sse])
async def test_an_endless_answer_ends_the_connection_and_takes_little_memory(
    transport: Callable[..., McpServer],
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with serve(lambda writer: writer.write(HEAD + b"\r\n[1"), b",1" * 50_000) as url:
        with pytest.raises(McpError):
            await asyncio.wait_for(transport(url, connect_timeout=30).load_tools(), 40)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kilobytes


async def test_a_compressed_answer_is_refused() -> None:
    bomb = gzip.compress(b"[1" + b",1" * 50_000_000, compresslevel=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with serve(lambda writer: writer.write(HEAD + b"Content-Encoding: gzip\r\n\r\n" + bomb), b"") as url:
        with pytest.raises(McpError, match="compresses its answer"):
            await asyncio.wait_for(McpServer.http(url, connect_timeout=30).load_tools(), 40)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
