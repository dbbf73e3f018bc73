"""Single request to a model, with its events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from time import perf_counter

from tactician.conversation import Conversation
from tactician.events import new_id
from tactician.llm import (
    AssistantMessage,
    AssistantPart,
    LanguageModel,
    Message,
    ModelRequest,
    ModelResponse,
    RestoreResponse,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    adapt_request,
)
from tactician.loop.events import (
    PartialReceived,
    TextReceived,
    ThinkingReceived,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from tactician.runs import RunContext
from tactician.text import GrowingText, describe_error


def ask(
    model: LanguageModel, request: ModelRequest, context: RunContext, turn: int, partial: Callable[[str], object]
) -> Awaitable[ModelResponse]:
    """Ask the model, and return its response when that is awaited; see `receive`.

    Args:
        model: the model.
        request: the request.
        context: the context of the run.
        turn: number of the turn, for events.
        partial: function that returns the visible part of an incomplete answer; `None` for nothing new.

    Raises:
        ModelError: when the model cannot be called.
    """
    fitted, restore = adapt_request(request, model.features)
    if context.services.bus.is_observed:
        streams = context.streaming and restore is None
        asked = _ask_aloud(model, request, fitted, context, turn, partial if streams else None)
    else:
        asked = model.generate(fitted)
    return asked if restore is None else _restore(asked, restore)


def receive(
    response: ModelResponse, model: LanguageModel, context: RunContext, conversation: Conversation
) -> AssistantMessage:
    """Return the message of a response, with distinct ids of its calls, and count its usage.

    A call with the id of an earlier call that somebody has answered gets another, as an answer is for a single call.
    A run that begins again after its answer came has no earlier call: the answer is for the call that it repeats.
    """
    usage = response.usage
    context.tally.add(usage if usage.model else usage.attribute_to(model.name))
    message = response.message
    calls = message.tool_calls
    if not calls:
        return message
    answered = _find_answered(calls, context, conversation.messages) if context.responses else set()
    return message if not answered and _are_distinct(calls) else _renumber_calls(message, answered)


def _find_answered(calls: Sequence[ToolCall], context: RunContext, earlier: Iterable[Message]) -> set[str]:
    answered = {call.id for call in calls if name_request(call, context) in context.responses}
    return answered and answered & {
        call.id for message in earlier if isinstance(message, AssistantMessage) for call in message.tool_calls
    }


def name_request(call: ToolCall, context: RunContext) -> str:
    """Return the id of the request for an answer to a call."""
    return call.id if context.checkpoint is None else f"{context.checkpoint.path}/{call.id}"


async def _restore(asked: Awaitable[ModelResponse], restore: RestoreResponse) -> ModelResponse:
    return restore(await asked)


def _are_distinct(calls: Sequence[ToolCall]) -> bool:
    ids = {call.id for call in calls}
    return len(ids) == len(calls) and "" not in ids


def _renumber_calls(message: AssistantMessage, answered: set[str]) -> AssistantMessage:
    """Return the message with an id of its own for each call that has none, or that of another call."""
    taken = {"", *answered}
    parts: list[AssistantPart] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            if part.id in taken:
                part = replace(part, id=f"call_{new_id()}")
            taken.add(part.id)
        parts.append(part)
    return AssistantMessage(tuple(parts))


async def _ask_aloud(
    model: LanguageModel,
    request: ModelRequest,
    fitted: ModelRequest,
    context: RunContext,
    turn: int,
    partial: Callable[[str], object] | None,
) -> ModelResponse:
    context.emit(TurnStarted, turn=turn, model=model.name, request=request)
    observed = fitted.with_observer(context.emitter)
    started = perf_counter()
    try:
        if partial is None:
            response = await model.generate(observed)
        else:
            response = await _stream_response(model, observed, context, partial if fitted.output is not None else None)
    except BaseException as error:
        seconds, failure = perf_counter() - started, describe_error(error)
        context.emit(TurnFailed, turn=turn, model=model.name, seconds=seconds, error=failure)
        raise
    context.emit(TurnCompleted, turn=turn, response=response, seconds=perf_counter() - started)
    return response


async def _stream_response(
    model: LanguageModel, request: ModelRequest, context: RunContext, partial: Callable[[str], object] | None
) -> ModelResponse:
    emitter, level = context.emitter, context.answer_level
    response, answer, shown = ModelResponse(AssistantMessage()), GrowingText(), None

    def show(text: str | None) -> None:
        nonlocal shown
        if partial is not None and text is not None and (value := partial(text)) is not None and value != shown:
            shown = value
            emitter.emit(PartialReceived, value=value, answer_level=level)

    items = model.stream(request)
    try:
        async for item in items:
            if isinstance(item, TextDelta):
                emitter.emit(TextReceived, text=item.text, answer_level=level)
                if partial is not None:
                    show(answer.add(item.text))
            elif isinstance(item, ThinkingDelta):
                emitter.emit(ThinkingReceived, text=item.text, answer_level=level)
            elif isinstance(item, ModelResponse):
                show(answer.end())
                response = item
    finally:
        if isinstance(items, AsyncGenerator):  # when the run is cancelled, the model has to stop
            await items.aclose()
    return response
