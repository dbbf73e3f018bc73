"""Connection to a server: it has a task of its own, which restarts a server that dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from tactician.clock import Clock, Timeout
from tactician.extras import require_extra
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.loggers import get_logger
from tactician.mcp.errors import McpError, find_cause
from tactician.mcp.watching import watch_end
from tactician.text import describe_error

if TYPE_CHECKING:
    from mcp import Client

    from tactician.mcp.transports import ServerTransport, Target

T = TypeVar("T")
State: TypeAlias = Literal["closed", "connecting", "ready", "restarting"]
_FIRST_PAUSE, _PAUSE_FACTOR, _LONGEST_PAUSE = 0.5, 2.0, 60.0
_STABLE_SECONDS = 60.0
_LONGEST_PROBLEM = 2_000
_logger = get_logger(__name__)


@frozen
class McpHealth:
    """Health of a connection to a server.

    Attributes:
        state: `"closed"` until it is used, `"connecting"`, `"ready"`, or `"restarting"` when the server has died.
        problem: the last problem, if the server is not ready.
        failures: number of failures in a row.
        next_attempt: seconds until the next attempt at a restart.
        server: name and version of the server, as it says.
        protocol: version of the protocol.
    """

    state: State
    problem: str | None = None
    failures: int = 0
    next_attempt: float | None = None
    server: str | None = None
    protocol: str | None = None


class Connection:
    """Connection to a server, opened by its first use.

    The task that has entered a scope of the SDK must leave it. So the connection has a task that enters and leaves
    them, while any task can open and close the connection. When the server dies, that task starts it again, after
    pauses that grow.

    Args:
        name: name of the server, for messages.
        transport: the way to the server.
        create_client: function that creates the client of the SDK.
        clock: clock of the pauses.
        timeout: seconds that connecting may take.
    """

    def __init__(
        self,
        name: str,
        transport: ServerTransport,
        create_client: Callable[[Target], Client],
        clock: Clock,
        timeout: float,
    ) -> None:
        self._name = name
        self._transport = transport
        self._create_client = create_client
        self._clock = clock
        self._timeout = timeout
        self._client: Client | None = None
        self._owner: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened: asyncio.Future[None] | None = None
        self._changed = asyncio.Event()
        self._questions: dict[object, Callable[[], object]] = {}
        self._interrupted: set[object] = set()
        self._is_stopping = self._is_lost = False
        self._problem: str | None = None
        self._failures = 0
        self._due: float | None = None

    @property
    def health(self) -> McpHealth:
        """The health now."""
        client = self._client
        if client is not None:
            info = client.server_info
            label = None if info is None else f"{info.name} {info.version}"
            return McpHealth("ready", server=label, protocol=client.protocol_version)
        if not self._is_running:
            return McpHealth("closed", self._problem, self._failures)
        if self._due is None:
            return McpHealth("connecting", self._problem, self._failures)
        left = max(0.0, self._due - self._clock.monotonic())
        return McpHealth("restarting", self._problem, self._failures, left)

    async def use(self) -> Client:
        """Return the client; connect if nobody has.

        Raises:
            McpError: when the server cannot be reached, or is being restarted.
            MissingExtraError: when the SDK is not installed.
        """
        if not self._is_running:
            self._start()
        assert self._opened is not None
        if not self._opened.done():
            await asyncio.wait((self._opened,))
        await self._opened
        if self._client is None:
            wait = "" if self._due is None else f"; the next attempt is in {self.health.next_attempt:.1f} s"
            raise McpError(f"The MCP server {self._name!r} is not available: {self._problem}{wait}.")
        return self._client

    async def ask(self, question: Callable[[Client], Coroutine[object, object, T]]) -> T:
        """Return the answer to a question, which is cancelled when the connection ends.

        Raises:
            McpError: when the server cannot be reached, or the connection ends.
        """
        work = asyncio.create_task(question(await self.use()))
        self._questions[work] = work.cancel
        try:
            return await work
        except asyncio.CancelledError:
            if work not in self._interrupted:
                raise
            raise McpError(f"The MCP server {self._name!r}: its connection has ended.") from None
        finally:
            work.cancel()
            del self._questions[work]
            self._interrupted.discard(work)

    def report_loss(self, problem: str) -> None:
        """Note that the server does not answer any more, so that it is restarted."""
        if self._client is not None and not self._is_stopping:
            self._problem = problem
            self._client = None
            self._is_lost = True
            self._changed.set()

    async def aclose(self) -> None:
        """Close the connection, and stop the server's program. It is opened again by its next use."""
        owner = self._owner
        if owner is None or not self._is_running:
            return
        self._is_stopping = True
        self._changed.set()
        await asyncio.wait((owner,))

    @property
    def _is_running(self) -> bool:
        """True while the owner runs, in this event loop: another loop's owner has ended with the loop."""
        if self._owner is None or self._owner.done():
            return False
        return self._loop is asyncio.get_running_loop()

    @property
    def _has_opened(self) -> bool:
        opened = self._opened
        return opened is not None and opened.done() and opened.exception() is None

    def _start(self) -> None:
        with require_extra("mcp", "MCP servers need"):
            import mcp  # noqa: F401 - the owner needs it
        self._loop = asyncio.get_running_loop()
        self._opened = self._loop.create_future()
        self._changed = asyncio.Event()
        self._client, self._due = None, None
        self._is_stopping = self._is_lost = False
        self._owner = asyncio.create_task(self._hold_open(), name=f"MCP server {self._name}")

    async def _hold_open(self) -> None:
        assert self._opened is not None
        try:
            while not self._is_stopping:
                began = self._clock.monotonic()
                await self._connect_once()
                if not self._has_opened or self._is_stopping:
                    break
                is_stable = self._clock.monotonic() - began >= _STABLE_SECONDS
                self._failures = 1 if is_stable else self._failures + 1
                await self._pause(min(_FIRST_PAUSE * _PAUSE_FACTOR ** (self._failures - 1), _LONGEST_PAUSE))
        finally:
            self._client = None
            if not self._opened.done():
                self._opened.set_exception(McpError(f"The MCP server {self._name!r} was closed while it started."))
            self._opened.exception()  # nobody may be waiting for it

    async def _connect_once(self) -> None:
        """Connect, and keep the connection until the server is lost, or the connection is closed."""
        assert self._opened is not None
        try:
            async with self._connect() as client:
                self._client, self._is_lost = client, False
                self._problem, self._due = None, None
                if not self._opened.done():
                    self._opened.set_result(None)
                while not (self._is_stopping or self._is_lost):
                    await self._changed.wait()
                    self._changed.clear()
                self._interrupt()
        except Exception as error:
            self._problem = self._describe(error)
            _logger.debug("the MCP server %s failed: %s", self._name, self._problem)
            if not self._opened.done():
                self._failures += 1
                raise_later = McpError(f"The MCP server {self._name!r} cannot be reached: {self._problem}")
                self._opened.set_exception(raise_later)
        finally:
            self._client = None
            self._interrupt()

    def _interrupt(self) -> None:
        """Cancel the questions that have no answer."""
        for work, cancel in tuple(self._questions.items()):
            self._interrupted.add(work)
            cancel()

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        async with AsyncExitStack() as stack:
            with Timeout(self._timeout, self._clock):
                target = await stack.enter_async_context(self._transport.open())
                client = self._create_client(watch_end(target, self.report_loss))
                await stack.enter_async_context(client)
            yield client

    async def _pause(self, seconds: float) -> None:
        self._due = self._clock.monotonic() + seconds
        timer = self._clock.call_later(seconds, self._changed.set)
        try:
            while not self._is_stopping and self._clock.monotonic() < self._due:
                await self._changed.wait()
                self._changed.clear()
        finally:
            timer.cancel()

    def _describe(self, error: Exception) -> str:
        cause = find_cause(error)
        if isinstance(cause, TimeoutError) and not str(cause):
            text = f"it did not answer within {format_count(self._timeout, 'second')}"
        else:
            text = describe_error(cause)
        notes = [note for source in (error, cause) for note in getattr(source, "__notes__", ())]
        return self._transport.redact("\n".join(dict.fromkeys((text, *notes))))[:_LONGEST_PROBLEM]
