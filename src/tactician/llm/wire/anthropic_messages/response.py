"""Responses of the `anthropic-messages` format, whole and as a stream.

Source: the Anthropic API reference, "Messages" (the response) and "Streaming messages", and the guides "Stop reasons"
and "Server tools". Events carry their type in their data, so that the names of the server-sent events are not needed.
Unknown types are skipped, as the reference requires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import from_json, to_json

from tactician.errors import ContentFilterError, MalformedResponseError
from tactician.llm.messages import AssistantMessage, AssistantPart, ProviderItem, Text, Thinking, ToolCall
from tactician.llm.model import Delta, FinishReason, ModelResponse, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.usage import Usage
from tactician.llm.wire.decoding import create_anthropic_error, expect_count, expect_mapping, expect_string

FORMAT = "anthropic-messages"
UNFINISHED = "unfinished_turn"
"""Type of our own item that ends the message of a turn that Anthropic has not finished."""

_FINISH_REASONS: dict[object, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "tool_use": "tool_calls",
}


def decode(body: object, model: str = "") -> ModelResponse:
    """Return the response in a body. Its usage counts as input what was read from and written to a cache, too.

    Raises:
        MalformedResponseError: when the body is not a message.
        ContentFilterError: when Claude refused to answer.
    """
    try:
        message = expect_mapping(body)
        content = message["content"]
        if not isinstance(content, list):
            raise TypeError("the content is a list of blocks")
        return _response(content, message, model)
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedResponseError(
            f"{model or 'the model'}: the answer is not an Anthropic message ({error!r}): {str(body)[:300]}",
            model=model,
        ) from error


def _response(blocks: Iterable[object], message: Mapping[str, object], model: str) -> ModelResponse:
    """Return the response of content blocks and of the message around them, for the model that was asked."""
    parts = [part for block in blocks if (part := _part(expect_mapping(block))) is not None]
    reason = message.get("stop_reason")
    if reason == "refusal":
        raise _create_refusal(message.get("stop_details"), model)
    if (item := _read_unfinished_item(reason, message.get("container"))) is not None:
        parts.append(item)
    usage = message.get("usage")
    return ModelResponse(
        AssistantMessage(tuple(parts)),
        _usage({} if usage is None else expect_mapping(usage), model, expect_string(message.get("model") or "")),
        _FINISH_REASONS.get(reason, "stop") if isinstance(reason, str) else "stop",
        expect_string(message.get("model") or ""),
        expect_string(message.get("id") or ""),
    )


def _create_refusal(details: object, model: str) -> ContentFilterError:
    """Return the error of a refusal. What Claude wrote before is not an answer, as the guide "Stop reasons" says."""
    refusal = details if isinstance(details, dict) else {}
    reasons = [str(refusal[name])[:300] for name in ("category", "explanation") if refusal.get(name)]
    reason = ": ".join(reasons) or "it gave no reason"
    return ContentFilterError(f"{model or 'the model'}: Claude refused to answer ({reason})", model=model)


def _part(block: Mapping[str, object]) -> AssistantPart | None:
    """Return a block as a part, or `None` if it is empty. Blocks that only Anthropic understands are kept unchanged."""
    kind = expect_string(block["type"])
    if kind == "text":
        text = expect_string(block["text"])
        return Text(text) if text else None
    if kind == "thinking":
        thought, signature = expect_string(block["thinking"]), expect_string(block.get("signature") or "")
        return Thinking(thought, signature or None) if thought or signature else None
    if kind == "tool_use":
        return ToolCall(expect_string(block["id"]), expect_string(block["name"]), _arguments_of(block["input"]))
    return _item(block)


def _arguments_of(value: object) -> str:
    """Return the input of a tool as JSON text; the rest of a broken stream is a string already."""
    return value if isinstance(value, str) else to_json(value).decode()


def _item(block: Mapping[str, object]) -> ProviderItem:
    return ProviderItem(FORMAT, to_json(block).decode())


def _usage(usage: Mapping[str, object], model: str, answered_by: str) -> Usage:
    """Return the tokens of a call. Anthropic counts tokens of the cache beside the input; we count them as input."""
    read, written = (
        expect_count(usage.get("cache_read_input_tokens")),
        expect_count(usage.get("cache_creation_input_tokens")),
    )
    return Usage(
        input_tokens=expect_count(usage.get("input_tokens")) + read + written,
        output_tokens=expect_count(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        requests=1,
        model=model,
        answered_by=answered_by,
    )


# A turn that continues in a later response.


def _read_unfinished_item(reason: object, container: object) -> ProviderItem | None:
    """Return the item that is needed to continue a paused turn, with the container of its code."""
    container_id = expect_string(expect_mapping(container).get("id") or "") if container is not None else ""
    paused = reason == "pause_turn"
    if not paused and not (container_id and reason == "tool_use"):
        return None
    return _item({"type": UNFINISHED, "paused": paused, "container": container_id})


def find_unfinished_state(message: AssistantMessage) -> Mapping[str, object] | None:
    """Return how the turn of a message continues, or `None` when the turn is complete."""
    last = message.parts[-1] if message.parts else None
    block = decode_item(last) if isinstance(last, ProviderItem) else None
    return block if block is not None and block["type"] == UNFINISHED else None


def decode_item(item: ProviderItem) -> dict[str, object] | None:
    """Return the block that an item holds, or `None` when it comes from another format or is not a block."""
    if item.format != FORMAT:
        return None
    try:
        block: object = from_json(item.data)
    except ValueError:
        return None
    return block if isinstance(block, dict) and isinstance(block.get("type"), str) else None


# The stream.


@dataclass(slots=True)
class _Block:
    """Content block that is still arriving. `call` is its number among the tool calls."""

    start: Mapping[str, object]
    call: int
    text: list[str] = field(default_factory=list)
    json: list[str] = field(default_factory=list)
    signature: str | None = None

    def assemble(self) -> Mapping[str, object]:
        """Return the block as a whole response has it."""
        kind = self.start["type"]
        if kind == "text":
            return {**self.start, "text": "".join(self.text)}
        if kind == "thinking":
            signature = self.start.get("signature") if self.signature is None else self.signature
            return {**self.start, "thinking": "".join(self.text), "signature": signature}
        return {**self.start, "input": _parse_input("".join(self.json))} if any(self.json) else self.start


def _parse_input(written: str) -> object:
    """Return the input of a tool, or the text itself when the model did not complete it."""
    try:
        value: object = from_json(written, allow_inf_nan=False)
    except ValueError:
        return written
    return value


class MessagesStreamDecoder:
    """`StreamDecoder` for the events of Anthropic."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._blocks: dict[int, _Block] = {}
        self._message: dict[str, object] = {}
        self._usage: dict[str, object] = {}
        self._calls = 0

    def feed(self, data: str) -> Sequence[Delta]:
        """Return the deltas in an event.

        Raises:
            MalformedResponseError: when the event is not in Anthropic's format.
            ModelError: of the class that matches, when the event reports a failure.
        """
        try:
            event = expect_mapping(from_json(data, cache_strings="keys"))
            kind = expect_string(event["type"])
            if kind == "content_block_delta":  # nearly always: this runs for every token
                return self._block_delta(self._blocks[_index(event)], expect_mapping(event["delta"]))
            if kind == "error":
                raise create_anthropic_error(expect_mapping(event["error"]), self._model)
            return self._other(kind, event)
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: an event of the stream is not in Anthropic's format: {data[:300]}", model=self._model
            ) from error

    def _other(self, kind: str, event: Mapping[str, object]) -> Sequence[Delta]:
        if kind == "content_block_start":
            return self._block_start(_index(event), expect_mapping(event["content_block"]))
        if kind == "message_start":
            self._merge(expect_mapping(event["message"]))
        elif kind == "message_delta":
            self._merge({**expect_mapping(event["delta"]), "usage": event.get("usage")})
        return ()

    def _merge(self, message: Mapping[str, object]) -> None:
        """Merge a message: later values replace earlier ones, because the tokens in them are totals."""
        self._message.update({name: value for name, value in message.items() if value is not None})
        if (usage := message.get("usage")) is not None:
            self._usage.update({name: value for name, value in expect_mapping(usage).items() if value is not None})

    def _block_start(self, index: int, start: Mapping[str, object]) -> Sequence[Delta]:
        kind = expect_string(start["type"])
        block = self._blocks[index] = _Block(start, self._calls)
        if kind == "tool_use":
            self._calls += 1
            return (ToolCallDelta(block.call, expect_string(start["id"]), expect_string(start["name"])),)
        if kind == "text":
            return _add_text(block, start.get("text"), TextDelta)
        if kind == "thinking":
            return _add_text(block, start.get("thinking"), ThinkingDelta)
        return ()

    def _block_delta(self, block: _Block, delta: Mapping[str, object]) -> Sequence[Delta]:
        kind = delta["type"]
        if kind == "text_delta":
            return _add_text(block, delta["text"], TextDelta)
        if kind == "thinking_delta":
            return _add_text(block, delta["thinking"], ThinkingDelta)
        if kind == "signature_delta":
            block.signature = expect_string(delta["signature"])
        elif kind == "input_json_delta" and (piece := expect_string(delta["partial_json"])):
            block.json.append(piece)
            if block.start["type"] == "tool_use":
                name = expect_string(block.start["name"])
                return (ToolCallDelta(block.call, expect_string(block.start["id"]), name, piece),)
        return ()

    def response(self) -> ModelResponse:
        """Combine everything received into a response.

        Raises:
            MalformedResponseError: when the stream ended before the answer was complete.
            ContentFilterError: when Claude refused to answer.
        """
        if "stop_reason" not in self._message:
            raise MalformedResponseError(
                f"{self._model}: the stream broke off before the answer ended", model=self._model
            )
        blocks = (self._blocks[index].assemble() for index in sorted(self._blocks))
        try:
            return _response(blocks, {**self._message, "usage": self._usage}, self._model)
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedResponseError(
                f"{self._model}: the stream is not an Anthropic message ({error!r})", model=self._model
            ) from error


def _index(event: Mapping[str, object]) -> int:
    index = event["index"]
    if isinstance(index, int):
        return index
    raise TypeError(f"a block has a number, not {index!r}")


def _add_text(block: _Block, text: object, delta: type[TextDelta] | type[ThinkingDelta]) -> Sequence[Delta]:
    if not (piece := expect_string(text or "")):
        return ()
    block.text.append(piece)
    return (delta(piece),)
