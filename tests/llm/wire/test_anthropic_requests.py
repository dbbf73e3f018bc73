"""What a request to Anthropic says beside the conversation."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from tactician.errors import (
    ModelRequestError,
)
from tactician.llm import (
    AssistantMessage,
    LlmOptions,
    Message,
    ModelRequest,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import SystemMessage
from tactician.llm.model import OutputSpec, ToolSpec
from tactician.llm.schema import close_schema
from tactician.llm.wire import Dialect
from tactician.llm.wire.anthropic_messages import encode

WEATHER = ToolSpec("weather", "The weather in a city.", {"type": "object", "properties": {"city": {"type": "string"}}})
HI = UserMessage("hi")
CALL = ToolCall("1", "weather", "{}")
RESULT = ToolResult("1", "weather", "sunny")
ADAPTIVE = Dialect(thinking="adaptive")
BUDGET = Dialect(thinking="budget")


def body(
    dialect: Dialect, *messages: Message, tools: tuple[ToolSpec, ...] = (), **options: object
) -> dict[str, object]:
    asked = LlmOptions(**options)  # type: ignore[arg-type]  # options are an LlmOptions's own fields
    return encode(ModelRequest(messages or (HI,), tools, options=asked), "m", dialect)


class TestOptions:
    def test_the_limit_is_always_sent(self) -> None:
        assert body(Dialect())["max_tokens"] == 4096
        assert body(Dialect(default_max_tokens=16384))["max_tokens"] == 16384
        assert body(Dialect(default_max_tokens=16384), max_tokens=5)["max_tokens"] == 5

    @pytest.mark.parametrize(("limit", "sent"), [(None, 4096), (2048, 4096), (100, 2148), (3000, 3000)])
    def test_a_budget_leaves_room_for_the_answer(self, limit: int | None, sent: int) -> None:
        made = body(BUDGET, max_tokens=limit, reasoning_effort="low")

        assert made["thinking"] == {"type": "enabled", "budget_tokens": 2048}
        assert made["max_tokens"] == sent

    def test_temperature_ends_at_one_and_excludes_top_p(self) -> None:
        made = body(Dialect(), temperature=1.7, top_p=0.5, top_k=4)

        assert {name: made.get(name) for name in ("temperature", "top_p", "top_k")} == {
            "temperature": 1.0,
            "top_p": None,
            "top_k": 4,
        }
        assert body(Dialect(), top_p=0.5)["top_p"] == 0.5
        assert body(Dialect(), temperature=0.0)["temperature"] == 0.0

    @pytest.mark.parametrize(("top_p", "sent"), [(0.94, None), (0.95, 0.95)])
    def test_thinking_takes_only_a_wide_top_p(self, top_p: float, sent: float | None) -> None:
        made = body(BUDGET, temperature=0.5, top_p=top_p, top_k=3, reasoning_effort="low")

        assert (made.get("temperature"), made.get("top_k"), made.get("top_p")) == (None, None, sent)

    @pytest.mark.parametrize(
        ("effort", "sent"),
        [("minimal", "low"), ("low", "low"), ("xhigh", "xhigh"), ("max", "max"), ("enabled", None)],
    )
    def test_efforts_of_adaptive_thinking(self, effort: str, sent: str | None) -> None:
        made = body(ADAPTIVE, reasoning_effort=effort)

        assert made["thinking"] == {"type": "adaptive"}
        assert made.get("output_config") == (None if sent is None else {"effort": sent})

    def test_an_unknown_effort_has_no_budget(self) -> None:
        with pytest.raises(ModelRequestError, match="m: reasoning_effort is one of none, enabled, minimal, low"):
            body(BUDGET, reasoning_effort="a lot")

    def test_a_model_that_cannot_think_is_told_nothing(self) -> None:
        assert body(Dialect(), reasoning_effort="high").keys() == {"model", "max_tokens", "messages"}

    def test_a_budget_is_not_asked_for_where_it_would_be_refused(self) -> None:
        """A forced tool excludes it, and so does a tool call that was made without thinking first."""
        forced = ModelRequest(
            (HI,), (WEATHER,), "required", options=LlmOptions(reasoning_effort="low", temperature=0.5)
        )

        assert "thinking" not in encode(forced, "m", BUDGET)
        assert encode(forced, "m", BUDGET)["temperature"] == 0.5
        assert "thinking" not in body(BUDGET, HI, AssistantMessage((CALL,)), RESULT, reasoning_effort="low")
        thought = AssistantMessage((Thinking("Hm", "sig"), CALL))
        assert "thinking" in body(BUDGET, HI, thought, RESULT, reasoning_effort="low")

    def test_stale_thinking_is_dropped_where_there_is_some(self) -> None:
        dialect = Dialect(
            thinking="adaptive", drops_stale_thinking=True, no_reasoning={"thinking": {"type": "disabled"}}
        )
        thought = AssistantMessage((Thinking("Hm", "sig"), Text("a")))
        dropping = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}

        assert "thinking" not in body(dialect)
        assert body(dialect, HI, thought, HI)["thinking"] == dropping
        assert body(dialect, HI, thought, HI, reasoning_effort="none")["thinking"] == {"type": "disabled"}

    def test_a_model_that_cannot_be_forced_is_left_free(self) -> None:
        asked = ModelRequest((HI,), (WEATHER,), "weather")

        assert "tool_choice" not in encode(asked, "m", Dialect(forced_tools=False))
        assert encode(asked, "m")["tool_choice"] == {"type": "tool", "name": "weather"}

    def test_one_call_at_a_time(self) -> None:
        made = encode(ModelRequest((HI,), (WEATHER,)), "m", Dialect(parallel_tool_calls=False))

        assert made["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}

    def test_a_choice_without_tools_is_not_sent(self) -> None:
        assert "tool_choice" not in encode(ModelRequest((HI,), tool_choice="none"), "m")

    def test_a_tool_without_a_type_takes_an_object(self) -> None:
        made = encode(ModelRequest((HI,), (ToolSpec("now", "", {}),)), "m")

        assert made["tools"] == [{"name": "now", "input_schema": {"type": "object"}}]

    def test_the_dialect_can_name_another_version_of_a_tool(self) -> None:
        newer = {"type": "code_execution_20260120", "name": "code_execution"}

        assert body(Dialect(native_tools={"code_interpreter": newer}), native_tools=("code_interpreter",))["tools"] == [
            newer
        ]
        with pytest.raises(ModelRequestError, match="m: Anthropic runs no 'image'; it runs code_inter"):
            body(Dialect(), native_tools=("image",))

    def test_what_the_dialect_adds_is_added(self) -> None:
        assert body(Dialect(extra={"service_tier": "standard_only"}))["service_tier"] == "standard_only"


class Tree(BaseModel):
    below: list[Tree] = []


class Husband(BaseModel):
    wife: Wife | None = None


class Wife(BaseModel):
    husband: Husband | None = None


class Town(BaseModel):
    name: str


class Trip(BaseModel):
    start: Town
    end: Town


class TestOutput:
    def asked(self, schema: dict[str, object], *, strict: bool = True, **options: str) -> dict[str, object]:
        asked = LlmOptions(**options)  # type: ignore[arg-type]  # options are an LlmOptions's own fields
        spec = OutputSpec("thing", schema, strict)
        return encode(ModelRequest((SystemMessage("Be brief"), HI), output=spec, options=asked), "m", ADAPTIVE)

    def test_what_anthropic_refuses_is_told_in_the_description(self) -> None:
        properties = {
            "name": {"type": "string", "minLength": 2, "description": "a name"},
            "tags": {"type": "array", "items": {"type": "string", "format": "hex"}, "maxItems": 3},
            "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        }

        made = self.asked({"type": "object", "properties": properties, "additionalProperties": False})

        config = made["output_config"]
        assert isinstance(config, dict)
        assert config["format"]["schema"]["properties"] == {
            "name": {"type": "string", "description": "a name\n\n{minLength: 2}"},
            "tags": {
                "type": "array",
                "items": {"type": "string", "description": '{format: "hex"}'},
                "description": "{maxItems: 3}",
            },
            "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        }

    @pytest.mark.parametrize(("least", "told"), [(0, False), (1, False), (2, True)])
    def test_a_list_can_be_held_to_one_item_but_not_to_two(self, least: int, told: bool) -> None:
        items: dict[str, object] = {"type": "array", "items": {"type": "string"}, "minItems": least}

        made = self.asked({"type": "object", "properties": {"tags": items}, "additionalProperties": False})

        config = made["output_config"]
        assert isinstance(config, dict)
        tags = config["format"]["schema"]["properties"]["tags"]
        assert tags.get("minItems") == (None if told else least)
        assert tags.get("description") == ("{minItems: 2}" if told else None)

    def test_definitions_that_come_twice_are_no_circle(self) -> None:
        schema = close_schema(Trip.model_json_schema())

        config = self.asked(schema)["output_config"]

        assert isinstance(config, dict)
        assert config["format"]["schema"] == schema

    def test_the_schema_stands_beside_the_effort(self) -> None:
        schema: dict[str, object] = {"type": "object", "properties": {}, "additionalProperties": False}

        made = self.asked(schema, reasoning_effort="low")

        assert made["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": schema}}

    @pytest.mark.parametrize(
        ("schema", "strict"),
        [
            ({"type": "object", "additionalProperties": {"type": "integer"}}, False),
            (close_schema(Tree.model_json_schema()), True),
            (close_schema(Husband.model_json_schema()), True),
        ],
    )
    def test_a_schema_that_cannot_be_held_to_is_told_in_words(self, schema: dict[str, object], strict: bool) -> None:
        made = self.asked(schema, strict=strict)

        assert "output_config" not in made
        told = str(made["system"])
        assert told.startswith("Be brief\n\nAnswer with one JSON object that matches this JSON schema")
        assert json.loads(told.splitlines()[-1]) == schema
