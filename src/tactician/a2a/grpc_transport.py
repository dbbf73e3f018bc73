"""Connections over gRPC to agents of other programs: bounded, and only to addresses that may be reached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import certifi
import grpc
from a2a.client import A2AClientTimeoutError
from a2a.client.client import ClientCallContext
from a2a.client.interceptors import AfterArgs, BeforeArgs, ClientCallInterceptor
from a2a.client.transports.grpc import GrpcTransport
from a2a.types import AgentCard, SendMessageRequest, StreamResponse, SubscribeToTaskRequest
from typing_extensions import override

from tactician.a2a.errors import RemoteCardError, RemoteUnavailableError
from tactician.a2a.settings import RemoteSettings
from tactician.addresses import find_public_address
from tactician.frozen import frozen
from tactician.grammar import format_count

T = TypeVar("T")
_PLAIN: Final = frozenset({"http", "grpc"})
_ENCRYPTED: Final = frozenset({"https", "grpcs"})
_STREAMS: Final = frozenset({"send_message_streaming", "subscribe"})


@frozen
class GrpcTarget:
    """Place of a server of gRPC, as a card names it.

    Attributes:
        host: the host.
        port: the port.
        is_encrypted: true to connect with TLS.
        is_trusted: true when it is on the host that the program names, and no less protected than the card: keys go
            there, and it may be private.
    """

    host: str
    port: int
    is_encrypted: bool
    is_trusted: bool

    @classmethod
    def read(cls, url: str, card_url: str) -> GrpcTarget:
        """Read the address of an interface, such as `agents.example.com:443` or `https://agents.example.com`.

        An address without a scheme is encrypted if the card was.

        Raises:
            RemoteCardError: when it is no address.
        """
        card, (scheme, separator, place) = urlsplit(card_url), url.partition("://")
        scheme, place = (scheme.lower(), place) if separator else (card.scheme, url)
        is_encrypted = scheme in _ENCRYPTED
        with suppress(ValueError):
            parts = urlsplit(f"//{place}")
            host, port = parts.hostname, parts.port or (443 if is_encrypted else 80)
            if host and "@" not in place and not parts.path.strip("/") and (is_encrypted or scheme in _PLAIN):
                is_trusted = host == card.hostname and (is_encrypted or card.scheme == "http")
                return cls(host, port, is_encrypted, is_trusted)
        raise RemoteCardError(f"{card_url}: {url[:200]!r} is not an address of gRPC: a card names HOST:PORT.")


async def open_channel(settings: RemoteSettings, target: GrpcTarget) -> grpc.aio.Channel:
    """Open a channel to a server.

    Raises:
        RemoteUnavailableError: when its address is private, and only the card names it.
    """
    host = f"[{target.host}]" if ":" in target.host else target.host
    options: list[tuple[str, str | int]] = [
        ("grpc.max_receive_message_length", settings.max_bytes),
        ("grpc.enable_http_proxy", 0),
        ("grpc.service_config_disable_resolution", 1),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    place = f"dns:///{host}:{target.port}"
    if not (target.is_trusted or settings.allow_private):
        place = await _pin(target)
        options += [("grpc.default_authority", f"{host}:{target.port}")]
        options += [("grpc.ssl_target_name_override", target.host)] if target.is_encrypted else []
    if not target.is_encrypted:
        return grpc.aio.insecure_channel(place, options=options)
    return grpc.aio.secure_channel(place, grpc.ssl_channel_credentials(_read_roots()), options=options)


@cache
def _read_roots() -> bytes:
    """Return the certificates that are trusted, which are the same as for HTTP."""
    return Path(certifi.where()).read_bytes()


async def _pin(target: GrpcTarget) -> str:
    """Return the public address of a server, so that its name cannot lead elsewhere later."""
    try:
        address = await find_public_address(target.host, target.port)
    except OSError as error:
        raise RemoteUnavailableError(f"{target.host} has no address") from error
    if address is None:
        raise RemoteUnavailableError(
            f"the card leads to {target.host}, which is on this machine or in a private network: set "
            "allow_private=True if that is meant"
        )
    return f"ipv6:[{address}]:{target.port}" if ":" in address else f"ipv4:{address}:{target.port}"


class CallOptions(ClientCallInterceptor):
    """Options of each call: the headers as metadata, and a time limit unless it is a stream.

    Args:
        settings: settings of the remote agent.
        target: the server.
    """

    def __init__(self, settings: RemoteSettings, target: GrpcTarget) -> None:
        self._settings = settings
        self._is_trusted = target.is_trusted

    @override
    async def before(self, args: BeforeArgs) -> None:
        headers = dict(self._settings.create_headers()) if self._is_trusted else {}
        timeout = None if args.method in _STREAMS else self._settings.idle
        args.context = ClientCallContext(service_parameters=headers, timeout=timeout)

    @override
    async def after(self, args: AfterArgs) -> None:
        pass


class BoundedGrpcTransport(GrpcTransport):
    """Transport over gRPC whose streams end with an error when they are silent for too long.

    Args:
        channel: the channel.
        card: the card.
        idle: seconds without an event.
    """

    def __init__(self, channel: grpc.aio.Channel, card: AgentCard, idle: float) -> None:
        super().__init__(channel, card)
        self._idle = idle

    @override
    async def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        async with aclosing(super().send_message_streaming(request, context=context)) as events:
            async for event in _limit_silence(events, self._idle):
                yield event

    @override
    async def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        async with aclosing(super().subscribe(request, context=context)) as events:
            async for event in _limit_silence(events, self._idle):
                yield event


async def _limit_silence(events: AsyncIterator[T], seconds: float) -> AsyncIterator[T]:
    while True:
        try:
            async with asyncio.timeout(seconds):
                event = await anext(events)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise A2AClientTimeoutError(f"no event for {format_count(seconds, 'second')}") from None
        yield event
