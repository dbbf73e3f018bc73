"""HTTP connections to agents of other programs: bounded, and only to addresses that may be reached."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Final
from urllib.parse import urlsplit

import httpx
from a2a.client import A2ACardResolver, A2AClientError, Client, ClientConfig, ClientFactory
from a2a.compat.v0_3.versions import is_legacy_version
from a2a.types import AgentCard, AgentInterface, GetExtendedAgentCardRequest
from a2a.utils.constants import TransportProtocol

from tactician.a2a.cards import create_verifier
from tactician.a2a.errors import RemoteCardError, RemoteUnavailableError
from tactician.a2a.settings import RemoteSettings
from tactician.addresses import find_public_address
from tactician.extras import require_extra
from tactician.grammar import format_count
from tactician.text import escape_controls

_CONNECT: Final = 10.0
_CARD: Final = 60.0
_SHORT: Final = 1_000_000
_GRPC: Final = TransportProtocol.GRPC.value
_BINDINGS: Final = (TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value)


async def load_card(settings: RemoteSettings) -> AgentCard:
    """Load the card of a remote agent, in as many seconds as a task may take, and at most 60.

    Raises:
        RemoteUnavailableError: when there is no card at the address, or it does not come in time.
        RemoteCardError: when its signature is not valid.
    """
    seconds = min(settings.timeout, _CARD)
    try:
        async with asyncio.timeout(seconds):
            return await _load_cards(settings)
    except TimeoutError:
        raise RemoteUnavailableError(
            f"{settings.url}: the agent card did not come within {format_count(seconds, 'second')}."
        ) from None


async def _load_cards(settings: RemoteSettings) -> AgentCard:
    verifier = None if settings.verify_key is None else create_verifier(settings.url, settings.verify_key)
    base, _, path = settings.url.partition("://")[2].partition("/")
    origin = f"{urlsplit(settings.url).scheme}://{base}"
    async with open_http(settings) as http:
        try:
            card = await A2ACardResolver(http, origin).get_agent_card(f"/{path}", signature_verifier=verifier)
        except (A2AClientError, httpx.HTTPError, ValueError) as error:
            reason = escape_controls(str(error))
            raise RemoteUnavailableError(f"{settings.url}: there is no agent card: {reason}") from error
    return await _load_extended_card(settings, card, verifier) or card


async def _load_extended_card(
    settings: RemoteSettings, card: AgentCard, verifier: Callable[[AgentCard], None] | None
) -> AgentCard | None:
    """Return the card for those who send a token, if it exists and can be loaded.

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
    """Open a client for a remote agent: over HTTP if the agent speaks that, else over gRPC.

    Raises:
        RemoteCardError: when the agent has no interface that is known here.
        RemoteUnavailableError: when the address of gRPC is private, and only the card names it.
        MissingExtraError: when the agent speaks gRPC only, and the extra `a2a-grpc` is not installed.
    """
    if (interface := _find_grpc_only(card)) is not None:
        async with _open_grpc_client(settings, card, interface) as client:
            yield client
        return
    async with open_http(settings) as http:
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=list(_BINDINGS))
        try:
            yield ClientFactory(config).create(card)
        except ValueError as error:
            raise RemoteCardError(
                f"{settings.url}: the agent speaks no protocol that Tactician knows: {error}"
            ) from error


def _find_grpc_only(card: AgentCard) -> AgentInterface | None:
    """Return the interface of gRPC of a card that has none of HTTP."""
    if any(interface.protocol_binding in _BINDINGS for interface in card.supported_interfaces):
        return None
    spoken = (interface for interface in card.supported_interfaces if interface.protocol_binding == _GRPC)
    return next((interface for interface in spoken if not is_legacy_version(interface.protocol_version)), None)


@asynccontextmanager
async def _open_grpc_client(
    settings: RemoteSettings, card: AgentCard, interface: AgentInterface
) -> AsyncIterator[Client]:
    with require_extra("a2a-grpc", "The agent speaks gRPC only, which needs"):
        from tactician.a2a.grpc_transport import BoundedGrpcTransport, CallOptions, GrpcTarget, open_channel
    target = GrpcTarget.read(interface.url, settings.url)
    channel = await open_channel(settings, target)
    try:
        factory = ClientFactory(ClientConfig(supported_protocol_bindings=[_GRPC]))
        factory.register(_GRPC, lambda card, url, config: BoundedGrpcTransport(channel, card, settings.idle))
        reduced = AgentCard()
        reduced.CopyFrom(card)
        del reduced.supported_interfaces[:]
        reduced.supported_interfaces.append(interface)
        yield factory.create(reduced, [CallOptions(settings, target)])
    finally:
        await channel.close()


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

    The origin comes from the address that the program has named. What the card names is untrusted: its host is looked
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
            DecodingError: when the response is compressed, and so could have any size.
            ConfigurationError: when the variable with the token is not set.
        """
        request.headers["Accept-Encoding"] = "identity"
        if _get_origin(request.url) == self._origin:
            request.headers.update(self._settings.create_headers())
        elif not self._settings.allow_private:
            await _pin_address(request)
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx.DecodingError("the response is compressed, though it was asked not to be", request=request)
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
                raise httpx.DecodingError(f"the response is longer than {format_count(self._limit, 'byte')}")
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
        address = await find_public_address(host, port)
    except OSError as error:
        raise httpx.ConnectError(f"{host} has no address", request=request) from error
    if address is None:
        raise httpx.ConnectError(
            f"the card leads to {host}, which is on this machine or in a private network: set allow_private=True if "
            "that is meant",
            request=request,
        )
    request.extensions = {**request.extensions, "sni_hostname": host}
    request.url = request.url.copy_with(host=address)


def _get_origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


@cache
def _create_tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
