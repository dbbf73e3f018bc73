"""Claude's answer as it comes.

Source: the Anthropic API reference, "Streaming messages". Its events carry their type in their data, so that the names
of the server-sent events are not needed. Types that are not known are passed over, as the reference asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import from_json

from tactician.errors import MalformedResponseError, ModelError
from tactician.llm.http import error_kind
from tactician.llm.model import Delta, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.wire.anthropic_answer import assembled
from tactician.llm.wire.values import mapping, string

# The status that goes with an error in a stream, whose own status was 200: the reference's page "Errors".
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


@dataclass(slots=True)
class _Block:
    """A content block that is on its way. `call` is its number among the tool calls."""

    start: Mapping[str, object]
    call: int
    text: list[str] = field(default_factory=list)
    json: list[str] = field(default_factory=list)
    signature: str | None = None

    def whole(self) -> Mapping[str, object]:
        """The block as an answer that is not streamed has it."""
        kind = self.start["type"]
        if kind == "text":
            return {**self.start, "text": "".join(self.text)}
        if kind == "thinking":
            signature = self.start.get("signature") if self.signature is None else self.signature
            return {**self.start, "thinking": "".join(self.text), "signature": signature}
        return {**self.start, "input": _parsed("".join(self.json))} if any(self.json) else self.start


def _parsed(written: str) -> object:
    """The input of a tool; the text itself when the model did not come to its end."""
    try:
        value: object = from_json(written, allow_inf_nan=False)
    except ValueError:
        return written
    return value


class StreamDecoder:
    """Turns the data of each event into deltas, and all of them into one response."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._blocks: dict[int, _Block] = {}
        self._message: dict[str, object] = {}
        self._usage: dict[str, object] = {}
        self._calls = 0

    def feed(self, data: str) -> Sequence[Delta]:
        """The deltas in one event.

        Raises:
            MalformedResponseError: when the event is not one of Anthropic's.
            ModelError: of the kind that fits, when it says that the provider failed.
        """
        try:
            event = mapping(from_json(data, cache_strings="keys"))
            kind = string(event["type"])
            if kind == "content_block_delta":  # nearly always: this runs for every token
                return self._block_delta(self._blocks[_index(event)], mapping(event["delta"]))
            if kind == "error":
                raise self._error(mapping(event["error"]))
            return self._other(kind, event)
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: an event of the stream is not one of Anthropic's: {data[:300]}", model=self._model
            ) from error

    def _error(self, error: Mapping[str, object]) -> ModelError:
        kind, message = str(error.get("type")), error.get("message")
        status = _STATUS.get(kind, 500)
        return error_kind(status)(f"{self._model}: {kind}: {message}", model=self._model, status=status)

    def _other(self, kind: str, event: Mapping[str, object]) -> Sequence[Delta]:
        if kind == "content_block_start":
            return self._block_start(_index(event), mapping(event["content_block"]))
        if kind == "message_start":
            self._merge(mapping(event["message"]))
        elif kind == "message_delta":
            self._merge({**mapping(event["delta"]), "usage": event.get("usage")})
        return ()

    def _merge(self, message: Mapping[str, object]) -> None:
        """Later values stand for earlier ones: the tokens in them are totals."""
        self._message.update({name: value for name, value in message.items() if value is not None})
        if (usage := message.get("usage")) is not None:
            self._usage.update({name: value for name, value in mapping(usage).items() if value is not None})

    def _block_start(self, index: int, start: Mapping[str, object]) -> Sequence[Delta]:
        kind = string(start["type"])
        block = self._blocks[index] = _Block(start, self._calls)
        if kind == "tool_use":
            self._calls += 1
            return (ToolCallDelta(block.call, string(start["id"]), string(start["name"])),)
        if kind == "text":
            return _said(block, start.get("text"), TextDelta)
        if kind == "thinking":
            return _said(block, start.get("thinking"), ThinkingDelta)
        return ()

    def _block_delta(self, block: _Block, delta: Mapping[str, object]) -> Sequence[Delta]:
        kind = delta["type"]
        if kind == "text_delta":
            return _said(block, delta["text"], TextDelta)
        if kind == "thinking_delta":
            return _said(block, delta["thinking"], ThinkingDelta)
        if kind == "signature_delta":
            block.signature = string(delta["signature"])
        elif kind == "input_json_delta" and (piece := string(delta["partial_json"])):
            block.json.append(piece)
            if block.start["type"] == "tool_use":
                name = string(block.start["name"])
                return (ToolCallDelta(block.call, string(block.start["id"]), name, piece),)
        return ()

    def response(self) -> ModelResponse:
        """All that came, as one response.

        Raises:
            MalformedResponseError: when the stream ended before the answer did.
        """
        if "stop_reason" not in self._message:
            raise MalformedResponseError(
                f"{self._model}: the stream broke off before the answer ended", model=self._model
            )
        blocks = (self._blocks[index].whole() for index in sorted(self._blocks))
        try:
            return assembled(blocks, {**self._message, "usage": self._usage}, self._model)
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: the stream is not an Anthropic message ({error!r})", model=self._model
            ) from error


def _index(event: Mapping[str, object]) -> int:
    index = event["index"]
    if isinstance(index, int):
        return index
    raise TypeError(f"a block has a number, not {index!r}")


def _said(block: _Block, text: object, delta: type[TextDelta] | type[ThinkingDelta]) -> Sequence[Delta]:
    if not (piece := string(text or "")):
        return ()
    block.text.append(piece)
    return (delta(piece),)
