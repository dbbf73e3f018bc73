"""Requests of the `openai-chat` format: `POST /chat/completions`.

Source: the OpenAI API reference, "Chat completions". Many providers and local servers speak this format, each with a
few differences, which a `Dialect` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from tactician.errors import ModelRequestError
from tactician.llm.messages import (
    AssistantMessage,
    Document,
    Message,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
)
from tactician.llm.model import ModelRequest, ToolSpec
from tactician.llm.options import NO_OPTIONS
from tactician.llm.wire.dialect import DEFAULT_DIALECT, Dialect
from tactician.llm.wire.encoding import IdentityCache, encode_output
from tactician.llm.wire.openai_chat.provider_items import restore_items

_CONTINUE: dict[str, object] = {"role": "user", "content": "Continue."}
_ACKNOWLEDGED: dict[str, object] = {"role": "assistant", "content": "OK."}
# Mistral's API: "Tool call id must be a-z, A-Z, 0-9, with a length of 9".
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")


def encode(
    request: ModelRequest, model: str, dialect: Dialect = DEFAULT_DIALECT, *, stream: bool = False
) -> dict[str, object]:
    """Return the body of the request.

    Raises:
        ModelRequestError: when the request has a document that this format cannot carry.
    """
    body: dict[str, object] = {
        "model": model,
        "messages": _encode_messages(request.messages, dialect),
    }
    if request.tools:
        _encode_tools(request, dialect, body)
    if request.output is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": encode_output(request.output, dialect)}
    if request.options is not NO_OPTIONS:
        _encode_options(request, dialect, body)
    if stream:
        body["stream"] = True
        if dialect.stream_usage:
            body["stream_options"] = {"include_usage": True}
    if dialect.extra:
        body.update(dialect.extra)
    return body


def _encode_messages(messages: Sequence[Message], dialect: Dialect) -> list[dict[str, object]]:
    encoded: list[dict[str, object]] = []
    for message in messages:
        if isinstance(message, ToolResult) and message.images:
            encoded = [_encode_message(moved, dialect) for moved in _move_pictures(messages)]
            break
        encoded.append(_encode_message(message, dialect))
    return _put_in_order(encoded, dialect) if dialect.strict_order else encoded


def _put_in_order(messages: Sequence[dict[str, object]], dialect: Dialect) -> list[dict[str, object]]:
    """Return the messages as Mistral's API takes them.

    The system comes first, an answer is between a tool's result and the user, and none at the end, where a conversation
    that a handoff passes on may have one.
    """
    system = [message for message in messages if message["role"] == dialect.system_role]
    others: list[dict[str, object]] = []
    for message in messages:
        if message["role"] == "user" and others and others[-1]["role"] == "tool":
            others.append(_ACKNOWLEDGED)
        if message["role"] != dialect.system_role:
            others.append(message)
    if not others or others[-1]["role"] == "assistant":
        others.append(_CONTINUE)
    return [*system, *others]


def _move_pictures(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield the messages, with the pictures of tools in a message after the results, which are text only here."""
    moved: list[UserPart] = []
    for message in messages:
        if isinstance(message, ToolResult):
            moved += (Text(f"Pictures of {message.name}:"), *message.images) if message.images else ()
        elif moved and isinstance(message, UserMessage):
            message, moved = UserMessage((*moved, *message.parts)), []
        elif moved:
            yield UserMessage(tuple(moved))
            moved = []
        yield message
    if moved:
        yield UserMessage(tuple(moved))


def _encode_message(message: Message, dialect: Dialect) -> dict[str, object]:
    if isinstance(message, UserMessage):
        content = message.content
        return {
            "role": "user",
            "content": content if isinstance(content, str) else [_encode_part(part, dialect) for part in content],
        }
    if isinstance(message, ToolResult):
        return {
            "role": "tool",
            "tool_call_id": _shorten_id(message.call_id) if dialect.short_call_ids else message.call_id,
            "content": message.content,
        }
    if isinstance(message, SystemMessage):
        return {"role": dialect.system_role, "content": message.text}
    return _encode_assistant(message, dialect)


def _encode_part(part: UserPart, dialect: Dialect) -> dict[str, object]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Document):
        return _encode_document(part, dialect)
    return {"type": "image_url", "image_url": {"url": part.location}}


def _encode_document(document: Document, dialect: Dialect) -> dict[str, object]:
    if dialect.documents == "document_url":
        return {"type": "document_url", "document_url": document.location, "document_name": document.name}
    if dialect.documents and document.url is None:
        return {"type": "file", "file": {"filename": document.name, "file_data": document.location}}
    raise ModelRequestError(
        f"{document.name}: chat completions take no document by URL here; fetch it and use Document.from_bytes"
        if dialect.documents
        else f"{document.name}: this model takes no documents; give it their text"
    )


def _encode_assistant(message: AssistantMessage, dialect: Dialect) -> dict[str, object]:
    calls = message.tool_calls
    encoded: dict[str, object] = {"role": "assistant", "content": message.text or (None if calls else "")}
    asked = [_encode_call(call, dialect) for call in calls]
    if asked:
        encoded["tool_calls"] = asked
    # DeepSeek's guide "Thinking mode": thinking that led to calls must be sent back; other thinking is left out.
    if dialect.replay_reasoning and (calls or message.thinking):
        encoded["reasoning_content"] = message.thinking
    if dialect.replayed:
        restore_items(message, dialect, encoded, asked)
    return encoded


def _encode_call(call: ToolCall, dialect: Dialect) -> dict[str, object]:
    return {
        "id": _shorten_id(call.id) if dialect.short_call_ids else call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _shorten_id(identity: str) -> str:
    """Return the id of a call in the short form; ids of other providers are converted to it."""
    if _SHORT_ID.fullmatch(identity):
        return identity
    return sha256(identity.encode("utf-8", "replace")).hexdigest()[:9]


def _list_tools(tools: Sequence[ToolSpec]) -> list[dict[str, object]]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


_tools = IdentityCache(_list_tools, most=256)  # each may have many tools, made for a single run


def _encode_tools(request: ModelRequest, dialect: Dialect, body: dict[str, object]) -> None:
    body["tools"] = _tools(request.tools)
    choice = request.tool_choice
    if choice != "auto" and (dialect.forced_tools or choice == "none"):
        named: Mapping[str, object] = {"type": "function", "function": {"name": choice}}
        body["tool_choice"] = choice if choice in ("none", "required") else named
    if not dialect.parallel_tool_calls:
        body["parallel_tool_calls"] = False


def _encode_options(request: ModelRequest, dialect: Dialect, body: dict[str, object]) -> None:
    options = request.options
    effort = dialect.select_effort(options.reasoning_effort) if options.reasoning_effort is not None else None
    if dialect.accepts_sampling(effort):
        if options.temperature is not None:
            body["temperature"] = options.temperature
        if options.top_p is not None:
            body["top_p"] = options.top_p
    if options.top_k is not None and dialect.top_k:
        body["top_k"] = options.top_k
    if options.seed is not None and dialect.seed:
        body[dialect.seed] = options.seed
    if options.max_tokens is not None:
        body[dialect.max_tokens] = options.max_tokens
    if options.reasoning_effort == "none" and dialect.no_reasoning:
        body.update(dialect.no_reasoning)
    elif effort is not None:
        body["reasoning_effort"] = effort
    for name in options.native_tools:
        body.update(dialect.native_tools.get(name, {}))
    if dialect.traces and options.trace is not None:
        body["trace"] = options.trace.to_json()
