"""What Claude answers: the content blocks of a message as parts, and all that stands around them.

Source: the Anthropic API reference, "Messages" (the response), and the guides "Stop reasons" and "Server tools".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic_core import from_json, to_json

from tactician.errors import MalformedResponseError
from tactician.llm.messages import AssistantMessage, AssistantPart, ProviderItem, Text, Thinking, ToolCall
from tactician.llm.model import FinishReason, ModelResponse
from tactician.llm.usage import Usage
from tactician.llm.wire.values import count, mapping, string

FORMAT = "anthropic-messages"
UNFINISHED = "unfinished_turn"
"""The type of our own item that ends the message of a turn that Anthropic has not finished: see `unfinished`."""

_FINISH_REASONS: dict[object, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def decode(body: object, model: str = "") -> ModelResponse:
    """The response in a body. Its usage counts as input what was read from and written to a cache, too.

    Raises:
        MalformedResponseError: when the body is not a message.
    """
    try:
        message = mapping(body)
        content = message["content"]
        if not isinstance(content, list):
            raise TypeError("the content is a list of blocks")
        return assembled(content, message, model)
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedResponseError(
            f"{model or 'the model'}: the answer is not an Anthropic message ({error!r}): {str(body)[:300]}",
            model=model,
        ) from error


def assembled(blocks: Iterable[object], message: Mapping[str, object], model: str) -> ModelResponse:
    """The response of content blocks, and of the message around them; `model` is who was asked."""
    parts = [part for block in blocks if (part := _part(mapping(block))) is not None]
    reason = message.get("stop_reason")
    if (item := _unfinished(reason, message.get("container"))) is not None:
        parts.append(item)
    usage = message.get("usage")
    return ModelResponse(
        AssistantMessage(tuple(parts)),
        _usage({} if usage is None else mapping(usage), model),
        _FINISH_REASONS.get(reason, "stop") if isinstance(reason, str) else "stop",
        string(message.get("model") or ""),
    )


def _part(block: Mapping[str, object]) -> AssistantPart | None:
    """A block as a part; `None` when it says nothing. What only Anthropic understands is kept as it is."""
    kind = string(block["type"])
    if kind == "text":
        text = string(block["text"])
        return Text(text) if text else None
    if kind == "thinking":
        thought, signature = string(block["thinking"]), string(block.get("signature") or "")
        return Thinking(thought, signature or None) if thought or signature else None
    if kind == "tool_use":
        return ToolCall(string(block["id"]), string(block["name"]), arguments_of(block["input"]))
    return _item(block)


def arguments_of(value: object) -> str:
    """The input of a tool as JSON text; what a broken stream left of it is a string already."""
    return value if isinstance(value, str) else to_json(value).decode()


def _item(block: Mapping[str, object]) -> ProviderItem:
    return ProviderItem(FORMAT, to_json(block).decode())


def _usage(usage: Mapping[str, object], model: str) -> Usage:
    """The tokens of a call. Anthropic counts those of the cache beside the input; we count them as input."""
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=count(usage.get("input_tokens")) + read + written,
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        requests=1,
        model=model,
    )


# A turn that goes on in a later response.


def _unfinished(reason: object, container: object) -> ProviderItem | None:
    """What has to be known to go on: that the turn is paused, and in which container its code runs."""
    container_id = string(mapping(container).get("id") or "") if container is not None else ""
    paused = reason == "pause_turn"
    if not paused and not (container_id and reason == "tool_use"):
        return None
    return _item({"type": UNFINISHED, "paused": paused, "container": container_id})


def unfinished(message: AssistantMessage) -> Mapping[str, object] | None:
    """What a message says about how its turn goes on; `None` when there is nothing to go on with."""
    last = message.parts[-1] if message.parts else None
    block = replayed(last) if isinstance(last, ProviderItem) else None
    return block if block is not None and block["type"] == UNFINISHED else None


def replayed(item: ProviderItem) -> dict[str, object] | None:
    """The block that an item is; `None` when it comes from another format, or is no block at all."""
    if item.format != FORMAT:
        return None
    try:
        block: object = from_json(item.data)
    except ValueError:
        return None
    return block if isinstance(block, dict) and isinstance(block.get("type"), str) else None
