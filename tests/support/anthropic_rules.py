"""What Anthropic's Messages API answers with 400, as far as its reference and its error messages tell.

Sources: the API reference ("Messages", "Errors"), the migration guides of the models, and the messages of the errors
themselves as people report them. The official SDK's requests pass these rules: `test_anthropic_sdk.py` sends them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from tests.support.anthropic_message_rules import TOOL_NAME, Json, Refused, check_messages, require

VERSIONS = ("2023-06-01", "2026-10-21")
_SAMPLING = ("temperature", "top_p", "top_k")  # the newer version of the API has none of them, for any model
_FIELDS = frozenset(
    {"cache_control", "container", "inference_geo", "max_tokens", "messages", "metadata", "model", "output_config"}
)
_FIELDS |= {"service_tier", "speed", "stop_sequences", "stream", "system", "temperature", "thinking"}
_FIELDS |= {"tool_choice", "tools", "top_k", "top_p"}
_REFUSED_IN_SCHEMAS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"}
)
_REFUSED_IN_SCHEMAS |= {"maxLength", "pattern", "maxItems", "uniqueItems", "oneOf"}


@dataclass(frozen=True, slots=True)
class ModelRules:
    """What one model takes. `thinking` holds the types; the others say what is allowed."""

    thinking: frozenset[str]
    sampling: bool = False
    forced_tools: bool = True
    prefill: bool = False
    efforts: frozenset[str] = frozenset({"low", "medium", "high", "xhigh", "max"})


MODELS: Mapping[str, ModelRules] = {
    "claude-haiku-4-5": ModelRules(
        frozenset({"enabled", "disabled"}), sampling=True, prefill=True, efforts=frozenset()
    ),
    "claude-sonnet-4-6": ModelRules(
        frozenset({"enabled", "adaptive", "disabled"}),
        sampling=True,
        efforts=frozenset({"low", "medium", "high", "max"}),
    ),
    "claude-opus-4-7": ModelRules(frozenset({"adaptive", "disabled"})),
    "claude-fable-5": ModelRules(frozenset({"adaptive"})),
    "claude-fable-5-1": ModelRules(frozenset({"adaptive"}), forced_tools=False),
    "claude-opus-5-5": ModelRules(frozenset({"adaptive"}), forced_tools=False),
    "claude-sonnet-5-5": ModelRules(frozenset({"adaptive", "between_tools"}), forced_tools=False),
    "claude-haiku-5-5": ModelRules(frozenset({"adaptive", "disabled"})),
}


def check(headers: Mapping[str, str], body: Json) -> None:
    """Raises `Refused` when Anthropic would refuse the request."""
    if not headers.get("x-api-key") and not headers.get("authorization", "").startswith("Bearer "):
        raise Refused("x-api-key header is required", "authentication_error", 401)
    version = headers.get("anthropic-version")
    require(version, "anthropic-version: header is required")
    require(version in VERSIONS, f'anthropic-version: "{version}" is not a valid version')
    for name in body:
        removed = version == VERSIONS[-1] and name in _SAMPLING
        require(name in _FIELDS and not removed, f"{name}: Extra inputs are not permitted")
    for name in ("model", "max_tokens", "messages"):
        require(name in body, f"{name}: Field required")
    rules = MODELS.get(str(body["model"]))
    if rules is None:
        raise Refused(f"model: {body['model']}", "not_found_error", 404)
    _check_options(body, rules, headers)
    _check_tools(body, rules)
    _check_output(body)
    _check_system(body.get("system"))
    check_messages(body, prefill=rules.prefill)


def _check_options(body: Json, rules: ModelRules, headers: Mapping[str, str]) -> None:
    limit = body["max_tokens"]
    require(isinstance(limit, int) and limit >= 1, "max_tokens: Input should be greater than or equal to 1")
    thinking = cast(Json, body.get("thinking") or {})
    kind = thinking.get("type")
    for name in _SAMPLING:
        require(rules.sampling or name not in body, f"`{name}` is not supported for this model.")
    require(0 <= cast(float, body.get("temperature", 1)) <= 1, "temperature: range: 0..1")
    require(not {"temperature", "top_p"} <= set(body), "`temperature` and `top_p` cannot both be specified")
    if kind in ("enabled", "adaptive"):
        require(body.get("temperature", 1) == 1, "`temperature` may only be set to 1 when thinking is enabled.")
        require("top_k" not in body, "`top_k` must be unset when thinking is enabled.")
        require(cast(float, body.get("top_p", 1)) >= 0.95, "`top_p` must be at least 0.95 when thinking is enabled")
    require(not thinking or kind in rules.thinking, f'"thinking.type.{kind}" is not supported for this model.')
    if kind == "enabled":
        budget = thinking["budget_tokens"]
        require(isinstance(budget, int) and budget >= 1024, "thinking.budget_tokens: at least 1024")
        require(cast(int, limit) > cast(int, budget), "`max_tokens` must be greater than `thinking.budget_tokens`")
    if kind in ("disabled", "between_tools"):
        require(thinking.keys() == {"type"}, f"thinking.{kind}: Extra inputs are not permitted")
    if "block_binding" in thinking:
        beta = "thinking-binding-controls-2026-08-01" in headers.get("anthropic-beta", "")
        require(beta, "thinking.adaptive.block_binding: Extra inputs are not permitted")
    effort = cast(Json, body.get("output_config") or {}).get("effort")
    require(effort is None or effort in rules.efforts, f"output_config.effort: {effort} is not supported")


def _check_tools(body: Json, rules: ModelRules) -> None:
    tools = cast(Sequence[Json], body.get("tools", ()))
    names = [str(tool["name"]) for tool in tools]
    require(len(set(names)) == len(names), "tools: Tool names must be unique.")
    for place, tool in enumerate(tools):
        require(TOOL_NAME.fullmatch(str(tool["name"])), f"tools.{place}.custom.name: String should match pattern")
        if tool.get("type", "custom") == "custom":
            schema = cast(Json, tool["input_schema"])
            require(schema.get("type") == "object", f"tools.{place}.custom.input_schema.type: Field required")
            known = {"name", "description", "input_schema", "type", "strict", "cache_control"}
            require(tool.keys() <= known, f"tools.{place}.custom: Extra inputs are not permitted")
    if (choice := cast("Json | None", body.get("tool_choice"))) is None:
        return
    require(tools, "tool_choice: may only be specified while providing tools")
    require(choice["type"] in ("auto", "any", "tool", "none"), "tool_choice: unknown type")
    require(choice["type"] != "tool" or choice["name"] in names, f"Tool '{choice.get('name')}' not found")
    if choice["type"] in ("any", "tool"):
        require(rules.forced_tools, "tool_choice: forced tool use is not supported for this model")
        manual = cast(Json, body.get("thinking") or {}).get("type") == "enabled"
        require(not manual, "Thinking may not be enabled when tool_choice forces tool use.")


def _check_output(body: Json) -> None:
    config = cast(Json, body.get("output_config") or {})
    require(config.keys() <= {"effort", "format"}, "output_config: Extra inputs are not permitted")
    if (wanted := cast("Json | None", config.get("format"))) is not None:
        require(wanted.keys() == {"type", "schema"}, "output_config.format: Extra inputs are not permitted")
        _check_schema(cast(Json, wanted["schema"]))


def _check_schema(schema: Json) -> None:
    for name in schema:
        require(name not in _REFUSED_IN_SCHEMAS, f"output_config.format.schema: '{name}' is not supported")
    if schema.get("type") == "object":
        require(schema.get("additionalProperties") is False, "'additionalProperties' must be explicitly set to false")
    inner: list[object] = [schema.get("items")]
    for name in ("properties", "$defs"):
        inner.extend(cast(Json, schema.get(name) or {}).values())
    inner.extend(cast(Sequence[object], schema.get("anyOf") or ()))
    for one in inner:
        if isinstance(one, dict):
            _check_schema(one)


def _check_system(system: object) -> None:
    for block in system if isinstance(system, list) else ():
        require(str(block["text"]).strip(), "system: text content blocks must be non-empty")
