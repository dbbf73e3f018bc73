"""What the `openai-chat` wire format answers.

Source: the OpenAI API reference, "Chat completion object"; DeepSeek's and Mistral's references for thinking, which
OpenAI does not show here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tactician.errors import MalformedResponseError
from tactician.llm.messages import AssistantMessage, AssistantPart, Text, Thinking, ToolCall
from tactician.llm.model import FinishReason, ModelResponse
from tactician.llm.usage import Usage
from tactician.llm.wire.failures import failure
from tactician.llm.wire.openai_chat_replay import kept
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
        return _decode(completion, model)
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise MalformedResponseError(
            f"{model or 'the model'}: the answer is not a chat completion ({error!r}): {str(body)[:300]}", model=model
        ) from error


def _decode(body: Mapping[str, object], model: str) -> ModelResponse:
    choice = mappings(body["choices"])[0]
    message = mapping(choice["message"])
    calls = (part for call in mappings(message.get("tool_calls") or ()) for part in _call(call))
    return ModelResponse(
        AssistantMessage((*prose(*said(message)), *kept(message), *calls)),
        usage_of(body.get("usage"), model),
        finish_reason(choice.get("finish_reason")),
        string(body.get("model") or ""),
    )


def prose(thinking: str, text: str) -> Iterator[AssistantPart]:
    """The parts for what was thought and said."""
    if thinking:
        yield Thinking(thinking)
    if text:
        yield Text(text)


def said(message: Mapping[str, object]) -> tuple[str, str]:
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


def _call(call: Mapping[str, object]) -> Iterator[AssistantPart]:
    function = mapping(call["function"])
    made = ToolCall(string(call.get("id") or ""), string(function["name"]), string(function.get("arguments") or "{}"))
    yield made
    yield from kept(call, made.id)


def finish_reason(reason: object) -> FinishReason:
    """Why the model stopped, in our words."""
    return _FINISH_REASONS.get(reason, "stop") if isinstance(reason, str) else "stop"


def usage_of(usage: object, model: str) -> Usage:
    """The tokens that it took."""
    if not isinstance(usage, dict):
        return Usage(requests=1, model=model)
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
        model=model,
    )
