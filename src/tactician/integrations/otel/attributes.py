"""Attributes of spans and metrics, read from what events say: names and numbers, and no content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from tactician.integrations.otel.conventions import (
    CACHE_READ_TOKENS,
    CACHE_WRITE_TOKENS,
    COST,
    FINISH_REASONS,
    INPUT_TOKENS,
    OTHER_ERROR,
    OUTPUT_TOKENS,
    OUTPUT_TYPE,
    PLAN_ACTIONS,
    PLAN_BOUND,
    PLAN_COST,
    PLAN_GAP,
    PLAN_GOAL,
    PLAN_OPTIMAL,
    PROVIDER,
    REASONING_TOKENS,
    REQUEST_MAX_TOKENS,
    REQUEST_MODEL,
    REQUEST_SEED,
    REQUEST_TEMPERATURE,
    REQUEST_TOP_K,
    REQUEST_TOP_P,
    RESPONSE_ID,
    RESPONSE_MODEL,
    find_provider,
)
from tactician.llm import ModelRequest, ModelResponse, Usage
from tactician.planning import Plan
from tactician.secrets import mask_secrets
from tactician.text import escape_controls, replace_surrogates

Value: TypeAlias = str | bool | int | float | tuple[str, ...]
Attributes: TypeAlias = dict[str, Value]
_LONGEST: Final = 200
_ERROR: Final = re.compile(r"[A-Za-z_]\w*(?=:|$)")


def shorten_name(text: str) -> str:
    """Return a name, possibly invented by a model, in a form that fits into an attribute."""
    return escape_controls(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…").replace("\n", " ")


def write_content(text: str) -> str:
    """Return what people, models and tools said in a form that fits into an attribute, with masks for secrets."""
    return mask_secrets(replace_surrogates(text))


def name_error(text: str | None) -> str | None:
    """Return the class of an error that an event describes as `Class: message`; `None` of no error."""
    if text is None:
        return None
    error_match = _ERROR.match(text)
    return OTHER_ERROR if error_match is None else error_match[0]


def describe_model(model: str) -> Attributes:
    """Return the attributes of a model that is named `instance:model`, or by a name of its own."""
    instance, colon, name = model.partition(":")
    attributes = {REQUEST_MODEL: shorten_name(name if colon else model)}
    return {**attributes, PROVIDER: find_provider(instance) if colon else shorten_name(model)}


def describe_request(request: ModelRequest) -> Attributes:
    """Return the attributes of the options of a request."""
    options = request.options
    values: Mapping[str, Value | None] = {
        REQUEST_TEMPERATURE: options.temperature,
        REQUEST_TOP_P: options.top_p,
        REQUEST_TOP_K: options.top_k,
        REQUEST_MAX_TOKENS: options.max_tokens,
        REQUEST_SEED: options.seed,
        OUTPUT_TYPE: "text" if request.output is None else "json",
    }
    return {name: value for name, value in values.items() if value is not None}


def describe_response(response: ModelResponse) -> Attributes:
    """Return the attributes of an answer."""
    attributes: Attributes = {FINISH_REASONS: (response.finish_reason,), **describe_usage(response.usage)}
    if response.model:
        attributes[RESPONSE_MODEL] = response.model
    if response.id:
        attributes[RESPONSE_ID] = shorten_name(response.id)
    return attributes


def describe_usage(usage: Usage) -> Attributes:
    """Return the attributes of tokens and costs. Of what a model rarely has, only what there is."""
    attributes: Attributes = {INPUT_TOKENS: usage.input_tokens, OUTPUT_TOKENS: usage.output_tokens}
    rare = {
        CACHE_READ_TOKENS: usage.cache_read_tokens,
        CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        REASONING_TOKENS: usage.reasoning_tokens,
    }
    attributes.update({name: tokens for name, tokens in rare.items() if tokens})
    if usage.requests and (cost := usage.cost) is not None:
        attributes[COST] = cost
    return attributes


def describe_plan(plan: Plan | None) -> Attributes:
    """Return the attributes of a plan: no gap where it is not known."""
    if plan is None:
        return {}
    actions, gap = tuple(action.name for action in plan.actions), plan.gap
    attributes = {} if gap is None else {PLAN_GAP: gap}
    quality = {PLAN_COST: plan.cost, PLAN_OPTIMAL: plan.optimal, PLAN_BOUND: plan.bound}
    return {PLAN_GOAL: plan.goal.name, PLAN_ACTIONS: actions, **quality, **attributes}
