"""Endpoint of a program: it connects to all addresses of a mesh, and listens at its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qs, urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from tactician.clock import SYSTEM_CLOCK, Timeout
from tactician.errors import ConfigurationError
from tactician.loggers import get_logger
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.signing import MessageSigner
from tactician.mesh.transports.transport import TransportError
from tactician.mesh.transports.websocket.frames import MAX_FRAME
from tactician.mesh.transports.websocket.handshake import Role, Socket, shake_hands
from tactician.resilience.backoff import compute_backoff

Address = tuple[str, int]
_HELLO_WITHIN: Final = 5.0
_HEARTBEAT: Final = 10.0
"""Seconds after which a silent connection is tried; it ends half as long after that."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_MOST_CONNECTIONS: Final = 1_000
_logger = get_logger(__name__)


class SocketEndpoint:
    """Connections of a program to the others.

    Args:
        url: the addresses; see `SocketTransport`.
        signer: signer of the hello.
        id: id of this program.
        serve: serves a socket to a program until it ends.
    """

    def __init__(
        self, url: str, signer: MessageSigner, id: str, serve: Callable[[Socket, str], Awaitable[None]]
    ) -> None:
        self._addresses, self._places = _parse(url)
        remote = [host for host, _ in self._addresses + self._places if not _is_loopback(host)]
        if remote and not signer.is_active:
            raise ConfigurationError(
                f"ws:// beyond this machine ({remote[0]}) needs a mesh key: Mesh(url, key=os.environ['MESH_KEY'])"
            )
        self._signer = signer
        self._id = id
        self._serve = serve
        self._tasks: list[asyncio.Task[None]] = []
        self._session: ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._listening: Address | None = None
        self._binding = asyncio.Lock()
        self._sockets: set[Socket] = set()

    async def open(self) -> None:
        """Try all addresses once, and then until the endpoint is closed."""
        self._session = ClientSession(timeout=ClientTimeout(total=None, sock_connect=_HELLO_WITHIN))
        tried = [asyncio.Event() for _ in self._addresses]
        self._tasks = [
            asyncio.create_task(self._keep_connected(address, event))
            for address, event in zip(self._addresses, tried, strict=True)
        ]
        await asyncio.gather(*(event.wait() for event in tried))

    async def aclose(self) -> None:
        """Close all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for socket in tuple(self._sockets):
            await socket.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()
        self._runner = self._session = self._listening = None

    async def listen(self) -> None:
        """Listen at the first address that is free on this machine, unless that was done.

        Raises:
            TransportError: when all are taken.
        """
        async with self._binding:
            if self._listening is None:
                self._listening = await self._bind()

    async def _bind(self) -> Address:
        if self._runner is None:
            application = web.Application()
            application.router.add_get("/", self._accept)
            self._runner = web.AppRunner(application, access_log=None, handle_signals=False)
            await self._runner.setup()
        for host, port in self._places:
            try:
                await web.TCPSite(self._runner, host, port).start()
            except OSError:
                continue  # of another machine or program
            return host, port
        listed = ", ".join(f"{host}:{port}" for host, port in self._places)
        raise TransportError(
            f"No address of the mesh is free on this machine: {listed}. Each node needs one; name another with "
            "?listen=0.0.0.0:7000 at the end of the URL."
        )

    async def _accept(self, request: web.Request) -> web.StreamResponse:
        if "Origin" in request.headers:  # a page in a browser
            raise web.HTTPForbidden
        if len(self._sockets) >= _MOST_CONNECTIONS:
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse(max_msg_size=MAX_FRAME, heartbeat=_HEARTBEAT)
        await socket.prepare(request)
        await self._use(socket, "listener", asyncio.Event())
        return socket

    async def _keep_connected(self, address: Address, tried: asyncio.Event) -> None:
        attempt = 0
        while True:
            started_at = SYSTEM_CLOCK.monotonic()
            peer = None if address == self._listening else await self._connect(address, tried)
            if peer == self._id:
                return  # this program itself, under another name of its machine
            attempt = 1 if SYSTEM_CLOCK.monotonic() - started_at > _HELLO_WITHIN else attempt + 1
            await SYSTEM_CLOCK.sleep(compute_backoff(attempt, base=_FIRST_PAUSE, factor=2, longest=_LONGEST_PAUSE))

    async def _connect(self, address: Address, tried: asyncio.Event) -> str | None:
        """Connect, serve until the end, and return the id of the other program, if there was a connection."""
        assert self._session is not None
        host, port = address
        url = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
        try:
            async with self._session.ws_connect(url, max_msg_size=MAX_FRAME, heartbeat=_HEARTBEAT) as socket:
                return await self._use(socket, "caller", tried)
        except (ClientError, OSError, TimeoutError):
            return None
        finally:
            tried.set()

    async def _use(self, socket: Socket, role: Role, is_ready: asyncio.Event) -> str | None:
        """Serve a connection after the hello, and return the id of the other program, if it is of this mesh."""
        self._sockets.add(socket)
        peer = None
        try:
            with Timeout(_HELLO_WITHIN, SYSTEM_CLOCK):
                peer = await shake_hands(socket, self._signer, self._id, role)
            is_ready.set()
            if peer != self._id:
                await self._serve(socket, peer)
        except (MessageError, TimeoutError, ClientError, OSError) as error:
            _logger.warning("A connection was refused: %s", str(error) or "there was no hello")
            await socket.close(code=1008, message=b"refused")
        finally:
            self._sockets.discard(socket)
        return peer


def _parse(url: str) -> tuple[list[Address], list[Address]]:
    """Return the addresses to connect to, and those to listen at."""
    plain, _, query = url.partition("?")
    addresses = [_parse_address(part) for part in plain.split(",")]
    listen = parse_qs(query).get("listen", [])
    return addresses, [_parse_address(f"ws://{place}") for place in listen] or addresses


def _parse_address(url: str) -> Address:
    try:
        parts = urlsplit(url.strip())
        if parts.scheme == "ws" and parts.hostname and parts.port and not parts.username and parts.path in ("", "/"):
            return parts.hostname, parts.port
    except ValueError:
        pass  # a port that is none
    raise ConfigurationError(
        "An address of a direct mesh has the form ws://host:port; several are separated by commas: "
        "ws://kitchen:7000,ws://bar:7000"
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
