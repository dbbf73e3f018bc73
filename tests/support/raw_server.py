"""A server that writes bytes to its connections, whether or not they are HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable
from typing import Self, TypeAlias

Script: TypeAlias = Callable[[], AsyncIterable[bytes] | Iterable[bytes]]


class RawServer:
    """Listens on a free port of the loopback interface while its `async with` block runs.

    It waits for the head of a request and then writes what its script yields, until the client has gone.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            pieces = self.script()
            if isinstance(pieces, Iterable):
                for piece in pieces:
                    await self._write(writer, piece)
            else:
                async for piece in pieces:
                    await self._write(writer, piece)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _write(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)  # the client of a test runs in the same loop


def head(*headers: str, status: str = "200 OK") -> bytes:
    """The head of an answer."""
    return "\r\n".join((f"HTTP/1.1 {status}", "Connection: close", *headers, "", "")).encode()
