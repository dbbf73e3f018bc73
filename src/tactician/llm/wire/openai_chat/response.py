"""Responses of the `openai-chat` format, whole and as a stream.

Source: the OpenAI API reference, "Chat completion" and "Chat completion chunk".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import from_json

from tactician.errors import MalformedResponseError, ModelError
from tactician.llm.messages import AssistantMessage, AssistantPart, Text, Thinking, ToolCall
from tactician.llm.model import Delta, FinishReason, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.usage import Usage
from tactician.llm.wire.decoding import (
    create_openai_error,
    expect_count,
    expect_counts,
    expect_mapping,
    expect_mappings,
    expect_string,
)
from tactician.llm.wire.openai_chat.provider_items import PartialItems, collect_items

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",  # Mistral
    "insufficient_system_resource": "length",  # DeepSeek
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_BROKEN_OFF = "error"
"""Finish reason of an answer that an error has ended: OpenRouter's page "Streaming", handling errors."""


def decode(body: object, model: str = "") -> ModelResponse:
    """Return the response in a body.

    Raises:
        MalformedResponseError: when the body is not a chat completion.
        ModelError: of the class that matches the failure, when the body is an error with the status 200.
    """
    try:
        if not isinstance(body, dict):
            raise TypeError("it is no JSON object")
        match body:
            case {"choices": [dict(choice), *_]}:
                if choice.get("finish_reason") == _BROKEN_OFF:
                    raise _create_broken_off_error(choice, body, model)
                return _decode(body, choice, model)
            case {"error": error} if error and not body.get("choices"):
                raise create_openai_error(error, model)
        raise TypeError("it has no choice")
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise MalformedResponseError(
            f"{model or 'the model'}: the answer is not a chat completion ({error!r}): {str(body)[:300]}", model=model
        ) from error


def _create_broken_off_error(choice: Mapping[str, object], body: Mapping[str, object], model: str) -> ModelError:
    error = body.get("error") or choice.get("error")
    return create_openai_error(error or "the provider broke the answer off, and gave no reason", model)


def _decode(body: Mapping[str, object], choice: Mapping[str, object], model: str) -> ModelResponse:
    message = expect_mapping(choice["message"])
    parts: list[AssistantPart] = [*_prose_parts(*_split_prose(message)), *collect_items(message)]
    for call in expect_mappings(message.get("tool_calls") or ()):
        decoded = _decode_call(call)
        parts += decoded, *collect_items(call, decoded.id)
    answered_by = expect_string(body.get("model") or "")
    return ModelResponse(
        AssistantMessage(tuple(parts)),
        _usage(body.get("usage"), model, answered_by),
        _FINISH_REASONS.get(str(choice.get("finish_reason")), "stop"),
        answered_by,
        expect_string(body.get("id") or ""),
    )


def _prose_parts(thinking: str, text: str) -> tuple[AssistantPart, ...]:
    if not thinking:
        return (Text(text),) if text else ()
    return (Thinking(thinking), Text(text)) if text else (Thinking(thinking),)


def _split_prose(message: Mapping[str, object]) -> tuple[str, str]:
    """Return the thinking and the text of a message or a delta."""
    thinking = message.get("reasoning_content") or message.get("reasoning") or ""
    content = message.get("content") or message.get("refusal") or ""
    if not isinstance(thinking, str):
        raise TypeError("thinking is a string")
    if isinstance(content, str):  # nearly always: this runs for every token
        return thinking, content
    pieces = expect_mappings(content)
    thoughts = "".join(
        _read_thinking(piece.get("thinking") or "") for piece in pieces if piece.get("type") == "thinking"
    )
    text = "".join(expect_string(piece.get("text") or "") for piece in pieces if piece.get("type") == "text")
    return thinking + thoughts, text


def _read_thinking(thinking: object) -> str:
    """Return the text of a `thinking` part, which Mistral divides into parts again."""
    if isinstance(thinking, str):
        return thinking
    return "".join(expect_string(piece.get("text") or "") for piece in expect_mappings(thinking))


def _decode_call(call: Mapping[str, object]) -> ToolCall:
    function = expect_mapping(call["function"])
    return ToolCall(
        expect_string(call.get("id") or ""),
        expect_string(function["name"]),
        expect_string(function.get("arguments") or "{}"),
    )


def _usage(usage: object, model: str, answered_by: str) -> Usage:
    if not isinstance(usage, dict):
        return Usage(requests=1, model=model, answered_by=answered_by)
    sent, written, total = expect_counts(usage, "prompt_tokens", "completion_tokens", "total_tokens")
    read, thought = usage.get("prompt_cache_hit_tokens"), 0  # DeepSeek's name
    if details := usage.get("prompt_tokens_details"):
        cached = expect_mapping(details).get("cached_tokens")
        read = read if cached is None else cached
    if details := usage.get("completion_tokens_details"):
        thought = expect_count(expect_mapping(details).get("reasoning_tokens"))
    return Usage(
        input_tokens=sent,
        # xAI and Gemini count thinking only in the total.
        output_tokens=max(written, total - sent),
        cache_read_tokens=0 if read is None else expect_count(read),
        requests=1,
        reasoning_tokens=thought,
        model=model,
        answered_by=answered_by,
    )


# The stream.


class ChatStreamDecoder:
    """`StreamDecoder` for chat completion chunks."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._items = PartialItems()
        self._calls = _PartialCalls()
        self._usage = Usage(requests=1, model=model)
        self._finish: FinishReason | None = None
        self._served_by = ""
        self._id = ""

    def feed(self, data: str) -> Sequence[Delta]:
        """Return the deltas in an event.

        Raises:
            MalformedResponseError: when the event is not a chat completion chunk.
            ModelError: of the class that matches the failure, when the event is an error.
        """
        if data == "[DONE]":
            return ()
        try:
            return self.feed_chunk(from_json(data, cache_strings="keys"))
        # A value of the wrong type has no `get`.
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: an event of the stream is not a chat completion chunk: {data[:300]}", model=self._model
            ) from error

    def feed_chunk(self, chunk: Mapping[str, object]) -> Sequence[Delta]:
        """Return the deltas in a chunk that is already parsed."""
        choices = chunk.get("choices")
        if not choices and (error := chunk.get("error")):
            raise create_openai_error(error, self._model)
        if not self._served_by:
            self._served_by = expect_string(chunk.get("model") or "")
        self._id = self._id or expect_string(chunk.get("id") or "")
        if (usage := chunk.get("usage")) is not None:
            self._usage = _usage(usage, self._model, self._served_by)
        if not isinstance(choices, list):
            raise TypeError("a chunk has choices")
        deltas: list[Delta] = []
        for choice in choices:
            if reason := choice.get("finish_reason"):
                if reason == _BROKEN_OFF:
                    raise _create_broken_off_error(choice, chunk, self._model)
                self._finish = _FINISH_REASONS.get(str(reason), "stop")
            delta = choice.get("delta") or {}
            text = delta.get("content")
            if text and len(delta) == 1 and isinstance(text, str):  # nearly always: this runs for every token
                self._text.append(text)
                deltas.append(TextDelta(text))
            else:
                deltas += self._deltas(delta)
        return deltas

    def _deltas(self, delta: Mapping[str, object]) -> Iterator[Delta]:
        thinking, text = _split_prose(delta)
        if thinking:
            self._thinking.append(thinking)
            yield ThinkingDelta(thinking)
        if text:
            self._text.append(text)
            yield TextDelta(text)
        self._items.add(delta)
        for call in expect_mappings(delta.get("tool_calls") or ()):
            yield self._calls.add(call)

    def response(self) -> ModelResponse:
        """Combine everything received into a response.

        Raises:
            MalformedResponseError: when the stream ended before the answer was complete.
        """
        if self._finish is None:
            raise MalformedResponseError(
                f"{self._model}: the stream broke off before the answer ended", model=self._model
            )
        prose = _prose_parts("".join(self._thinking), "".join(self._text))
        parts = (*prose, *self._items.assemble(), *self._calls.assemble())
        return ModelResponse(AssistantMessage(parts), self._usage, self._finish, self._served_by, self._id)


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    items: PartialItems = field(default_factory=PartialItems)


class _PartialCalls:
    """Tool calls that are still arriving, by their number."""

    def __init__(self) -> None:
        self._calls: dict[int, _PartialCall] = {}
        self._numbers: dict[object, int] = {}

    def add(self, piece: Mapping[str, object]) -> ToolCallDelta:
        """Add a piece of a call."""
        function = expect_mapping(piece.get("function") or {})
        identity, name = expect_string(piece.get("id") or ""), expect_string(function.get("name") or "")
        arguments = expect_string(function.get("arguments") or "")
        number = self._number(piece.get("index"), identity, name)
        call = self._calls[number]
        call.id = call.id or identity
        call.name = call.name or name
        call.arguments.append(arguments)
        call.items.add(piece)
        return ToolCallDelta(number, call.id, call.name, arguments)

    def _number(self, index: object, identity: str, name: str) -> int:
        """Return the number of the call that a piece belongs to.

        Gemini numbers none, or all alike: there, a new id means a new call.
        """
        if not isinstance(index, int | None):
            raise TypeError(f"not the index of a tool call: {index!r}")
        number = self._numbers.get(index)
        if number is not None and not self._is_another(self._calls[number], index, identity, name):
            return number
        number = index if index is not None and index not in self._calls else max(self._calls, default=-1) + 1
        self._numbers[index] = number
        self._calls[number] = _PartialCall()
        return number

    @staticmethod
    def _is_another(call: _PartialCall, index: int | None, identity: str, name: str) -> bool:
        return bool(name and call.name) and (identity != call.id if identity else index is None)

    def assemble(self) -> Iterator[AssistantPart]:
        """Yield all calls, each with its items."""
        for _, call in sorted(self._calls.items()):
            yield ToolCall(call.id, call.name, "".join(call.arguments) or "{}")
            yield from call.items.assemble(call.id)
