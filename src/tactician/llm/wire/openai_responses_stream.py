"""The stream of the `openai-responses` wire format.

Source: the OpenAI API reference, "Streaming events".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic_core import from_json

from tactician.errors import MalformedResponseError
from tactician.llm.model import Delta, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.wire.failures import failure
from tactician.llm.wire.openai_responses_answers import decode
from tactician.llm.wire.values import mapping, string

_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THINKING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    name: str
    told: bool = False


class StreamDecoder:
    """Turns the data of each event into deltas, and all of them into one response."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._calls: dict[object, _Call] = {}
        self._items: dict[int, Mapping[str, object]] = {}
        self._final: Mapping[str, object] | None = None

    def feed(self, data: str) -> Sequence[Delta]:
        """The deltas in one event.

        Raises:
            MalformedResponseError: when the event is not one of a response.
            ModelError: of the kind that fits the failure, when the event is an error.
        """
        if data == "[DONE]":
            return ()
        try:
            event = mapping(from_json(data, cache_strings="keys"))
            kind = string(event["type"])
            if kind in _TEXT:  # nearly always: this runs for every token
                return (TextDelta(string(event["delta"])),)
            if kind in _THINKING:
                return (ThinkingDelta(string(event["delta"])),)
            return tuple(self._other(kind, event))
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: an event of the stream is not one of a response: {data[:300]}", model=self._model
            ) from error

    def _other(self, kind: str, event: Mapping[str, object]) -> Iterator[Delta]:
        if kind == "response.function_call_arguments.delta":
            yield self._arguments(event)
        elif kind == "response.output_item.added":
            yield from self._added(event)
        elif kind == "response.output_item.done":
            yield from self._done(event)
        elif kind == "response.reasoning_summary_part.added":
            if event.get("summary_index"):
                yield ThinkingDelta("\n\n")  # between two parts of a summary, as `decode` puts it
        elif kind in _ENDS:
            self._final = mapping(event["response"])
        elif kind == "error":
            raise failure(event.get("error") or event, self._model)

    def _added(self, event: Mapping[str, object]) -> Iterator[Delta]:
        item = mapping(event["item"])
        if item.get("type") == "function_call":
            identity = string(item.get("call_id") or item["id"])
            call = _Call(len(self._calls), identity, string(item["name"]))
            self._calls[event.get("output_index")] = call
            yield ToolCallDelta(call.index, call.id, call.name)

    def _arguments(self, event: Mapping[str, object]) -> Delta:
        call = self._calls[event.get("output_index")]
        call.told = True
        return ToolCallDelta(call.index, call.id, call.name, string(event["delta"]))

    def _done(self, event: Mapping[str, object]) -> Iterator[Delta]:
        item = mapping(event["item"])
        place = event.get("output_index")
        self._items[place if isinstance(place, int) else len(self._items)] = item
        if item.get("type") != "function_call":
            return
        if place not in self._calls:
            yield from self._added(event)
        call = self._calls[place]
        if not call.told:  # some servers send no deltas
            yield ToolCallDelta(call.index, call.id, call.name, string(item.get("arguments") or "{}"))

    def response(self) -> ModelResponse:
        """All that came, as one response.

        Raises:
            MalformedResponseError: when the stream ended before the answer did.
            ModelError: of the kind that fits the failure, when the model failed.
        """
        if self._final is None:
            raise MalformedResponseError(
                f"{self._model}: the stream broke off before the answer ended", model=self._model
            )
        final = self._final
        if not final.get("output") and self._items:  # some servers end without repeating what they sent
            final = {**final, "output": [item for _, item in sorted(self._items.items())]}
        return decode(final, self._model)
