"""Transports to MCP servers: a program, a URL, or a server in this program."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TextIO, TypeAlias
from urllib.parse import urlsplit

from typing_extensions import override

from tactician.frozen import frozen
from tactician.loggers import get_logger
from tactician.secrets import MASK, find_header_secrets, find_url_secrets, mask_secrets

if TYPE_CHECKING:
    import httpx2
    from mcp.client import Transport
    from mcp.server import MCPServer, Server

    InProcess: TypeAlias = "MCPServer | Server[object]"
    Target: TypeAlias = "Transport | InProcess"


_KEPT = 2_000

_logger = get_logger(__name__)
_SHORTEST_SECRET = 6
_CONNECT_SECONDS = 30.0
_READ_SECONDS = 300.0  # a server may keep a response open


@asynccontextmanager
async def capture_errors(redact: Callable[[str], str]) -> AsyncIterator[TextIO]:
    """Open a file for what a program writes to its standard error; an error inside has its end as a note.

    Args:
        redact: function that removes secrets from a text.
    """
    if sys.platform == "win32":
        with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230, PTH123 - its event loop reads no pipes of this kind
            yield nowhere
        return
    reading, writing = os.pipe()
    reader = _Tail(redact)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: reader, os.fdopen(reading, "rb", 0))
    try:
        with os.fdopen(writing, "w") as file:
            yield file
    except BaseException as error:
        await asyncio.sleep(0)  # what the program has written is read
        if text := reader.text:
            error.add_note(f"It wrote: {text}")
        raise
    finally:
        transport.close()


class _Tail(asyncio.Protocol):
    """End of what is read, which is logged besides."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._bytes = b""

    @property
    def text(self) -> str:
        """The last two thousand bytes as text."""
        return self._redact(self._bytes.decode(errors="replace")).strip()

    @override
    def data_received(self, data: bytes) -> None:
        self._bytes = (self._bytes + data)[-_KEPT:]
        if _logger.isEnabledFor(logging.DEBUG):
            _logger.debug("%s", self._redact(data.decode(errors="replace")).rstrip())


class ServerTransport(ABC):
    """Description of how a server is reached. Its secrets are not in its `repr`."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The name of the server where it gets no other."""

    @abstractmethod
    def open(self) -> AbstractAsyncContextManager[Target]:
        """Return what the SDK connects to, inside of the context manager."""

    def redact(self, text: str) -> str:
        """Return a text without the secrets of the transport."""
        for secret in sorted(self._list_secrets(), key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, MASK)
        return mask_secrets(text)

    def _list_secrets(self) -> Iterable[str]:
        return ()


@frozen
class ProgramTransport(ServerTransport):
    """Transport to a program that reads its input and writes to its output."""

    command: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: str | Path | None = None

    @property
    @override
    def label(self) -> str:
        return PurePath(self.command).stem

    @override
    @asynccontextmanager
    async def open(self) -> AsyncIterator[Target]:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        program = StdioServerParameters(
            command=self.command, args=list(self.arguments), env=dict(self.environment), cwd=self.folder
        )
        async with capture_errors(self.redact) as errors:
            yield stdio_client(program, errlog=errors)

    @override
    def _list_secrets(self) -> Iterable[str]:
        return self.environment.values()


@frozen
class HttpTransport(ServerTransport):
    """Transport to a server at a URL, by streamable HTTP, or by SSE for old servers."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    auth: httpx2.Auth | str | None = field(default=None, repr=False)
    is_sse: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    @override
    def label(self) -> str:
        return urlsplit(self.url).hostname or "server"

    @override
    @asynccontextmanager
    async def open(self) -> AsyncIterator[Target]:
        import httpx2
        from mcp.client.sse import sse_client
        from mcp.client.streamable_http import streamable_http_client

        from tactician.mcp.bodies import HEADERS, bound_body

        headers = {**HEADERS, **self.headers}
        if isinstance(self.auth, str):
            headers["Authorization"] = f"Bearer {self.auth}"
        auth = None if isinstance(self.auth, str) else self.auth
        timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS)

        def create_client(*_: object, **__: object) -> httpx2.AsyncClient:
            hooks = {"response": [bound_body]}
            return httpx2.AsyncClient(headers=headers, auth=auth, timeout=timeout, event_hooks=hooks)

        if self.is_sse:
            yield sse_client(self.url, httpx_client_factory=create_client)
            return
        async with create_client() as client:
            yield streamable_http_client(self.url, http_client=client)

    @override
    def _list_secrets(self) -> Iterable[str]:
        tokens = (self.auth,) if isinstance(self.auth, str) else ()
        query = urlsplit(self.url).query
        return *find_header_secrets(self.headers), *tokens, *self.secrets, *find_url_secrets(self.url), query


@frozen
class InProcessTransport(ServerTransport):
    """Transport to a server in this program, as in tests."""

    server: InProcess = field(repr=False)

    @property
    @override
    def label(self) -> str:
        return self.server.name

    @override
    @asynccontextmanager
    async def open(self) -> AsyncIterator[Target]:
        yield self.server
