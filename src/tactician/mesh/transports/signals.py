"""Signals between the programs that share a database: there is something in a queue."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakSet

from typing_extensions import override

from tactician.clock import SYSTEM_CLOCK, wait_for_event
from tactician.extras import require_extra

if TYPE_CHECKING:
    from asyncpg import Connection

_CHANNEL: Final = "tactician_mesh"


class Signals(Protocol):
    """Signals that a queue has changed.

    Attributes:
        first_poll: seconds after which a receiver looks without a signal the first time.
        longest_poll: seconds after which it looks at the latest.
    """

    first_poll: float
    longest_poll: float

    async def open(self) -> None:
        """Listen to the signals of other programs."""
        ...

    async def aclose(self) -> None:
        """Stop listening."""
        ...

    async def send(self, queue: str) -> None:
        """Tell that a queue has changed."""
        ...

    def listen(self, queue: str) -> AbstractContextManager[asyncio.Event]:
        """Return a context manager with an event that is set when the queue changes."""
        ...

    async def wait(self, signal: asyncio.Event, seconds: float) -> None:
        """Wait for a signal, for so many seconds at most."""
        await wait_for_event(signal, seconds, SYSTEM_CLOCK)
        signal.clear()


class Listeners:
    """Events of the receivers in this program, by queue."""

    def __init__(self) -> None:
        self._events: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    @contextmanager
    def listen(self, queue: str) -> Iterator[asyncio.Event]:
        """Return an event that is set when a queue changes."""
        event = asyncio.Event()
        self._events[queue].add(event)
        try:
            yield event
        finally:
            self._events[queue].discard(event)
            if not self._events[queue]:
                del self._events[queue]

    def notify(self, queue: str) -> None:
        """Tell the receivers that a queue has changed."""
        for event in self._events.get(queue, ()):
            event.set()

    def notify_all(self) -> None:
        """Tell all receivers that their queues may have changed."""
        for queue in tuple(self._events):
            self.notify(queue)


class LocalSignals(Signals):
    """Signals within an event loop. Other programs that share the file look again after some time.

    Args:
        path: path of the file.
    """

    first_poll = 0.02
    longest_poll = 0.25

    def __init__(self, path: str) -> None:
        self._path = path
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners = Listeners()

    async def open(self) -> None:
        """Listen to the transports of this event loop."""
        self._loop = asyncio.get_running_loop()
        _LOCAL.add(self)

    async def aclose(self) -> None:
        """Stop listening."""
        _LOCAL.discard(self)

    async def send(self, queue: str) -> None:
        """Tell that a queue has changed."""
        loop = asyncio.get_running_loop()
        for signals in tuple(_LOCAL):
            if signals._path == self._path and signals._loop is loop:
                signals._listeners.notify(queue)

    def listen(self, queue: str) -> AbstractContextManager[asyncio.Event]:
        """Return a context manager with an event that is set when the queue changes."""
        return self._listeners.listen(queue)


_LOCAL: Final[WeakSet[LocalSignals]] = WeakSet()


class PostgresSignals(Signals):
    """Signals by `LISTEN` and `NOTIFY` of PostgreSQL.

    Args:
        url: address of the database.
    """

    first_poll = 1.0
    longest_poll = 5.0

    def __init__(self, url: str) -> None:
        with require_extra("postgres", "A mesh over PostgreSQL needs"):
            import asyncpg

        self._broken = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
        self._connect = asyncpg.connect
        self._url = url.replace("+asyncpg", "", 1)
        self._listeners = Listeners()
        self._opening = asyncio.Lock()
        self._connection: Connection[Any] | None = None

    async def open(self) -> None:
        """Connect and listen."""
        async with self._opening:
            await self._reconnect()

    async def _reconnect(self) -> Connection[Any]:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect(self._url)
            await self._connection.add_listener(_CHANNEL, self._hear)
        return self._connection

    async def aclose(self) -> None:
        """Close the connection."""
        if (connection := self._connection) is not None:
            self._connection = None
            await connection.close()

    async def send(self, queue: str) -> None:
        """Tell all programs that a queue has changed."""
        self._listeners.notify(queue)
        with suppress(*self._broken):  # the receivers look again by themselves
            async with self._opening:  # a connection does a single operation at a time
                await (await self._reconnect()).execute("SELECT pg_notify($1, $2)", _CHANNEL, queue)

    @override
    async def wait(self, signal: asyncio.Event, seconds: float) -> None:
        """Wait for a signal, and listen again after the server has restarted."""
        if self._connection is None or self._connection.is_closed():
            with suppress(*self._broken):
                await self.open()
        await super().wait(signal, seconds)

    def listen(self, queue: str) -> AbstractContextManager[asyncio.Event]:
        """Return a context manager with an event that is set when the queue changes."""
        return self._listeners.listen(queue)

    def _hear(self, *arguments: object) -> None:
        self._listeners.notify(str(arguments[-1]))
