"""What the `openai-responses` wire format answers.

Source: the OpenAI API reference, "The response object".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic_core import to_json

from tactician.errors import MalformedResponseError
from tactician.llm.messages import AssistantMessage, AssistantPart, ProviderItem, Text, Thinking, ToolCall
from tactician.llm.model import FinishReason, ModelResponse
from tactician.llm.usage import Usage
from tactician.llm.wire.failures import failure
from tactician.llm.wire.values import count, mapping, mappings, string

NAME = "openai-responses"
PHASE = "message_phase"
"""The type of our own item that says whether the texts after it are a commentary or the answer: both go back so."""


def decode(body: object, model: str = "") -> ModelResponse:
    """The response in a body.

    Raises:
        MalformedResponseError: when the body is not a response.
        ModelError: of the kind that fits the failure, when it says that the model failed.
    """
    try:
        response = mapping(body)
        if (error := _error(response)) is not None:
            raise failure(error, model)
        return _decode(response, model)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise MalformedResponseError(
            f"{model or 'the model'}: the answer is not a response ({error!r}): {str(body)[:300]}", model=model
        ) from error


def _error(response: Mapping[str, object]) -> object:
    """What went wrong, where the response says so."""
    status = response.get("status")
    if status in ("failed", "cancelled"):
        return response.get("error") or {"message": f"the response is {status}"}
    return response.get("error") if "output" not in response else None


def _decode(response: Mapping[str, object], model: str) -> ModelResponse:
    parts = tuple(part for item in mappings(response["output"]) for part in decode_item(item))
    return ModelResponse(
        AssistantMessage(parts),
        _usage(response.get("usage"), model),
        _finish_reason(response, parts),
        string(response.get("model") or ""),
    )


def decode_item(item: Mapping[str, object]) -> Iterator[AssistantPart]:
    """The parts of an assistant's message that one item of the output stands for."""
    kind = string(item["type"])
    if kind == "message":
        if phase := item.get("phase"):
            yield ProviderItem(NAME, to_json({"type": PHASE, "phase": string(phase)}).decode())
        yield from _message(item)
    elif kind == "function_call":
        arguments = string(item.get("arguments") or "{}")
        yield ToolCall(string(item.get("call_id") or item["id"]), string(item["name"]), arguments)
    else:
        if kind == "reasoning" and (thinking := _thinking(item)):
            yield Thinking(thinking)
        yield ProviderItem(NAME, to_json({name: value for name, value in item.items() if value is not None}).decode())


def _message(item: Mapping[str, object]) -> Iterator[Text]:
    for part in mappings(item.get("content") or ()):
        if text := part.get("text") or part.get("refusal"):
            yield Text(string(text))


def _thinking(item: Mapping[str, object]) -> str:
    """The summary of the thinking; models that do not encrypt it give the whole of it."""
    told = mappings(item.get("summary") or ()) or mappings(item.get("content") or ())
    return "\n\n".join(string(part["text"]) for part in told)


def _finish_reason(response: Mapping[str, object], parts: tuple[AssistantPart, ...]) -> FinishReason:
    if response.get("status") == "incomplete":
        reason = mapping(response.get("incomplete_details") or {}).get("reason")
        return "content_filter" if reason == "content_filter" else "length"
    return "tool_calls" if any(isinstance(part, ToolCall) for part in parts) else "stop"


def _usage(usage: object, model: str) -> Usage:
    if not isinstance(usage, dict):
        return Usage(requests=1, model=model)
    read, written = (mapping(usage.get(f"{way}_tokens_details") or {}) for way in ("input", "output"))
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=count(read.get("cached_tokens")),
        cache_write_tokens=count(read.get("cache_write_tokens")),
        requests=1,
        reasoning_tokens=count(written.get("reasoning_tokens")),
        model=model,
    )
