"""The parts that say how an agent is run: where its model is, how it is traced, and what it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic.alias_generators import to_camel

from tactician.blueprint.parts import Count, Flag, Name, Number, Part, Positive, Seconds, needing, one_of
from tactician.blueprint.pending import LATER, LATER_IN_TEXT

_ApiFormat: TypeAlias = Annotated[Literal["openai-responses", "openai-chat", "anthropic-messages"], LATER_IN_TEXT]


class TracePart(Part):
    """Whose work a call is, for those who watch: sent to providers that take it."""

    # agentle4j's own writer adds fields of no meaning here.
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")

    trace_id: str | None = None
    trace_name: str | None = None
    span_name: str | None = None
    generation_name: str | None = None
    parent_span_id: str | None = None
    environment: str | None = None
    metadata: Mapping[str, JsonValue] | None = None


class RetryPart(Part):
    """How often a call that fails is tried again, and after how long."""

    max_retries: Count = 3
    initial_delay_ms: Count = 1_000
    max_delay_ms: Count = 30_000
    multiplier: Annotated[float, Field(strict=True, ge=1), LATER] = 2.0
    retryable_status_codes: tuple[Annotated[int, Field(strict=True, ge=100, le=599), LATER], ...] = (
        *(429, 500, 502),
        *(503, 504, 529),
    )


class ResponderPart(Part):
    """Where a model is reached. It never holds a key: `apiKeyEnvVar` is the name of the variable that does."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [needing("provider"), needing("baseUrl")]})

    provider: Name | None = None
    base_url: Name | None = None
    api_key_env_var: Name | None = None
    api_format: _ApiFormat | None = None
    retry_policy: RetryPart | None = None
    trace_metadata: TracePart | None = None

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if (self.provider is None) == (self.base_url is None):
            raise ValueError("say either provider or baseUrl" if self.provider is None else "not provider and baseUrl")
        return self


class OptionsPart(Part):
    """How a model is called, beside its temperature; see `LlmOptions`. Times are in seconds."""

    top_p: Number | None = None
    top_k: Positive | None = None
    max_tokens: Positive | None = None
    reasoning_effort: str | None = None
    timeout: Seconds | None = None
    native_tools: tuple[str, ...] | None = None
    fallbacks: tuple[str, ...] | None = None
    instances: tuple[str, ...] | None = None
    session: str | None = None


class AutonomyPart(Part):
    """How an agent works on its own; see `Autonomous`. Times are in seconds. `maxIterations: 0` is no limit."""

    max_iterations: Count = 25
    end_turn_on_plain_reply: Flag = False
    enabled_tool_groups: tuple[str, ...] | None = None
    max_tool_output_tokens: Positive | None = None
    compact_after: Count | None = None
    keep_last: Positive = 1
    max_conversation_tokens: Positive | None = None
    min_iteration_interval: Annotated[float, Field(strict=True, ge=0), LATER] | None = None
    infinite: Flag = False
    retries: Count = 1


class SlidingPart(Part):
    """Shows the newest messages."""

    strategy_type: Literal["sliding"]
    preserve_developer_messages: Flag = True
    max_tokens: Positive
    token_counter_class_name: Name | None = None


class SummarizationPart(Part):
    """Sums up the old messages."""

    strategy_type: Literal["summarization"]
    summarization_model: Name | None = None
    keep_recent_messages: Positive = 5
    max_tokens: Positive
    summarization_prompt: str | None = None
    token_counter_class_name: Name | None = None


class CompactionPart(Part):
    """Leaves out what tools returned long ago."""

    strategy_type: Literal["compaction"]
    after: Count
    keep_last: Positive = 1


class ChainPart(Part):
    """Several, each given what the one before shows."""

    strategy_type: Literal["chain"]
    strategies: Annotated[tuple[ContextPart, ...], Field(min_length=1)]


_STRATEGIES: dict[str, type[Part]] = {
    "sliding": SlidingPart,
    "summarization": SummarizationPart,
    "compaction": CompactionPart,
    "chain": ChainPart,
}
ContextPart: TypeAlias = Annotated[
    SlidingPart | SummarizationPart | CompactionPart | ChainPart,
    one_of("strategyType", _STRATEGIES, "contextManagement"),
]
