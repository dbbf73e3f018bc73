"""Run of a client: started or resumed, followed by its events, and ended when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator
from contextlib import aclosing, suppress
from typing import Final, TypeAlias

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    RunAgentInput,
    RunErrorEvent,
    SubagentErrorEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.encoder import EventEncoder

from tactician.clock import Timeout
from tactician.errors import TacticianError
from tactician.loggers import get_logger
from tactician.runs import RunCompleted, RunStatus
from tactician.secret_pieces import PieceMasking
from tactician.secrets import Masking
from tactician.serve.ag_ui.requested_run import RequestedRun
from tactician.serve.ag_ui.translator import EventTranslator
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.api.serving.sse import COMMENT
from tactician.text import describe_error

_Piece: TypeAlias = TextMessageContentEvent | ReasoningMessageContentEvent
_logger = get_logger(__name__)
_QUIET: Final = 15.0
"""Seconds after which a client hears that nothing has happened, so that the connection stays open."""
_MOST_UNREAD: Final = 10_000
"""Number of events that wait for a client. A client that is further behind gets no more of them."""
_LEFT: Final = "the AG-UI client left"
_TOO_SLOW: Final = "The client reads too slowly. The run {} continues without it."


class EventMasking:
    """Masks for the events of a run of a client, whose texts come in pieces.

    A key may be split over two pieces. So the last word of a piece waits for its end, in the next piece or the last.

    Args:
        masking: the masks.
        frontend: names of the tools that the client itself runs, which get their arguments as they are.
    """

    def __init__(self, masking: Masking, frontend: Collection[str]) -> None:
        self._masking = masking
        self._frontend = frozenset(frontend)
        self._frontend_calls: set[str] = set()
        self._texts: dict[str, tuple[PieceMasking, _Piece]] = {}

    def apply(self, events: Iterable[BaseEvent]) -> Iterator[BaseEvent]:
        """Yield the events as the client gets them."""
        for event in events:
            match event:
                case TextMessageContentEvent() | ReasoningMessageContentEvent():
                    text, _ = self._texts.get(event.message_id) or (PieceMasking(self._masking), event)
                    self._texts[event.message_id] = text, event
                    if masked := text.add(event.delta):
                        yield event.model_copy(update={"delta": masked})
                case TextMessageEndEvent() | ReasoningMessageEndEvent():
                    yield from self._finish(event)
                    yield event
                case _:
                    yield self._mask_whole(event)

    def _finish(self, event: TextMessageEndEvent | ReasoningMessageEndEvent) -> Iterator[BaseEvent]:
        """Yield the rest of a message."""
        text, last = self._texts.pop(event.message_id, (None, None))
        if text is not None and last is not None and (rest := text.finish()):
            yield last.model_copy(update={"delta": rest})

    def _mask_whole(self, event: BaseEvent) -> BaseEvent:
        mask = self._masking.mask
        match event:
            case RunErrorEvent() | SubagentErrorEvent():
                return event.model_copy(update={"message": mask(event.message)})
            case ToolCallResultEvent() if isinstance(event.content, str):
                return event.model_copy(update={"content": mask(event.content)})
            case ToolCallStartEvent() if event.tool_call_name in self._frontend:
                self._frontend_calls.add(event.tool_call_id)
            case ToolCallArgsEvent() if event.tool_call_id not in self._frontend_calls:
                return event.model_copy(update={"delta": mask(event.delta)})
        return event


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
