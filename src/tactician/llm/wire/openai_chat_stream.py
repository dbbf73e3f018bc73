"""The stream of the `openai-chat` wire format.

Source: the OpenAI API reference, "Chat completion chunk".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import from_json

from tactician.errors import MalformedResponseError
from tactician.llm.messages import AssistantMessage, AssistantPart, ToolCall
from tactician.llm.model import Delta, FinishReason, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.usage import Usage
from tactician.llm.wire.failures import failure
from tactician.llm.wire.openai_chat_answers import finish_reason, prose, said, usage_of
from tactician.llm.wire.openai_chat_replay import Pieces
from tactician.llm.wire.values import mapping, mappings, string


class StreamDecoder:
    """Turns the data of each event into deltas, and all of them into one response."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._kept = Pieces()
        self._calls = _PartialCalls()
        self._usage = Usage(requests=1, model=model)
        self._finish: FinishReason | None = None
        self._served_by = ""

    def feed(self, data: str) -> Sequence[Delta]:
        """The deltas in one event.

        Raises:
            MalformedResponseError: when the event is not a chat completion chunk.
            ModelError: of the kind that fits the failure, when the event is an error.
        """
        if data == "[DONE]":
            return ()
        try:
            return self.feed_chunk(from_json(data, cache_strings="keys"))
        # Whatever is not what it should be has no `get`.
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: an event of the stream is not a chat completion chunk: {data[:300]}", model=self._model
            ) from error

    def feed_chunk(self, chunk: Mapping[str, object]) -> Sequence[Delta]:
        """The deltas in one chunk that is already parsed."""
        choices = chunk.get("choices")
        if choices is None and (error := chunk.get("error")):
            raise failure(error, self._model)
        if not self._served_by:
            self._served_by = string(chunk.get("model") or "")
        if (usage := chunk.get("usage")) is not None:
            self._usage = usage_of(usage, self._model)
        if not isinstance(choices, list):
            raise TypeError("a chunk has choices")
        deltas: list[Delta] = []
        for choice in choices:
            if reason := choice.get("finish_reason"):
                self._finish = finish_reason(reason)
            delta = choice.get("delta") or {}
            text = delta.get("content")
            if text and len(delta) == 1 and isinstance(text, str):  # nearly always: this runs for every token
                self._text.append(text)
                deltas.append(TextDelta(text))
            else:
                deltas += self._deltas(delta)
        return deltas

    def _deltas(self, delta: Mapping[str, object]) -> Iterator[Delta]:
        thinking, text = said(delta)
        if thinking:
            self._thinking.append(thinking)
            yield ThinkingDelta(thinking)
        if text:
            self._text.append(text)
            yield TextDelta(text)
        self._kept.add(delta)
        for call in mappings(delta.get("tool_calls") or ()):
            yield self._calls.add(call)

    def response(self) -> ModelResponse:
        """All that came, as one response.

        Raises:
            MalformedResponseError: when the stream ended before the answer did.
        """
        if self._finish is None:
            raise MalformedResponseError(
                f"{self._model}: the stream broke off before the answer ended", model=self._model
            )
        said_so_far = prose("".join(self._thinking), "".join(self._text))
        parts = (*said_so_far, *self._kept.whole(), *self._calls.whole())
        return ModelResponse(AssistantMessage(parts), self._usage, self._finish, self._served_by)


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    kept: Pieces = field(default_factory=Pieces)


class _PartialCalls:
    """The calls that are on their way, by their number."""

    def __init__(self) -> None:
        self._calls: dict[int, _PartialCall] = {}
        self._numbers: dict[object, int] = {}

    def add(self, piece: Mapping[str, object]) -> ToolCallDelta:
        """A piece of a call."""
        function = mapping(piece.get("function") or {})
        identity, name = string(piece.get("id") or ""), string(function.get("name") or "")
        arguments = string(function.get("arguments") or "")
        number = self._number(piece.get("index"), identity, name)
        call = self._calls[number]
        call.id = call.id or identity
        call.name = call.name or name
        call.arguments.append(arguments)
        call.kept.add(piece)
        return ToolCallDelta(number, call.id, call.name, arguments)

    def _number(self, index: object, identity: str, name: str) -> int:
        """Which call the piece belongs to. Gemini numbers none, or all alike: there, another id is another call."""
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

    def whole(self) -> Iterator[AssistantPart]:
        """All calls, each with what has to be kept of it."""
        for _, call in sorted(self._calls.items()):
            yield ToolCall(call.id, call.name, "".join(call.arguments) or "{}")
            yield from call.kept.whole(call.id)
