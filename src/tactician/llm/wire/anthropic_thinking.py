"""How Claude is told to think, and what that forbids.

Source: the guides "Thinking", "Effort" and "Extended thinking" of the Anthropic documentation.
"""

from __future__ import annotations

from dataclasses import replace

from tactician.errors import ModelRequestError
from tactician.llm.options import LlmOptions
from tactician.llm.wire.dialect import Dialect

EFFORTS = ("low", "medium", "high", "xhigh", "max")
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}
_LEAST_TOP_P = 0.95
_DROP_STALE = {"prefix_mismatch_behavior": "drop_block"}
BINDING_HEADER = ("anthropic-beta", "thinking-binding-controls-2026-08-01")
"""The header that a request needs to say what becomes of stale thinking."""


def thinking_fields(options: LlmOptions, model: str, dialect: Dialect, *, may_use_budget: bool) -> dict[str, object]:
    """The fields `thinking` and `output_config` for a `reasoning_effort`; none when nothing is to be said about it.

    Raises:
        ModelRequestError: when a budget is needed for an effort that nobody knows.
    """
    wanted = options.reasoning_effort
    if wanted is None or not dialect.thinking:
        return {}
    if wanted == "none":
        return dict(dialect.no_reasoning)
    shown = {"display": dialect.thinking_display} if dialect.thinking_display else {}
    if dialect.thinking == "budget":
        return (
            {"thinking": {"type": "enabled", "budget_tokens": _budget(wanted, model), **shown}}
            if may_use_budget
            else {}
        )
    effort = None if wanted == "enabled" else _effort(wanted, dialect)
    fields: dict[str, object] = {"thinking": {"type": "adaptive", **shown}}
    return fields if effort is None else {**fields, "output_config": {"effort": effort}}


def _budget(wanted: str, model: str) -> int:
    budget = _BUDGETS.get("medium" if wanted == "enabled" else wanted)
    if budget is None:
        raise ModelRequestError(
            f"{model}: reasoning_effort is one of none, enabled, {', '.join(_BUDGETS)}; not {wanted!r}", model=model
        )
    return budget


def _effort(wanted: str, dialect: Dialect) -> str | None:
    known = replace(dialect, reasoning_effort=EFFORTS) if dialect.reasoning_effort is True else dialect
    return known.effort(wanted)


def with_stale_thinking_dropped(fields: dict[str, object]) -> dict[str, object]:
    """The fields, and that thinking whose conversation was changed since is to be passed over.

    That can be said of adaptive thinking only, which the models that check it do anyway.
    """
    thinking = fields.get("thinking")
    told = thinking if isinstance(thinking, dict) else {"type": "adaptive"}
    return {**fields, "thinking": {**told, "block_binding": _DROP_STALE}} if told["type"] == "adaptive" else fields


def sampling_fields(options: LlmOptions, dialect: Dialect, *, thinks: bool) -> dict[str, object]:
    """The sampling parameters that the model takes.

    Anthropic's `temperature` ends at 1. Claude takes `temperature` or `top_p`, not both: the first one wins. While it
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


def token_limit(options: LlmOptions, dialect: Dialect, thinking: object) -> int:
    """The longest answer. A budget of thinking counts against it: the limit is raised when it would leave nothing."""
    limit = options.max_tokens or dialect.default_max_tokens
    budget = thinking.get("budget_tokens", 0) if isinstance(thinking, dict) else 0
    return limit if limit > budget else limit + int(budget)
