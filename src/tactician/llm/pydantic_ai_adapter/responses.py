"""Conversion of answers, streams and errors of pydantic-ai to our types."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from pydantic_ai import exceptions
from pydantic_ai import messages as theirs
from pydantic_ai.models import Model, StreamedResponse
from pydantic_core import to_json

from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
)
from tactician.llm.http_errors import find_error_class
from tactician.llm.messages import AssistantMessage
from tactician.llm.model import Delta, FinishReason, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.pydantic_ai_adapter.parts import decode_parts
from tactician.llm.usage import Usage

KNOWN_ERRORS = (
    exceptions.AgentRunError,
    exceptions.FallbackExceptionGroup,
    exceptions.UserError,
    NotImplementedError,
    TimeoutError,
)

# The first that matches counts: the special ones come before the general ones.
_BY_KIND: tuple[tuple[type[Exception], type[ModelError]], ...] = (
    (exceptions.ModelAuthenticationError, AuthenticationError),
    (exceptions.ModelNotFoundError, ModelNotFoundError),
    (exceptions.ModelRequestRejectedError, ModelRequestError),
    (exceptions.ModelRateLimitError, RateLimitError),
    (exceptions.ModelQuotaExceededError, RateLimitError),
    (exceptions.ModelTimeoutError, ModelTimeoutError),
    (exceptions.ModelRequestTimeout, ModelTimeoutError),
    (exceptions.ModelConnectionError, ModelConnectionError),
    (exceptions.ModelAPIError, ModelServerError),
    (exceptions.ContentFilterError, ContentFilterError),
    (exceptions.UnexpectedModelBehavior, MalformedResponseError),
    (exceptions.UserError, ModelRequestError),
    (NotImplementedError, ModelRequestError),
)
_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_call": "tool_calls",
}


def decode(answer: theirs.ModelResponse, model: str) -> ModelResponse:
    """Return the answer in our types.

    Raises:
        MalformedResponseError: when the answer is incomplete, or the provider reports a failure.
    """
    if answer.state != "complete" or answer.finish_reason == "error":
        raise MalformedResponseError(
            f"{model}: the answer did not come to its end ({answer.finish_reason or answer.state})", model=model
        )
    system = answer.provider_name or model.partition(":")[0]
    message = AssistantMessage(tuple(decode_parts(answer.parts, system)))
    usual: FinishReason = "tool_calls" if message.tool_calls else "stop"
    reason = _FINISH_REASONS.get(answer.finish_reason or "", usual)
    return ModelResponse(message, _usage(answer, model), reason, answer.model_name or "")


def _usage(answer: theirs.ModelResponse, model: str) -> Usage:
    used = answer.usage
    return Usage(
        used.input_tokens,
        used.output_tokens,
        used.cache_read_tokens,
        used.cache_write_tokens,
        1,
        used.output_reasoning_tokens,
        model=model,
        answered_by=answer.model_name or "",
    )


class PydanticAiStreamDecoder:
    """Decoder of the events of a stream into deltas."""

    def __init__(self) -> None:
        self._calls: dict[int, ToolCallDelta] = {}

    def feed(self, event: theirs.ModelResponseStreamEvent) -> Delta | None:
        """Return the delta in an event, or `None`."""
        if isinstance(event, theirs.PartStartEvent):
            return self._start(event.index, event.part)
        if isinstance(event, theirs.PartDeltaEvent):
            return self._continue(event.index, event.delta)
        return None

    def _start(self, index: int, part: theirs.ModelResponsePart) -> Delta | None:
        if isinstance(part, theirs.TextPart):
            return TextDelta(part.content) if part.content else None
        if isinstance(part, theirs.ThinkingPart):
            return ThinkingDelta(part.content) if part.content else None
        if isinstance(part, theirs.ToolCallPart):
            return self._call(index, part.tool_call_id, part.tool_name, part.args)
        return None

    def _continue(self, index: int, delta: theirs.ModelResponsePartDelta) -> Delta | None:
        if isinstance(delta, theirs.TextPartDelta):
            return TextDelta(delta.content_delta) if delta.content_delta else None
        if isinstance(delta, theirs.ThinkingPartDelta):
            return ThinkingDelta(delta.content_delta) if delta.content_delta else None
        if isinstance(delta, theirs.ToolCallPartDelta) and (started_call := self._calls.get(index)) is not None:
            return self._call(index, started_call.id, started_call.name, delta.args_delta)
        return None

    def _call(self, index: int, id: str, name: str, arguments: object) -> ToolCallDelta:
        """Return a delta of the call in the part at an index; our calls are numbered without other parts."""
        started_call = self._calls.setdefault(index, ToolCallDelta(len(self._calls), id, name))
        text = arguments if isinstance(arguments, str) else to_json(arguments).decode() if arguments else ""
        return ToolCallDelta(started_call.index, started_call.id, started_call.name, text)


@asynccontextmanager
async def open_stream(
    stream: AbstractAsyncContextManager[StreamedResponse], seconds: float
) -> AsyncIterator[StreamedResponse]:
    """Open the stream within the time limit."""
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(seconds):
            events = await stack.enter_async_context(stream)
        yield events


async def next_event(
    events: AsyncIterator[theirs.ModelResponseStreamEvent], seconds: float
) -> theirs.ModelResponseStreamEvent | None:
    """Return the next event within the time limit, or `None` after the last event."""
    async with asyncio.timeout(seconds):
        return await anext(events, None)


# Errors.


def convert_error(error: Exception, model: Model, seconds: float) -> ModelError:
    """Return our error for one of `KNOWN_ERRORS`: by HTTP status if the error has a status, else by its class.

    Args:
        error: the error of pydantic-ai.
        model: the model that was called.
        seconds: the time limit of the call.
    """
    name = model.model_id
    if isinstance(error, exceptions.FallbackExceptionGroup):
        return convert_error(error.exceptions[-1], model, seconds)
    if type(error) is TimeoutError:
        return ModelTimeoutError(f"{name}: no answer within {seconds:g} s", model=name)
    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else None
    retry_after = error.retry_after if isinstance(error, exceptions.ModelAPIError) else None
    message = _without_key(f"{name}: {_explanation(error)}", model)
    return _kind(error, status)(message, model=name, status=status, retry_after=retry_after)


def _kind(error: Exception, status: int | None) -> type[ModelError]:
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return ContextLengthError
    if status is not None:
        return find_error_class(status)
    return next((ours for kind, ours in _BY_KIND if isinstance(error, kind)), ModelError)


def _explanation(error: Exception) -> str:
    if not isinstance(error, exceptions.ModelHTTPError):
        return str(error)
    body = error.body
    if isinstance(body, dict):
        body = body.get("error", body)
    message = body.get("message", body) if isinstance(body, dict) else body
    return f"HTTP {error.status_code}: {str(message)[:300]}"


def _without_key(text: str, model: Model) -> str:
    """Return the text without the keys of the model's clients: a provider may quote them."""
    for candidate in (model, *getattr(model, "models", ())):
        key = getattr(getattr(candidate.provider, "client", None), "api_key", None)
        text = text.replace(key, "***") if isinstance(key, str) and key else text
    return text
