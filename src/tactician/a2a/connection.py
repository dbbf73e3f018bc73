"""HTTP connections to agents of other programs: bounded, and only to addresses that may be reached."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Final
from urllib.parse import urlsplit

import httpx
from a2a.client import A2ACardResolver, A2AClientError, Client, ClientConfig, ClientFactory
from a2a.types import AgentCard, GetExtendedAgentCardRequest
from a2a.utils.constants import TransportProtocol

from tactician.a2a.cards import create_verifier
from tactician.a2a.errors import RemoteCardError, RemoteUnavailableError
from tactician.a2a.settings import RemoteSettings
from tactician.addresses import is_public

_CONNECT: Final = 10.0
_SHORT: Final = 1_000_000
_BINDINGS: Final = (TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value)


async def load_card(settings: RemoteSettings) -> AgentCard:
    """Load the card of a remote agent.

    Raises:
        RemoteUnavailableError: when there is no card at the address.
        RemoteCardError: when its signature is not valid.
    """
    verifier = None if settings.verify_key is None else create_verifier(settings.url, settings.verify_key)
    base, _, path = settings.url.partition("://")[2].partition("/")
    origin = f"{urlsplit(settings.url).scheme}://{base}"
    async with open_http(settings) as http:
        try:
            card = await A2ACardResolver(http, origin).get_agent_card(f"/{path}", signature_verifier=verifier)
        except (A2AClientError, httpx.HTTPError, ValueError) as error:
            raise RemoteUnavailableError(f"{settings.url}: there is no agent card: {error}") from error
    return await _load_extended_card(settings, card, verifier) or card


async def _load_extended_card(
    settings: RemoteSettings, card: AgentCard, verifier: Callable[[AgentCard], None] | None
) -> AgentCard | None:
    """Return the card for those who send a token, if there is one and it can be had.

    Raises:
        RemoteCardError: when its signature is not valid.
    """
    if not (card.capabilities.extended_agent_card and settings.create_headers()):
        return None
    async with open_client(settings, card) as client:
        with suppress(A2AClientError, httpx.HTTPError):
            return await client.get_extended_agent_card(GetExtendedAgentCardRequest(), signature_verifier=verifier)
    return None


@asynccontextmanager
async def open_client(settings: RemoteSettings, card: AgentCard) -> AsyncIterator[Client]:
    """Open a client for a remote agent.

    Raises:
        RemoteCardError: when the agent has no interface that is known here.
    """
    async with open_http(settings) as http:
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=list(_BINDINGS))
        try:
            yield ClientFactory(config).create(card)
        except ValueError as error:
            raise RemoteCardError(
                f"{settings.url}: the agent speaks no protocol that is known here: {error}"
            ) from error


@asynccontextmanager
async def open_http(
    settings: RemoteSettings | None = None, *, is_private: bool = False
) -> AsyncIterator[httpx.AsyncClient]:
    """Open an HTTP client with the limits of a remote agent.

    Args:
        settings: the remote agent; without it, any address is untrusted, and answers are short.
        is_private: true when untrusted addresses may be private.
    """
    settings = settings or RemoteSettings("", idle=_CONNECT, max_bytes=_SHORT, allow_private=is_private)
    inner = httpx.AsyncHTTPTransport(verify=_create_tls(), trust_env=False)
    timeout = httpx.Timeout(settings.idle, connect=min(_CONNECT, settings.idle))
    async with httpx.AsyncClient(
        transport=GuardedTransport(inner, settings), timeout=timeout, follow_redirects=False, trust_env=False
    ) as client:
        yield client


class GuardedTransport(httpx.AsyncBaseTransport):
    """Transport that sends keys to a single origin only, refuses private addresses, and bounds responses.

    The origin is that of the address which the program has named. What the card names is untrusted: its host is looked
    up, checked and connected to by the address that was checked, so that its name cannot change the address meanwhile.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, settings: RemoteSettings) -> None:
        self._inner = inner
        self._settings = settings
        self._origin = _get_origin(httpx.URL(settings.url))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            ConnectError: when its address is private.
            ConfigurationError: when the variable with the token is not set.
        """
        if _get_origin(request.url) == self._origin:
            request.headers.update(self._settings.create_headers())
        elif not self._settings.allow_private:
            await _pin_address(request)
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        bounded = BoundedStream(response.stream, self._settings.max_bytes)
        return httpx.Response(
            response.status_code, headers=response.headers, stream=bounded, extensions=response.extensions
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class BoundedStream(httpx.AsyncByteStream):
    """Body of a response that ends with an error when it is too long."""

    def __init__(self, inner: httpx.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > self._limit:
                raise httpx.DecodingError(f"the response is longer than {self._limit:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        """Close the response."""
        await self._inner.aclose()


async def _pin_address(request: httpx.Request) -> None:
    """Replace the host of a request by its address, which has to be public.

    Raises:
        ConnectError: when it is not.
    """
    host, port = request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpx.ConnectError(f"{host} has no address", request=request) from error
    addresses = [str(entry[4][0]) for entry in entries]
    if not addresses or not all(map(is_public, addresses)):
        raise httpx.ConnectError(
            f"the card leads to {host}, which is on this machine or in a private network: set allow_private=True if "
            "that is meant",
            request=request,
        )
    request.extensions = {**request.extensions, "sni_hostname": host}
    request.url = request.url.copy_with(host=addresses[0])


def _get_origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


@cache
def _create_tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
