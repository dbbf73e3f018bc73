"""The `openai-chat` wire format: `POST /chat/completions`, as pure functions.

Source: the OpenAI API reference, "Chat completions" and "Chat completion chunk". Many providers and
local servers speak it, each with a few differences, which a `Dialect` names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic_core import from_json

from tactician.errors import MalformedResponseError
from tactician.llm.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
)
from tactician.llm.model import (
    Delta,
    FinishReason,
    ModelRequest,
    ModelResponse,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from tactician.llm.options import NO_OPTIONS
from tactician.llm.schema import without_keywords
from tactician.llm.usage import Usage
from tactician.llm.wire.dialect import DEFAULT_DIALECT, Dialect

_FINISH_REASONS: dict[object, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


def encode(
    request: ModelRequest, model: str, dialect: Dialect = DEFAULT_DIALECT, *, stream: bool = False
) -> dict[str, object]:
    """The body of the request."""
    body: dict[str, object] = {
        "model": model,
        "messages": [_encode_message(message, dialect) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
        if request.tool_choice != "auto":
            body["tool_choice"] = _encode_tool_choice(request.tool_choice)
    if request.output is not None:
        body["response_format"] = _encode_output(request, dialect)
    _encode_options(request, dialect, body)
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def _encode_message(message: Message, dialect: Dialect) -> dict[str, object]:
    if isinstance(message, UserMessage):
        content = message.content
        return {
            "role": "user",
            "content": content if isinstance(content, str) else [_encode_part(part) for part in content],
        }
    if isinstance(message, ToolResult):
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if isinstance(message, SystemMessage):
        return {"role": dialect.system_role, "content": message.text}
    return _encode_assistant(message)


def _encode_part(part: UserPart) -> dict[str, object]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": part.location}}


def _encode_assistant(message: AssistantMessage) -> dict[str, object]:
    encoded: dict[str, object] = {"role": "assistant", "content": message.text or None}
    if calls := message.tool_calls:
        encoded["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return encoded


def _encode_tool_choice(choice: str) -> object:
    return choice if choice in ("none", "required") else {"type": "function", "function": {"name": choice}}


def _encode_output(request: ModelRequest, dialect: Dialect) -> dict[str, object]:
    assert request.output is not None
    schema = without_keywords(request.output.schema, dialect.refused_keywords)
    definition: dict[str, object] = {"name": request.output.name, "schema": schema}
    if dialect.strict and request.output.strict:
        definition["strict"] = True
    return {"type": "json_schema", "json_schema": definition}


def _encode_options(request: ModelRequest, dialect: Dialect, body: dict[str, object]) -> None:
    options = request.options
    if options is NO_OPTIONS:
        return
    values: dict[str, object] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        dialect.max_tokens: options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
    }
    body.update({name: value for name, value in values.items() if value is not None})


def decode(body: object, model: str = "") -> ModelResponse:
    """The response in a body.

    Raises:
        MalformedResponseError: when the body is not a chat completion.
    """
    try:
        return _decode(body)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise MalformedResponseError(
            f"{model or 'the model'}: the answer is not a chat completion ({error!r}): {str(body)[:300]}", model=model
        ) from error


def _decode(body: object) -> ModelResponse:
    if not isinstance(body, dict):
        raise TypeError(f"a JSON object is needed, not {type(body).__name__}")
    choice = body["choices"][0]
    message = choice["message"]
    parts: list[AssistantPart] = []
    if thinking := message.get("reasoning_content") or message.get("reasoning"):
        parts.append(Thinking(_string(thinking)))
    if text := message.get("content") or message.get("refusal"):
        parts.append(Text(_string(text)))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = _string(function.get("arguments") or "{}")
        parts.append(ToolCall(_string(call.get("id") or ""), _string(function["name"]), arguments))
    return ModelResponse(
        AssistantMessage(tuple(parts)),
        _decode_usage(body.get("usage")),
        _FINISH_REASONS.get(choice.get("finish_reason"), "stop"),
        body.get("model") or "",
    )


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"a string is needed, not {value!r}")


def _decode_usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage(requests=1)
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=int(usage.get("prompt_tokens") or 0),
        output_tokens=int(usage.get("completion_tokens") or 0),
        cache_read_tokens=int(details.get("cached_tokens") or 0),
        requests=1,
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
        """
        if data == "[DONE]":
            return
        try:
            yield from self.feed_chunk(from_json(data))
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: an event of the stream is not a chat completion chunk: {data[:300]}", model=self._model
            ) from error

    def feed_chunk(self, chunk: Mapping[str, object]) -> Iterator[Delta]:
        """The deltas in one chunk that is already parsed."""
        self._served_by = self._served_by or _string(chunk.get("model") or "")
        if (usage := chunk.get("usage")) is not None:
            self._usage = _decode_usage(usage)
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            raise TypeError("a chunk has choices")
        for choice in choices:
            if reason := choice.get("finish_reason"):
                self._finish = _FINISH_REASONS.get(reason, "stop")
            yield from self._deltas(choice.get("delta") or {})

    def _deltas(self, delta: Mapping[str, object]) -> Iterator[Delta]:
        if thinking := delta.get("reasoning_content") or delta.get("reasoning"):
            self._thinking.append(_string(thinking))
            yield ThinkingDelta(_string(thinking))
        if text := delta.get("content") or delta.get("refusal"):
            self._text.append(_string(text))
            yield TextDelta(_string(text))
        calls = delta.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list) else ()):
            yield self._call_delta(position, call)

    def _call_delta(self, position: int, call: Mapping[str, object]) -> ToolCallDelta:
        index = call.get("index", position)
        function = call.get("function") or {}
        if not isinstance(index, int) or not isinstance(function, dict):
            raise TypeError(f"not a tool call: {call!r}")
        partial = self._calls.setdefault(index, _PartialCall())
        partial.id = partial.id or _string(call.get("id") or "")
        partial.name = partial.name or _string(function.get("name") or "")
        arguments = _string(function.get("arguments") or "")
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
        parts: list[AssistantPart] = []
        if self._thinking:
            parts.append(Thinking("".join(self._thinking)))
        if self._text:
            parts.append(Text("".join(self._text)))
        for _, call in sorted(self._calls.items()):
            parts.append(ToolCall(call.id, call.name, "".join(call.arguments) or "{}"))
        return ModelResponse(AssistantMessage(tuple(parts)), self._usage, self._finish, self._served_by)
