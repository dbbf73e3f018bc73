"""Responses of the `openai-responses` format, whole and as a stream.

Source: the OpenAI API reference, "The response object" and "Streaming events".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic_core import from_json, to_json

from tactician.errors import MalformedResponseError
from tactician.llm.messages import AssistantMessage, AssistantPart, ProviderItem, Text, Thinking, ToolCall
from tactician.llm.model import Delta, FinishReason, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.usage import Usage
from tactician.llm.wire.decoding import (
    create_openai_error,
    expect_count,
    expect_mapping,
    expect_mappings,
    expect_string,
)

FORMAT = "openai-responses"
PHASE = "message_phase"
"""Type of our own item that says whether the texts after it are a commentary or the answer: both go back so."""


def decode(body: object, model: str = "") -> ModelResponse:
    """Return the response in a body.

    Raises:
        MalformedResponseError: when the body is not a response.
        ModelError: of the class that matches the failure, when the body reports a failure.
    """
    try:
        response = expect_mapping(body)
        if (error := _error(response)) is not None:
            raise create_openai_error(error, model)
        return _decode(response, model)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise MalformedResponseError(
            f"{model or 'the model'}: the answer is not a response ({error!r}): {str(body)[:300]}", model=model
        ) from error


def _error(response: Mapping[str, object]) -> object:
    """Return the error in a response, or `None`."""
    status = response.get("status")
    if status in ("failed", "cancelled"):
        return response.get("error") or {"message": f"the response is {status}"}
    return response.get("error") if "output" not in response else None


def _decode(response: Mapping[str, object], model: str) -> ModelResponse:
    parts = tuple(part for item in expect_mappings(response["output"]) for part in _parts(item))
    return ModelResponse(
        AssistantMessage(parts),
        _usage(response.get("usage"), model, expect_string(response.get("model") or "")),
        _finish_reason(response, parts),
        expect_string(response.get("model") or ""),
        expect_string(response.get("id") or ""),
    )


def _parts(item: Mapping[str, object]) -> Iterator[AssistantPart]:
    """Yield the parts of an assistant's message that an item of the output stands for."""
    kind = expect_string(item["type"])
    if kind == "message":
        if phase := item.get("phase"):
            yield ProviderItem(FORMAT, to_json({"type": PHASE, "phase": expect_string(phase)}).decode())
        yield from _message(item)
    elif kind == "function_call":
        arguments = expect_string(item.get("arguments") or "{}")
        yield ToolCall(expect_string(item.get("call_id") or item["id"]), expect_string(item["name"]), arguments)
    else:
        if kind == "reasoning" and (thinking := _read_thinking(item)):
            yield Thinking(thinking)
        yield ProviderItem(FORMAT, to_json({name: value for name, value in item.items() if value is not None}).decode())


def _message(item: Mapping[str, object]) -> Iterator[Text]:
    for part in expect_mappings(item.get("content") or ()):
        if text := part.get("text") or part.get("refusal"):
            yield Text(expect_string(text))


def _read_thinking(item: Mapping[str, object]) -> str:
    """Return the summary of the thinking; models that do not encrypt it give the whole of it."""
    pieces = expect_mappings(item.get("summary") or ()) or expect_mappings(item.get("content") or ())
    return "\n\n".join(expect_string(part["text"]) for part in pieces)


def _finish_reason(response: Mapping[str, object], parts: tuple[AssistantPart, ...]) -> FinishReason:
    if response.get("status") == "incomplete":
        reason = expect_mapping(response.get("incomplete_details") or {}).get("reason")
        return "content_filter" if reason == "content_filter" else "length"
    return "tool_calls" if any(isinstance(part, ToolCall) for part in parts) else "stop"


def _usage(usage: object, model: str, answered_by: str) -> Usage:
    if not isinstance(usage, dict):
        return Usage(requests=1, model=model, answered_by=answered_by)
    read, written = (expect_mapping(usage.get(f"{way}_tokens_details") or {}) for way in ("input", "output"))
    return Usage(
        input_tokens=expect_count(usage.get("input_tokens")),
        output_tokens=expect_count(usage.get("output_tokens")),
        cache_read_tokens=expect_count(read.get("cached_tokens")),
        cache_write_tokens=expect_count(read.get("cache_write_tokens")),
        requests=1,
        reasoning_tokens=expect_count(written.get("reasoning_tokens")),
        model=model,
        answered_by=answered_by,
    )


# The stream.

_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THINKING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    name: str
    has_deltas: bool = False


class ResponsesStreamDecoder:
    """`StreamDecoder` for the events of a response."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._calls: dict[object, _Call] = {}
        self._items: dict[int, Mapping[str, object]] = {}
        self._final: Mapping[str, object] | None = None

    def feed(self, data: str) -> Sequence[Delta]:
        """Return the deltas in an event.

        Raises:
            MalformedResponseError: when the event is not in the format of a response.
            ModelError: of the class that matches the failure, when the event is an error.
        """
        if data == "[DONE]":
            return ()
        try:
            event = expect_mapping(from_json(data, cache_strings="keys"))
            kind = expect_string(event["type"])
            if kind in _TEXT:  # nearly always: this runs for every token
                return (TextDelta(expect_string(event["delta"])),)
            if kind in _THINKING:
                return (ThinkingDelta(expect_string(event["delta"])),)
            return tuple(self._other(kind, event))
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: an event of the stream is not in the format of a response: {data[:300]}",
                model=self._model,
            ) from error

    def _other(self, kind: str, event: Mapping[str, object]) -> Iterator[Delta]:
        if kind == "response.function_call_arguments.delta":
            yield self._arguments(event)
        elif kind == "response.output_item.added":
            yield from self._add_item(event)
        elif kind == "response.output_item.done":
            yield from self._finish_item(event)
        elif kind == "response.reasoning_summary_part.added":
            if event.get("summary_index"):
                yield ThinkingDelta("\n\n")  # between two parts of a summary, as `decode` puts it
        elif kind in _ENDS:
            self._final = expect_mapping(event["response"])
        elif kind == "error":
            raise create_openai_error(event.get("error") or event, self._model)

    def _add_item(self, event: Mapping[str, object]) -> Iterator[Delta]:
        item = expect_mapping(event["item"])
        if item.get("type") == "function_call":
            identity = expect_string(item.get("call_id") or item["id"])
            call = _Call(len(self._calls), identity, expect_string(item["name"]))
            self._calls[event.get("output_index")] = call
            yield ToolCallDelta(call.index, call.id, call.name)

    def _arguments(self, event: Mapping[str, object]) -> Delta:
        call = self._calls[event.get("output_index")]
        call.has_deltas = True
        return ToolCallDelta(call.index, call.id, call.name, expect_string(event["delta"]))

    def _finish_item(self, event: Mapping[str, object]) -> Iterator[Delta]:
        item = expect_mapping(event["item"])
        place = event.get("output_index")
        self._items[place if isinstance(place, int) else len(self._items)] = item
        if item.get("type") != "function_call":
            return
        if place not in self._calls:
            yield from self._add_item(event)
        call = self._calls[place]
        if not call.has_deltas:  # some servers send no deltas
            yield ToolCallDelta(call.index, call.id, call.name, expect_string(item.get("arguments") or "{}"))

    def response(self) -> ModelResponse:
        """Combine everything received into a response.

        Raises:
            MalformedResponseError: when the stream ended before the answer was complete.
            ModelError: of the class that matches the failure, when the model failed.
        """
        if self._final is None:
            raise MalformedResponseError(
                f"{self._model}: the stream broke off before the answer ended", model=self._model
            )
        final = self._final
        if not final.get("output") and self._items:  # some servers end without repeating what they sent
            final = {**final, "output": [item for _, item in sorted(self._items.items())]}
        return decode(final, self._model)
