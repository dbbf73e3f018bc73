"""The answers of pydantic-ai in our types, whole and piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from pydantic_ai import messages as theirs
from pydantic_ai.models import StreamedResponse
from pydantic_core import to_json

from tactician.errors import MalformedResponseError
from tactician.llm.bridge.parts import decode_parts
from tactician.llm.messages import AssistantMessage
from tactician.llm.model import Delta, FinishReason, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.usage import Usage

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_call": "tool_calls",
}


def decode(answer: theirs.ModelResponse, model: str) -> ModelResponse:
    """The answer in our types.

    Raises:
        MalformedResponseError: when it broke off, or the provider says that it failed.
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
    return Usage(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens, 1, model=model)


class StreamDecoder:
    """Turns the events of a stream into deltas."""

    def __init__(self) -> None:
        self._calls: dict[int, ToolCallDelta] = {}

    def feed(self, event: theirs.ModelResponseStreamEvent) -> Delta | None:
        """The delta in an event, if it has one."""
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
        if isinstance(delta, theirs.ToolCallPartDelta) and (known := self._calls.get(index)) is not None:
            return self._call(index, known.id, known.name, delta.args_delta)
        return None

    def _call(self, index: int, id: str, name: str, arguments: object) -> ToolCallDelta:
        """A delta of the call in the part at an index; ours are numbered without the other parts."""
        known = self._calls.setdefault(index, ToolCallDelta(len(self._calls), id, name))
        text = arguments if isinstance(arguments, str) else to_json(arguments).decode() if arguments else ""
        return ToolCallDelta(known.index, known.id, known.name, text)


@asynccontextmanager
async def opened(
    stream: AbstractAsyncContextManager[StreamedResponse], seconds: float
) -> AsyncIterator[StreamedResponse]:
    """The stream, opened in time."""
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(seconds):
            events = await stack.enter_async_context(stream)
        yield events


async def next_in_time(
    events: AsyncIterator[theirs.ModelResponseStreamEvent], seconds: float
) -> theirs.ModelResponseStreamEvent | None:
    """The next event, in time; `None` after the last one."""
    async with asyncio.timeout(seconds):
        return await anext(events, None)
