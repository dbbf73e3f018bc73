"""Single request to a model, with its events, and the gate for the pieces of an answer that nobody may read yet."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import copy_context
from functools import partial

from tactician.llm import AssistantMessage, LanguageModel, ModelRequest, ModelResponse, ToolCall
from tactician.llm.model import TextDelta, ThinkingDelta
from tactician.llm.request_adapter import RestoreResponse, adapt_request
from tactician.loop.events import (
    PartialReceived,
    TextReceived,
    ThinkingReceived,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from tactician.loop.state import TurnState
from tactician.runs import RunContext
from tactician.text import GrowingText, describe_error


class PieceGate:
    """Gate that holds the pieces of an answer back until it is opened, and then lets all pass."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: list[Callable[[], None]] | None = []

    def emit(self, deliver: Callable[[], None]) -> None:
        """Deliver a piece; later, in the context of now, while the gate is closed."""
        if self._held is None:
            deliver()
        else:
            self._held.append(partial(copy_context().run, deliver))

    def open(self) -> None:
        """Deliver the pieces so far, and let those that follow pass."""
        held, self._held = self._held or (), None
        for deliver in held:
            deliver()


def ask(
    model: LanguageModel,
    request: ModelRequest,
    context: RunContext,
    turn: int,
    partial: Callable[[str], object],
    *,
    is_checked: bool = False,
    gate: PieceGate | None = None,
) -> Awaitable[ModelResponse]:
    """Ask the model, and return its response when that is awaited; see `receive`.

    Args:
        model: the model.
        request: the request.
        context: the context of the run.
        turn: number of the turn, for events.
        partial: function that returns the visible part of an incomplete answer; `None` for nothing new.
        is_checked: true when the answer may be refused once it is complete, so that readers get it as a whole.
        gate: gate for the pieces of the answer; they come at once, when `None`.

    Raises:
        ModelError: when the model cannot be called.
    """
    fitted, restore = adapt_request(request, model.features)
    if context.services.bus.is_observed:
        streams = context.streaming and restore is None
        pieces = _Pieces(context, partial, gate, is_checked=is_checked)
        asked = _ask_aloud(model, request, fitted, context, turn, pieces, streams=streams)
    else:
        asked = model.generate(fitted)
    return asked if restore is None else _restore(asked, restore)


def receive(response: ModelResponse, model: LanguageModel, context: RunContext, state: TurnState) -> AssistantMessage:
    """Return the message of a response, with ids of its calls that no earlier call has, and count its usage."""
    usage = response.usage
    context.tally.add(usage if usage.model else usage.attribute_to(model.name))
    message = response.message
    return state.distinguish_calls(message) if message.tool_calls else message


def name_request(call: ToolCall, context: RunContext) -> str:
    """Return the id of the request for an answer to a call.

    It has the attempt of the action around it: an approval must not count for the call of a later attempt, to which a
    model may give the same id.
    """
    return call.id if context.checkpoint is None else f"{context.checkpoint.attempt_path}/{call.id}"


async def _restore(asked: Awaitable[ModelResponse], restore: RestoreResponse) -> ModelResponse:
    return restore(await asked)


async def _ask_aloud(
    model: LanguageModel,
    request: ModelRequest,
    fitted: ModelRequest,
    context: RunContext,
    turn: int,
    pieces: _Pieces,
    *,
    streams: bool,
) -> ModelResponse:
    context.emit(TurnStarted, turn=turn, model=model.name, request=request, is_checked=pieces.is_checked)
    observed = fitted.with_observer(context.emitter)
    now = context.clock.monotonic
    started = now()
    try:
        response = await (_stream_response(model, observed, pieces) if streams else model.generate(observed))
    except BaseException as error:
        seconds, failure = now() - started, describe_error(error)
        context.emit(TurnFailed, turn=turn, model=model.name, seconds=seconds, error=failure)
        raise
    context.emit(TurnCompleted, turn=turn, response=response, seconds=now() - started)
    return response


class _Pieces:
    """Pieces of the answers of a run, for its listeners.

    Attributes:
        is_checked: true when the answer may be refused.
    """

    def __init__(
        self, context: RunContext, partial: Callable[[str], object], gate: PieceGate | None, *, is_checked: bool
    ) -> None:
        self.is_checked = is_checked or gate is not None or context.is_checked
        self._partial = partial
        self._gate = gate
        self._emitter = context.emitter
        self._level = len(context.path) + 1 if is_checked else context.piece_level  # or no run's level
        self._shown: object = None

    def emit_text(self, text: str) -> None:
        """Emit more characters of an answer."""
        self._emit(lambda: self._emitter.emit(TextReceived, text=text, answer_level=self._level))

    def emit_thinking(self, text: str) -> None:
        """Emit more characters of thinking."""
        self._emit(lambda: self._emitter.emit(ThinkingReceived, text=text, answer_level=self._level))

    def emit_partial(self, text: str | None) -> None:
        """Emit the object that the beginning of an answer means, when it is another than before."""
        if text is not None and (value := self._partial(text)) is not None and value != self._shown:
            self._shown = value
            self._emit(lambda: self._emitter.emit(PartialReceived, value=value, answer_level=self._level))

    def _emit(self, deliver: Callable[[], None]) -> None:
        if self._gate is None:
            deliver()
        else:
            self._gate.emit(deliver)


async def _stream_response(model: LanguageModel, request: ModelRequest, pieces: _Pieces) -> ModelResponse:
    response, answer, is_object = ModelResponse(AssistantMessage()), GrowingText(), request.output is not None
    items = model.stream(request)
    try:
        async for item in items:
            if isinstance(item, TextDelta):
                pieces.emit_text(item.text)
                if is_object:
                    pieces.emit_partial(answer.add(item.text))
            elif isinstance(item, ThinkingDelta):
                pieces.emit_thinking(item.text)
            elif isinstance(item, ModelResponse):
                if is_object:
                    pieces.emit_partial(answer.end())
                response = item
    finally:
        if isinstance(items, AsyncGenerator):  # when the run is cancelled, the model has to stop
            await items.aclose()
    return response
