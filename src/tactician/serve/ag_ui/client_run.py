"""Run of a client: started or resumed, followed by its events, and ended when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from typing import Final

from ag_ui.core import BaseEvent, RunAgentInput
from ag_ui.encoder import EventEncoder

from tactician.clock import Timeout
from tactician.errors import TacticianError
from tactician.loggers import get_logger
from tactician.runs import RunCompleted, RunStatus
from tactician.serve.ag_ui.masking import EventMasking
from tactician.serve.ag_ui.requested_run import RequestedRun
from tactician.serve.ag_ui.translator import EventTranslator
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.api.serving.sse import COMMENT
from tactician.text import describe_error

_logger = get_logger(__name__)
_QUIET: Final = 15.0
"""Seconds after which a client hears that nothing has happened, so that the connection stays open."""
_MOST_UNREAD: Final = 10_000
"""Number of events that wait for a client. A client that is further behind gets no more of them."""
_LEFT: Final = "the AG-UI client left"
_TOO_SLOW: Final = "The client reads too slowly. The run {} continues without it."


class ClientRun:
    """Run of a client.

    Args:
        server: the server.
        request: what the client has sent.
        run: the run that the request is about.
        audience: the open runs of all clients, while they are streamed.
    """

    def __init__(self, server: ApiServer, request: RunAgentInput, run: RequestedRun, audience: set[ClientRun]) -> None:
        self._server = server
        self._requested = run
        self._audience = audience
        self._translator = EventTranslator(request)
        self._masking = EventMasking(server.masking, [tool.name for tool in request.tools or ()])
        self._encoder = EventEncoder()
        self._unread: asyncio.Queue[BaseEvent | None] = asyncio.Queue()
        self._is_too_slow = False

    async def stream(self) -> AsyncGenerator[str]:
        """Yield the events of the run as text. The last client that leaves before the end ends the run."""
        running = self._server.spawn(self._run())
        self._audience.add(self)
        try:
            async for event in self._read():
                yield COMMENT if event is None else self._encoder.encode(event)
            if self._is_too_slow:
                error = self._translator.fail(_TOO_SLOW.format(self._translator.run_id), "TooSlow")
                yield self._encoder.encode(error)
        finally:
            self._audience.discard(self)
            if not (running.done() or self._is_too_slow or self._server.streams.are_stopped):
                self._server.spawn(self._end(running))

    async def _read(self) -> AsyncGenerator[BaseEvent | None]:
        """Yield what the run sends; `None` when there was nothing for a while."""
        while True:
            try:
                with Timeout(_QUIET, self._server.clock):
                    event = await self._unread.get()
            except TimeoutError:
                yield None
                continue
            if event is None:
                return
            yield event

    async def _run(self) -> None:
        """Do the work, and send its events."""
        translator = self._translator
        self._send([translator.start()])
        try:
            async with aclosing(self._requested.events(translator)) as events:
                async for event in events:
                    if isinstance(event, RunCompleted):
                        self._send(translator.finish(event.result))
                    else:
                        self._send(translator.translate(event))
        except TacticianError as error:
            await self._fail(error)
        except Exception as error:
            _logger.exception("the run %s of an AG-UI client failed", translator.run_id)
            self._send([translator.fail(describe_error(error), "InternalError")])
        finally:
            self._unread.put_nowait(None)

    async def _fail(self, error: TacticianError) -> None:
        if await self._was_killed():
            self._send(self._translator.cancel())
        else:
            self._send([self._translator.fail(str(error), type(error).__name__)])

    async def _was_killed(self) -> bool:
        run_id = self._translator.run_id
        with suppress(TacticianError):
            return bool(run_id) and (await self._server.runs.find(run_id)).status is RunStatus.KILLED
        return False

    def _send(self, events: Iterable[BaseEvent]) -> None:
        for event in self._masking.apply(events):
            if not self._is_too_slow:
                self._unread.put_nowait(event)
        if not self._is_too_slow and self._unread.qsize() > _MOST_UNREAD:
            self._is_too_slow = True
            self._unread.put_nowait(None)

    async def _end(self, running: asyncio.Task[None]) -> None:
        """End a run for good, wherever it is, unless another client follows it."""
        if any(other._translator.run_id == self._translator.run_id for other in self._audience):
            return
        with suppress(TacticianError):  # it has ended, or has not begun
            await self._server.runs.cancel(self._translator.run_id, _LEFT)
        running.cancel()
