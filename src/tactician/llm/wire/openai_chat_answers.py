"""What the `openai-chat` wire format answers, whole or in chunks.

Source: the OpenAI API reference, "Chat completion object" and "Chat completion chunk"; DeepSeek's and Mistral's
references for thinking, which OpenAI does not show here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic_core import from_json

from tactician.errors import MalformedResponseError
from tactician.llm.messages import AssistantMessage, AssistantPart, Text, Thinking, ToolCall
from tactician.llm.model import Delta, FinishReason, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.usage import Usage
from tactician.llm.wire.failures import failure
from tactician.llm.wire.values import count, mapping, mappings, string

_FINISH_REASONS: dict[object, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",  # Mistral
    "insufficient_system_resource": "length",  # DeepSeek
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


def decode(body: object, model: str = "") -> ModelResponse:
    """The response in a body.

    Raises:
        MalformedResponseError: when the body is not a chat completion.
        ModelError: of the kind that fits the failure, when it is an error with the status 200.
    """
    try:
        completion = mapping(body)
        if "choices" not in completion and (error := completion.get("error")):
            raise failure(error, model)
        return _decode(completion)
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise MalformedResponseError(
            f"{model or 'the model'}: the answer is not a chat completion ({error!r}): {str(body)[:300]}", model=model
        ) from error


def _decode(body: Mapping[str, object]) -> ModelResponse:
    choice = mappings(body["choices"])[0]
    message = mapping(choice["message"])
    thinking, text = _said(message)
    calls = (_call(call) for call in mappings(message.get("tool_calls") or ()))
    return ModelResponse(
        AssistantMessage((*_parts(thinking, text), *calls)),
        _usage(body.get("usage")),
        _finish_reason(choice.get("finish_reason")),
        string(body.get("model") or ""),
    )


def _parts(thinking: str, text: str) -> Iterator[AssistantPart]:
    if thinking:
        yield Thinking(thinking)
    if text:
        yield Text(text)


def _said(message: Mapping[str, object]) -> tuple[str, str]:
    """The thinking and the text of a message or a delta."""
    thinking = message.get("reasoning_content") or message.get("reasoning") or ""
    content = message.get("content") or message.get("refusal") or ""
    if not isinstance(thinking, str):
        raise TypeError("thinking is a string")
    if isinstance(content, str):  # nearly always: this runs for every token
        return thinking, content
    pieces = mappings(content)
    thoughts = "".join(_thought(piece.get("thinking") or "") for piece in pieces if piece.get("type") == "thinking")
    text = "".join(string(piece.get("text") or "") for piece in pieces if piece.get("type") == "text")
    return thinking + thoughts, text


def _thought(thinking: object) -> str:
    """The text of a `thinking` part, which Mistral divides into parts again."""
    if isinstance(thinking, str):
        return thinking
    return "".join(string(piece.get("text") or "") for piece in mappings(thinking))


def _call(call: Mapping[str, object]) -> ToolCall:
    function = mapping(call["function"])
    arguments = string(function.get("arguments") or "{}")
    return ToolCall(string(call.get("id") or ""), string(function["name"]), arguments)


def _finish_reason(reason: object) -> FinishReason:
    return _FINISH_REASONS.get(reason, "stop") if isinstance(reason, str) else "stop"


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage(requests=1)
    details = mapping(usage.get("prompt_tokens_details") or {})
    thought = mapping(usage.get("completion_tokens_details") or {})
    read, sent = details.get("cached_tokens"), count(usage.get("prompt_tokens"))
    return Usage(
        input_tokens=sent,
        # xAI and Gemini count thinking only in the total.
        output_tokens=max(count(usage.get("completion_tokens")), count(usage.get("total_tokens")) - sent),
        cache_read_tokens=count(usage.get("prompt_cache_hit_tokens") if read is None else read),  # DeepSeek's name
        requests=1,
        reasoning_tokens=count(thought.get("reasoning_tokens")),
    )


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class StreamDecoder:
    """Turns the data of each event into deltas, and all of them into one response."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: dict[int, _PartialCall] = {}
        self._usage = Usage(requests=1)
        self._finish: FinishReason | None = None
        self._served_by = ""

    def feed(self, data: str) -> Iterator[Delta]:
        """The deltas in one event.

        Raises:
            MalformedResponseError: when the event is not a chat completion chunk.
            ModelError: of the kind that fits the failure, when the event is an error.
        """
        if data == "[DONE]":
            return
        try:
            yield from self.feed_chunk(from_json(data))
        # Whatever is not what it should be has no `get`.
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: an event of the stream is not a chat completion chunk: {data[:300]}", model=self._model
            ) from error

    def feed_chunk(self, chunk: Mapping[str, object]) -> Iterator[Delta]:
        """The deltas in one chunk that is already parsed."""
        choices = chunk.get("choices")
        if choices is None and (error := chunk.get("error")):
            raise failure(error, self._model)
        if not self._served_by:
            self._served_by = string(chunk.get("model") or "")
        if (usage := chunk.get("usage")) is not None:
            self._usage = _usage(usage)
        if not isinstance(choices, list):
            raise TypeError("a chunk has choices")
        for choice in choices:
            if reason := choice.get("finish_reason"):
                self._finish = _finish_reason(reason)
            yield from self._deltas(choice.get("delta") or {})

    def _deltas(self, delta: Mapping[str, object]) -> Iterator[Delta]:
        thinking, text = _said(delta)
        if thinking:
            self._thinking.append(thinking)
            yield ThinkingDelta(thinking)
        if text:
            self._text.append(text)
            yield TextDelta(text)
        if calls := delta.get("tool_calls"):
            for position, call in enumerate(mappings(calls)):
                yield self._call_delta(position, call)

    def _call_delta(self, position: int, call: Mapping[str, object]) -> ToolCallDelta:
        index = call.get("index", position)
        function = mapping(call.get("function") or {})
        if not isinstance(index, int):
            raise TypeError(f"not a tool call: {call!r}")
        partial = self._calls.setdefault(index, _PartialCall())
        partial.id = partial.id or string(call.get("id") or "")
        partial.name = partial.name or string(function.get("name") or "")
        arguments = string(function.get("arguments") or "")
        partial.arguments.append(arguments)
        return ToolCallDelta(index, partial.id, partial.name, arguments)

    def response(self) -> ModelResponse:
        """All that came, as one response.

        Raises:
            MalformedResponseError: when the stream ended before the answer did.
        """
        if self._finish is None:
            raise MalformedResponseError(
                f"{self._model}: the stream broke off before the answer ended", model=self._model
            )
        calls = (ToolCall(c.id, c.name, "".join(c.arguments) or "{}") for _, c in sorted(self._calls.items()))
        parts = (*_parts("".join(self._thinking), "".join(self._text)), *calls)
        return ModelResponse(AssistantMessage(parts), self._usage, self._finish, self._served_by)
