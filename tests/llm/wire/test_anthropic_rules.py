"""The fake is as strict as Anthropic: each of these requests gets the error that Anthropic gives."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.support.anthropic_message_rules import Refused
from tests.support.anthropic_rules import check
from tests.support.anthropic_server import KEY, MODEL, found, searching, text, thinking, tool_use

HEADERS = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
OLD, NEW = MODEL, "claude-opus-4-7"
HI = {"role": "user", "content": "hi"}
TOOL = {"name": "weather", "input_schema": {"type": "object"}}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "sunny"}


def body(model: str = OLD, **fields: object) -> dict[str, object]:
    given = {"model": model, "max_tokens": 4096, "messages": [HI], **fields}
    return {name: value for name, value in given.items() if value is not None}


def talk(*turns: object) -> list[dict[str, object]]:
    """Messages in turn, beginning with the user's."""
    return [
        {"role": ("user", "assistant")[place % 2], "content": turn if isinstance(turn, list) else [turn]}
        for place, turn in enumerate(turns)
    ]


@pytest.mark.parametrize(
    "accepted",
    [
        body(),
        body(temperature=1, top_k=1),
        body(thinking={"type": "enabled", "budget_tokens": 1024}, top_p=0.95),
        body(messages=talk(text("a"), text("b"))),
        body(NEW, thinking={"type": "adaptive"}, output_config={"effort": "max"}),
        body(messages=talk(text("a"), tool_use("1", "weather"), RESULT), tools=[TOOL]),
        body(NEW, messages=talk(text("a"), searching("s", "q"))),
    ],
)
def test_what_anthropic_accepts(accepted: dict[str, object]) -> None:
    check(HEADERS, accepted)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (body(max_tokens=None), "max_tokens: Field required"),
        (body(max_tokens=0), "greater than or equal to 1"),
        (body(frequency_penalty=1), "frequency_penalty: Extra inputs are not permitted"),
        (body(output_format={}), "output_format: Extra inputs are not permitted"),
        (body(NEW, temperature=1.0), "`temperature` is not supported for this model"),
        (body(NEW, top_k=3), "`top_k` is not supported for this model"),
        (body(temperature=1.5), "temperature: range: 0..1"),
        (body(temperature=0.5, top_p=0.5), "`temperature` and `top_p` cannot both be specified"),
        (
            body(thinking={"type": "enabled", "budget_tokens": 1024}, temperature=0.5),
            "may only be set to 1 when thinking",
        ),
        (body(thinking={"type": "enabled", "budget_tokens": 1024}, top_k=3), "`top_k` must be unset when thinking"),
        (body(thinking={"type": "enabled", "budget_tokens": 4096}), "must be greater than `thinking.budget_tokens`"),
        (body(thinking={"type": "adaptive"}), '"thinking.type.adaptive" is not supported for this model'),
        (body(NEW, thinking={"type": "enabled", "budget_tokens": 1024}), '"thinking.type.enabled" is not supported'),
        (body("claude-sonnet-5-5", thinking={"type": "disabled"}), '"thinking.type.disabled" is not supported'),
        (body("claude-opus-5-5", tools=[TOOL], tool_choice={"type": "any"}), "forced tool use is not supported"),
        (body(tool_choice={"type": "none"}), "may only be specified while providing tools"),
        (body(tools=[TOOL, TOOL]), "Tool names must be unique"),
        (body(tools=[{"name": "weather", "input_schema": {}}]), "input_schema.type: Field required"),
        (body(tools=[{"name": "a b", "input_schema": {"type": "object"}}]), "String should match pattern"),
        (
            body(tools=[TOOL], tool_choice={"type": "any"}, thinking={"type": "enabled", "budget_tokens": 1024}),
            "Thinking may not be enabled when tool_choice forces tool use",
        ),
        (
            body(output_config={"format": {"type": "json_schema", "schema": {"type": "string", "minLength": 1}}}),
            "'minLength' is not supported",
        ),
        (
            body(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}}),
            "'additionalProperties' must be explicitly set to false",
        ),
        (body(NEW, thinking={"type": "adaptive", "block_binding": {}}), "block_binding: Extra inputs"),
        (body(messages=[]), "at least one message is required"),
        (body(messages=[{"role": "assistant", "content": "hi"}]), 'first message must use the "user" role'),
        (body(messages=[{"role": "user", "content": ""}]), "text content blocks must be non-empty"),
        (body(messages=[{"role": "user", "content": " "}]), "must contain non-whitespace text"),
        (body(messages=[{"role": "user", "content": []}]), "all messages must have non-empty content"),
        (body(messages=talk({"type": "input_text", "text": "a"})), "does not match any of the expected tags"),
        (body(messages=talk(thinking("a"))), "`thinking` not allowed here"),
        (body(messages=talk({**text("a"), "id": 1})), "Extra inputs are not permitted"),
        (body(NEW, messages=talk(text("a"), text("b"))), "does not support assistant message prefill"),
        (body(messages=talk(text("a"), text("b "))), "cannot end with trailing whitespace"),
        (body(messages=talk(text("a"), thinking("b"), text("c"))), "cannot end in `thinking`"),
        (body(messages=talk(text("a"), thinking("b", ""), text("c"))), "signature: Field required"),
        (body(messages=talk(text("a"), tool_use("1", "weather"), text("c"))), "without `tool_result` blocks"),
        (body(messages=talk(text("a"), tool_use("1", "weather"))), "without `tool_result` blocks"),
        (body(messages=talk([text("a"), RESULT])), "unexpected `tool_result`"),
        (body(messages=talk(text("a"), text("b"), RESULT)), "unexpected `tool_use_id` found in `tool_result`"),
        (
            body(messages=talk(text("a"), tool_use("1", "weather"), [text("c"), RESULT])),
            "`tool_result` blocks must come first",
        ),
        (body(messages=talk(text("a"), tool_use("a:1", "weather"), RESULT)), "String should match pattern"),
        (
            body(messages=talk(text("a"), tool_use("1", "weather"), {**RESULT, "content": "", "is_error": True})),
            "content cannot be empty if `is_error`",
        ),
        (body(messages=talk(text("a"), searching("s", "q"), text("c"))), "was found without a result block"),
        (body(messages=talk(text("a"), found("s"), text("c"))), "found in server tool results"),
        (
            body(
                messages=talk(text("a"), tool_use("1", "weather"), RESULT),
                thinking={"type": "enabled", "budget_tokens": 1024},
            ),
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
    ],
)
def test_what_anthropic_refuses(refused: dict[str, object], message: str) -> None:
    with pytest.raises(Refused) as caught:
        check(HEADERS, refused)

    assert message in str(caught.value)
    assert (caught.value.status, caught.value.kind) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"anthropic-version": "2023-06-01"}, 401, "x-api-key header is required"),
        ({"x-api-key": KEY}, 400, "anthropic-version: header is required"),
        ({"x-api-key": KEY, "anthropic-version": "2024-01-01"}, 400, "is not a valid version"),
    ],
)
def test_what_the_headers_have_to_say(headers: Mapping[str, str], status: int, message: str) -> None:
    with pytest.raises(Refused) as caught:
        check(headers, body())

    assert message in str(caught.value)
    assert caught.value.status == status


def test_an_unknown_model_is_not_found() -> None:
    with pytest.raises(Refused, match="model: claude-9") as caught:
        check(HEADERS, body("claude-9"))
    assert caught.value.status == 404


def test_the_newer_version_of_the_api_has_no_sampling() -> None:
    with pytest.raises(Refused, match="temperature: Extra inputs are not permitted"):
        check({**HEADERS, "anthropic-version": "2026-10-21"}, body(temperature=1))
