"""Requests of the `anthropic-messages` format, as of the `anthropic-version` `2023-06-01`.

Source: the Anthropic API reference, "Messages", and the guides "Thinking", "Effort" and "Extended thinking".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tactician.errors import ModelRequestError
from tactician.llm.messages import AssistantMessage, AssistantPart, ProviderItem, SystemMessage, Thinking
from tactician.llm.model import ModelRequest, ModelResponse, ToolSpec
from tactician.llm.options import LlmOptions
from tactician.llm.schema import format_schema_instructions
from tactician.llm.wire.anthropic_messages.conversation import AnthropicConversation
from tactician.llm.wire.anthropic_messages.output_schema import output_schema
from tactician.llm.wire.anthropic_messages.response import decode_item, find_unfinished_state
from tactician.llm.wire.dialect import DEFAULT_DIALECT, Dialect, JsonFields
from tactician.llm.wire.encoding import IdentityCache, remove_parts

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}
_LEAST_TOP_P = 0.95
_DROP_STALE = {"prefix_mismatch_behavior": "drop_block"}
BINDING_HEADER = ("anthropic-beta", "thinking-binding-controls-2026-08-01")
"""Header that a request needs to say what becomes of stale thinking."""
NATIVE_TOOLS: Mapping[str, JsonFields] = {
    "web_search": {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    "code_interpreter": {"type": "code_execution_20250825", "name": "code_execution"},
}
"""Definitions of the tools that Anthropic runs, where the dialect names no other version."""


def encode(
    request: ModelRequest, model: str, dialect: Dialect = DEFAULT_DIALECT, *, stream: bool = False
) -> dict[str, object]:
    """Return the body of the request.

    Raises:
        ModelRequestError: when the request needs a feature that the format lacks.
    """
    conversation = AnthropicConversation(request.messages, model)
    tools = [*map(_tool, request.tools), *(_native(name, model, dialect) for name in request.options.native_tools)]
    choice = _tool_choice(request, dialect) if tools else None
    thinking = _write_thinking(request, model, dialect, conversation, forced=_is_forced(choice))
    schema = output_schema(request.output, dialect.refused_keywords) if request.output is not None else None
    fields: dict[str, object] = {
        "model": model,
        "max_tokens": _token_limit(request.options, dialect, thinking.get("thinking")),
        "system": _system(request, dialect, describe_output=schema is None),
        "messages": conversation.turns,
        "tools": tools,
        "tool_choice": choice,
        **(thinking if schema is None else _with_output(thinking, schema)),
        **_write_sampling_fields(request.options, dialect, thinks=_thinks(thinking)),
        "container": conversation.container if _runs_code(tools) else None,
        "stream": stream or None,
        "trace": trace.to_json() if dialect.traces and (trace := request.options.trace) is not None else None,
        **dialect.extra,
    }
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _write_thinking(
    request: ModelRequest, model: str, dialect: Dialect, conversation: AnthropicConversation, *, forced: bool
) -> dict[str, object]:
    may_use_budget = not forced and conversation.thinks_first
    fields = _write_thinking_fields(request.options, model, dialect, may_use_budget=may_use_budget)
    drops = dialect.drops_stale_thinking and conversation.has_thinking
    return _drop_stale_thinking(fields) if drops else fields


def _thinks(fields: Mapping[str, object]) -> bool:
    thinking = fields.get("thinking")
    return isinstance(thinking, dict) and thinking["type"] in ("enabled", "adaptive")


# The instructions.


def _system(request: ModelRequest, dialect: Dialect, *, describe_output: bool) -> object:
    """Return the text of all system messages: Claude takes them separately from the conversation.

    A cached prefix ends before the first message of the conversation: what comes later does not spoil it. An output
    schema that Claude cannot be held to is described in words.
    """
    texts = [(n, m.text) for n, m in enumerate(request.messages) if isinstance(m, SystemMessage) and m.text.strip()]
    first = "\n\n".join(text for place, (n, text) in enumerate(texts) if n == place)
    rest = [text for place, (n, text) in enumerate(texts) if n != place]
    if describe_output and request.output is not None:
        rest.append(format_schema_instructions(request.output.schema))
    later = "\n\n".join(rest)
    if not dialect.caches_system or not first:
        return "\n\n".join(filter(None, (first, later)))
    cached: list[dict[str, object]] = [{"type": "text", "text": first, "cache_control": {"type": "ephemeral"}}]
    return [*cached, {"type": "text", "text": later}] if later else cached


def _with_output(fields: Mapping[str, object], schema: Mapping[str, object]) -> dict[str, object]:
    """Return the fields with the schema of the answer, which `output_config` holds beside the effort."""
    config = fields.get("output_config")
    given_config: Mapping[str, object] = config if isinstance(config, Mapping) else {}
    return {**fields, "output_config": {**given_config, "format": {"type": "json_schema", "schema": schema}}}


# Tools.


def _encode_tool(tool: ToolSpec) -> dict[str, object]:
    schema = tool.parameters if "type" in tool.parameters else {"type": "object", **tool.parameters}
    encoded: dict[str, object] = {"name": tool.name, "input_schema": schema}
    return {**encoded, "description": tool.description} if tool.description else encoded


_tool = IdentityCache(_encode_tool)


def _native(name: str, model: str, dialect: Dialect) -> dict[str, object]:
    if (tool := dialect.native_tools.get(name) or NATIVE_TOOLS.get(name)) is None:
        tool_names = ", ".join(sorted({*NATIVE_TOOLS, *dialect.native_tools}))
        raise ModelRequestError(f"{model}: Anthropic runs no {name!r}; it runs {tool_names}", model=model)
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


# Thinking that this account or this model cannot read.


def strip_thinking(request: ModelRequest) -> ModelRequest | None:
    """Return the request without signed and encrypted thinking, or `None` when it has none."""
    return remove_parts(request, _is_bound)


def _is_bound(part: AssistantPart) -> bool:
    if isinstance(part, Thinking):
        return part.signature is not None
    return isinstance(part, ProviderItem) and (decode_item(part) or {}).get("type") == "redacted_thinking"


# A turn that Anthropic paused (`stop_reason` is `pause_turn`).


def continue_paused(request: ModelRequest, response: ModelResponse) -> ModelRequest | None:
    """Return the request that continues a paused turn, or `None` when the response is complete.

    Args:
        request: the request that was answered.
        response: its answer; after several pauses, all parts of the answer merged.
    """
    state = find_unfinished_state(response.message)
    if state is None or state.get("paused") is not True:
        return None
    return replace(request, messages=(*request.messages, response.message))


def merge(first: ModelResponse, second: ModelResponse) -> ModelResponse:
    """Merge a paused answer and what followed it: the tokens of both, and the end of the second."""
    is_unfinished = find_unfinished_state(first.message) is not None
    parts = first.message.parts[:-1] if is_unfinished else first.message.parts
    return replace(
        second,
        message=AssistantMessage((*parts, *second.message.parts)),
        usage=first.usage + second.usage,
        model=second.model or first.model,
    )


# Thinking, sampling and the length of the answer.


def _write_thinking_fields(
    options: LlmOptions, model: str, dialect: Dialect, *, may_use_budget: bool
) -> dict[str, object]:
    """Return the fields `thinking` and `output_config` for the `reasoning_effort`, if it is set."""
    requested = options.reasoning_effort
    if requested is None or not dialect.thinking:
        return {}
    if requested == "none":
        return dict(dialect.no_reasoning)
    display = {"display": dialect.thinking_display} if dialect.thinking_display else {}
    if dialect.thinking == "budget":
        if not may_use_budget:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": _budget(requested, model), **display}}
    effort = None if requested == "enabled" else _effort(requested, dialect)
    fields: dict[str, object] = {"thinking": {"type": "adaptive", **display}}
    return fields if effort is None else {**fields, "output_config": {"effort": effort}}


def _budget(requested: str, model: str) -> int:
    budget = _BUDGETS.get("medium" if requested == "enabled" else requested)
    if budget is None:
        raise ModelRequestError(
            f"{model}: reasoning_effort is one of none, enabled, {', '.join(_BUDGETS)}; not {requested!r}", model=model
        )
    return budget


def _effort(requested: str, dialect: Dialect) -> str | None:
    effort_dialect = replace(dialect, reasoning_effort=_EFFORTS) if dialect.reasoning_effort is True else dialect
    return effort_dialect.select_effort(requested)


def _drop_stale_thinking(fields: dict[str, object]) -> dict[str, object]:
    """Return the fields with the option that ignores thinking whose conversation was changed since.

    The option exists for adaptive thinking only, which the models that check it use anyway.
    """
    thinking = fields.get("thinking")
    thinking_config = thinking if isinstance(thinking, dict) else {"type": "adaptive"}
    return (
        {**fields, "thinking": {**thinking_config, "block_binding": _DROP_STALE}}
        if thinking_config["type"] == "adaptive"
        else fields
    )


def _write_sampling_fields(options: LlmOptions, dialect: Dialect, *, thinks: bool) -> dict[str, object]:
    """Return the sampling parameters that the model takes.

    Anthropic's `temperature` ends at 1. Claude takes `temperature` or `top_p`, not both: `temperature` wins. While it
    thinks, it takes only a `top_p` of 0.95 and more.
    """
    fields: dict[str, object] = {}
    if dialect.temperature and options.temperature is not None and not thinks:
        fields["temperature"] = min(options.temperature, 1.0)
    elif dialect.temperature and options.top_p is not None and (not thinks or options.top_p >= _LEAST_TOP_P):
        fields["top_p"] = options.top_p
    if dialect.top_k and options.top_k is not None and not thinks:
        fields["top_k"] = options.top_k
    return fields


def _token_limit(options: LlmOptions, dialect: Dialect, thinking: object) -> int:
    """Return the longest answer. A budget of thinking counts against it, and raises a limit that it would use up."""
    limit = options.max_tokens or dialect.default_max_tokens
    budget = thinking.get("budget_tokens", 0) if isinstance(thinking, dict) else 0
    return limit if limit > budget else limit + int(budget)
