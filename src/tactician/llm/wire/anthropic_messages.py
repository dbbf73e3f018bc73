"""The `anthropic-messages` wire format: `POST /v1/messages`, as pure functions.

Source: the Anthropic API reference, "Messages", as of the version `2023-06-01` that the header `anthropic-version`
names, and the guides of the Anthropic documentation that the parts of this format name. What differs between models
is in the `Dialect`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic_core import to_json

from tactician.errors import ModelRequestError
from tactician.llm.messages import AssistantMessage, AssistantPart, ProviderItem, SystemMessage, Thinking
from tactician.llm.model import ModelRequest, ModelResponse, ToolSpec
from tactician.llm.wire.anthropic_answer import FORMAT, decode, replayed, unfinished
from tactician.llm.wire.anthropic_schema import output_schema
from tactician.llm.wire.anthropic_stream import StreamDecoder
from tactician.llm.wire.anthropic_thinking import (
    sampling_fields,
    thinking_fields,
    token_limit,
    with_stale_thinking_dropped,
)
from tactician.llm.wire.anthropic_turns import Conversation
from tactician.llm.wire.dialect import DEFAULT_DIALECT, Dialect, JsonFields
from tactician.llm.wire.parts import without_parts
from tactician.llm.wire.tools import PerTool

__all__ = ["FORMAT", "encode", "decode", "StreamDecoder", "continuation", "merged", "without_thinking"]

NATIVE_TOOLS: Mapping[str, JsonFields] = {
    "web_search": {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    "code_interpreter": {"type": "code_execution_20250825", "name": "code_execution"},
}
"""What asks for a tool that Anthropic runs, where the dialect names no other version."""


def encode(
    request: ModelRequest, model: str, dialect: Dialect = DEFAULT_DIALECT, *, stream: bool = False
) -> dict[str, object]:
    """The body of the request; raises `ModelRequestError` when it asks for what the format cannot say."""
    conversation = Conversation(request.messages, model)
    tools = [*map(_tool, request.tools), *(_native(name, model, dialect) for name in request.options.native_tools)]
    choice = _tool_choice(request, dialect) if tools else None
    thinking = _thinking(request, model, dialect, conversation, forced=_is_forced(choice))
    schema = output_schema(request.output, dialect.refused_keywords) if request.output is not None else None
    fields: dict[str, object] = {
        "model": model,
        "max_tokens": token_limit(request.options, dialect, thinking.get("thinking")),
        "system": _system(request, dialect, told=request.output is not None and schema is None),
        "messages": conversation.turns,
        "tools": tools,
        "tool_choice": choice,
        **(thinking if schema is None else _with_output(thinking, schema)),
        **sampling_fields(request.options, dialect, thinks=_thinks(thinking)),
        "container": conversation.container if _runs_code(tools) else None,
        "stream": stream or None,
        "trace": trace.to_json() if dialect.traces and (trace := request.options.trace) is not None else None,
        **dialect.extra,
    }
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _thinking(
    request: ModelRequest, model: str, dialect: Dialect, conversation: Conversation, *, forced: bool
) -> dict[str, object]:
    may_use_budget = not forced and conversation.thinks_first
    fields = thinking_fields(request.options, model, dialect, may_use_budget=may_use_budget)
    drops = dialect.drops_stale_thinking and conversation.has_thinking
    return with_stale_thinking_dropped(fields) if drops else fields


def _thinks(fields: Mapping[str, object]) -> bool:
    thinking = fields.get("thinking")
    return isinstance(thinking, dict) and thinking["type"] in ("enabled", "adaptive")


# The instructions.


def _system(request: ModelRequest, dialect: Dialect, *, told: bool) -> object:
    """The text of all system messages, wherever they stand: Claude takes instructions apart from the conversation.

    A cached prefix ends before the first message of the conversation: what comes later does not spoil it. An output
    schema that Claude cannot be held to is `told` in words.
    """
    texts = [(n, m.text) for n, m in enumerate(request.messages) if isinstance(m, SystemMessage) and m.text.strip()]
    first = "\n\n".join(text for place, (n, text) in enumerate(texts) if n == place)
    rest = [text for place, (n, text) in enumerate(texts) if n != place]
    if told and request.output is not None:
        rest.append(_schema_in_words(request.output.schema))
    later = "\n\n".join(rest)
    if not dialect.caches_system or not first:
        return "\n\n".join(filter(None, (first, later)))
    cached: list[dict[str, object]] = [{"type": "text", "text": first, "cache_control": {"type": "ephemeral"}}]
    return [*cached, {"type": "text", "text": later}] if later else cached


def _schema_in_words(schema: Mapping[str, object]) -> str:
    return (
        "Answer with one JSON object that matches this JSON schema, and write nothing else:\n"
        + to_json(schema).decode()
    )


def _with_output(fields: Mapping[str, object], schema: Mapping[str, object]) -> dict[str, object]:
    """The fields, and the schema of the answer: `output_config` holds it beside the effort."""
    config = fields.get("output_config")
    own: Mapping[str, object] = config if isinstance(config, Mapping) else {}
    return {**fields, "output_config": {**own, "format": {"type": "json_schema", "schema": schema}}}


# Tools.


def _encode_tool(tool: ToolSpec) -> dict[str, object]:
    schema = tool.parameters if "type" in tool.parameters else {"type": "object", **tool.parameters}
    encoded: dict[str, object] = {"name": tool.name, "input_schema": schema}
    return {**encoded, "description": tool.description} if tool.description else encoded


_tool = PerTool(_encode_tool)


def _native(name: str, model: str, dialect: Dialect) -> dict[str, object]:
    if (tool := dialect.native_tools.get(name) or NATIVE_TOOLS.get(name)) is None:
        known = ", ".join(sorted({*NATIVE_TOOLS, *dialect.native_tools}))
        raise ModelRequestError(f"{model}: Anthropic runs no {name!r}; it runs {known}", model=model)
    return dict(tool)


def _runs_code(tools: list[dict[str, object]]) -> bool:
    return any(str(tool.get("type")).startswith("code_execution") for tool in tools)


def _tool_choice(request: ModelRequest, dialect: Dialect) -> dict[str, object] | None:
    choice = request.tool_choice
    if choice == "none":
        return {"type": "none"}
    chosen: dict[str, object] = {"type": "auto"}
    if choice != "auto" and dialect.forced_tools:
        chosen = {"type": "any"} if choice == "required" else {"type": "tool", "name": choice}
    if not dialect.parallel_tool_calls:
        chosen["disable_parallel_tool_use"] = True
    return None if chosen == {"type": "auto"} else chosen


def _is_forced(choice: Mapping[str, object] | None) -> bool:
    return choice is not None and choice["type"] in ("any", "tool")


# Thinking that this account, or this model, cannot have read.


def without_thinking(request: ModelRequest) -> ModelRequest | None:
    """The request without signed and encrypted thinking; `None` when it has none."""
    return without_parts(request, _is_bound)


def _is_bound(part: AssistantPart) -> bool:
    if isinstance(part, Thinking):
        return part.signature is not None
    return isinstance(part, ProviderItem) and (replayed(part) or {}).get("type") == "redacted_thinking"


# A turn that Anthropic paused (`stop_reason` is `pause_turn`).


def continuation(request: ModelRequest, response: ModelResponse) -> ModelRequest | None:
    """The request that lets a paused turn go on; `None` when the response is all that the model has to say.

    `response` is the answer to `request`, or, after several pauses, all of its parts `merged`.
    """
    state = unfinished(response.message)
    if state is None or state.get("paused") is not True:
        return None
    return replace(request, messages=(*request.messages, response.message))


def merged(first: ModelResponse, second: ModelResponse) -> ModelResponse:
    """A paused answer and what followed it, as one: the tokens of both, and the end of the second."""
    parts = first.message.parts[:-1] if unfinished(first.message) is not None else first.message.parts
    return replace(
        second,
        message=AssistantMessage((*parts, *second.message.parts)),
        usage=first.usage + second.usage,
        model=second.model or first.model,
    )
