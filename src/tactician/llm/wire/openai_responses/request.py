"""Requests of the `openai-responses` format: `POST /responses`.

Source: the OpenAI API reference, "Create a model response". Nothing is kept at the provider (`store: false`): the whole
conversation goes with every call, and a model's encrypted thinking goes back as it came (OpenAI's guide "Reasoning
models", "Encrypted reasoning items").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pydantic_core import from_json

from tactician.llm.messages import (
    AssistantMessage,
    AssistantPart,
    Document,
    Message,
    ProviderItem,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
)
from tactician.llm.model import ModelRequest, ToolSpec
from tactician.llm.options import NO_OPTIONS
from tactician.llm.schema import is_strict_tool_schema
from tactician.llm.wire.dialect import DEFAULT_DIALECT, Dialect
from tactician.llm.wire.encoding import IdentityCache, encode_output, remove_parts
from tactician.llm.wire.openai_responses.response import FORMAT, PHASE


def encode(
    request: ModelRequest, model: str, dialect: Dialect = DEFAULT_DIALECT, *, stream: bool = False
) -> dict[str, object]:
    """Return the body of the request."""
    instructions, messages = _split(request.messages)
    body: dict[str, object] = {"model": model, "input": list(_encode_input(messages, dialect)), "store": False}
    if instructions:
        body["instructions"] = instructions
    if request.tools or request.options.native_tools:
        _encode_tools(request, dialect, body)
    if request.output is not None:
        body["text"] = {"format": {"type": "json_schema", **encode_output(request.output, dialect)}}
    if dialect.encrypted_reasoning:
        body["include"] = ["reasoning.encrypted_content"]
    if request.options is not NO_OPTIONS or dialect.reasoning_summary:
        _encode_options(request, dialect, body)
    if stream:
        body["stream"] = True
    if dialect.extra:
        body.update(dialect.extra)
    return body


def _split(messages: tuple[Message, ...]) -> tuple[str, tuple[Message, ...]]:
    """Return the instructions, which are the system messages at the beginning, and the rest."""
    leading: list[str] = []
    for message in messages:
        if not isinstance(message, SystemMessage):
            break
        leading.append(message.text)
    if len(leading) == len(messages):
        return "", messages  # the input may not be empty
    return "\n\n".join(leading), messages[len(leading) :]


def _encode_input(messages: Iterable[Message], dialect: Dialect) -> Iterator[object]:
    for message in messages:
        if isinstance(message, UserMessage):
            yield _message("user", [_encode_part(part) for part in message.parts])
        elif isinstance(message, ToolResult):
            yield {"type": "function_call_output", "call_id": message.call_id, "output": _encode_output(message)}
        elif isinstance(message, SystemMessage):
            yield _message(dialect.system_role, [{"type": "input_text", "text": message.text}])
        else:
            yield from _encode_assistant(message, dialect)


def _encode_output(result: ToolResult) -> str | list[dict[str, object]]:
    if not result.images:
        return result.content
    return [{"type": "input_text", "text": result.content}, *map(_encode_part, result.images)]


def _message(role: str, content: str | list[dict[str, object]]) -> dict[str, object]:
    return {"type": "message", "role": role, "content": content}


def _encode_part(part: UserPart) -> dict[str, object]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if not isinstance(part, Document):
        return {"type": "input_image", "image_url": part.location, "detail": "auto"}
    if part.url is not None:
        return {"type": "input_file", "file_url": part.url}
    return {"type": "input_file", "filename": part.name, "file_data": part.location}


def _encode_assistant(message: AssistantMessage, dialect: Dialect) -> Iterator[object]:
    phase: dict[str, object] = {}
    for part in message.parts:
        if isinstance(part, Text):
            yield _message("assistant", _encode_text(part.text, dialect)) | phase
        elif isinstance(part, ToolCall):
            yield {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": part.arguments}
        elif item := _find_own_item(part):
            if item.get("type") == PHASE:
                phase = {"phase": item.get("phase")}
            elif _is_replayed(item, dialect):
                yield item


def _encode_text(text: str, dialect: Dialect) -> str | list[dict[str, object]]:
    return text if dialect.plain_answers else [{"type": "output_text", "text": text}]


def _find_own_item(part: AssistantPart) -> Mapping[str, object]:
    """Return the item of this format that a part holds, or an empty item."""
    if not isinstance(part, ProviderItem) or part.format != FORMAT:
        return {}
    try:
        data: object = from_json(part.data)
    except ValueError:
        return {}  # a stored conversation may hold anything
    return data if isinstance(data, dict) else {}


def _is_replayed(item: Mapping[str, object], dialect: Dialect) -> bool:
    """Return whether an item is sent back unchanged: unencrypted thinking is not stored anywhere."""
    return item.get("type") != "reasoning" or bool(dialect.encrypted_reasoning and item.get("encrypted_content"))


def strip_thinking(request: ModelRequest) -> ModelRequest | None:
    """Return the request without encrypted thinking and the items that must follow it, or `None`.

    Only the organisation that such thinking was written for can use it.
    """
    return remove_parts(request, lambda part: _find_own_item(part).get("type", PHASE) != PHASE)


def _encode_tool(tool: ToolSpec, strict: bool) -> dict[str, object]:
    # Without `strict`, this API would make every argument required.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": strict and is_strict_tool_schema(tool.parameters),
    }


_strict_tool = IdentityCache[ToolSpec, dict[str, object]](lambda tool: _encode_tool(tool, True))
_loose_tool = IdentityCache[ToolSpec, dict[str, object]](lambda tool: _encode_tool(tool, False))


def _encode_tools(request: ModelRequest, dialect: Dialect, body: dict[str, object]) -> None:
    encoded = _strict_tool if dialect.strict else _loose_tool
    tools: list[object] = [encoded(tool) for tool in request.tools]
    tools += [dialect.native_tools.get(name, {"type": name}) for name in request.options.native_tools]
    body["tools"] = tools
    choice = request.tool_choice
    if choice != "auto" and request.tools and (dialect.forced_tools or choice == "none"):
        body["tool_choice"] = choice if choice in ("none", "required") else {"type": "function", "name": choice}
    if not dialect.parallel_tool_calls:
        body["parallel_tool_calls"] = False


def _encode_options(request: ModelRequest, dialect: Dialect, body: dict[str, object]) -> None:
    options = request.options
    if options.max_tokens is not None:
        body["max_output_tokens"] = options.max_tokens
    effort = dialect.select_effort(options.reasoning_effort) if options.reasoning_effort is not None else None
    if dialect.accepts_sampling(effort):
        if options.temperature is not None:
            body["temperature"] = options.temperature
        if options.top_p is not None:
            body["top_p"] = options.top_p
    reasoning = {"effort": effort} if effort is not None else {}
    if dialect.reasoning_summary and effort != "none":
        reasoning["summary"] = dialect.reasoning_summary
    if reasoning:
        body["reasoning"] = reasoning
    if dialect.traces and options.trace is not None:
        body["trace"] = options.trace.to_json()
