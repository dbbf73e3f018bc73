"""Differences of a provider or a model from its wire format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from tactician.frozen import frozen

JsonFields: TypeAlias = Mapping[str, object]

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Reasoning efforts, from least to most."""


@frozen
class Dialect:
    """Options of an encoder for a provider or a model. `tactician.llm.model_profiles` has them for each model.

    Attributes:
        max_tokens: the name of the field that limits the answer.
        system_role: the role of a system message.
        refused_keywords: JSON schema keywords that the provider refuses in a schema for its answer.
        strict: true to ask for strict adherence to schemas.
        temperature: true when the model takes `temperature` and `top_p`.
        sampling_while_reasoning: true when it takes them while it reasons, and not only at the effort `"none"`.
        top_k: true when it takes `top_k`.
        seed: the name of the field with the seed; empty if it takes none.
        reasoning_effort: true when the model takes a reasoning effort; or the efforts that it knows.
        no_reasoning: the value to send instead of the effort `"none"`, if that differs.
        reasoning_summary: the summary of its thinking to ask for, such as `"auto"`; none when empty.
        encrypted_reasoning: true when its thinking comes encrypted, and must be sent back.
        replay_reasoning: true when its thinking must be sent back, as text, if it called tools.
        replayed: the fields of its answers that must be sent back unchanged: `extra_content` (Gemini's signatures),
            `reasoning_details` (OpenRouter).
        unsigned_call: the signature for the first call of an answer that the provider did not sign, because another
            provider wrote the answer.
        forced_tools: true when a `tool_choice` can force a tool call.
        parallel_tool_calls: true when it may request several calls at once.
        short_call_ids: true when ids of tool calls must be nine letters and digits.
        documents: the kind of part that carries a document; empty if the format has no documents.
        native_tools: the field or entry that requests each tool that the provider itself runs.
        extra: fields of every request.
        default_max_tokens: the limit to send if the format requires a limit and the options have none.
        caches_system: true when the instructions are marked as a prefix that the provider may cache (Anthropic).
        thinking: the mode of Claude's thinking: within a `budget` of tokens, or as it sees fit, with an effort
            (`adaptive`). If empty, no field about thinking is sent.
        thinking_display: form of Claude's thinking, `summarized` or `omitted`; the model's default if empty.
        traces: true when it takes the trace of a request, and passes it on (OpenRouter).
        plain_answers: true when its answers go back as plain text, because parts would need an id (OpenRouter).
        stream_usage: true when a stream must be asked for its usage (`stream_options`); Mistral refuses the field, and
            sends the usage anyway.
        strict_order: true when system messages have to come first, a message of the user cannot follow a tool's result
            without an answer in between, and no answer can come last (Mistral).
        drops_stale_thinking: true when Claude ignores thinking whose conversation was changed since, instead of
            refusing the request; needs the header `anthropic-beta: thinking-binding-controls-2026-08-01`.
    """

    max_tokens: str = "max_tokens"
    system_role: str = "system"
    refused_keywords: frozenset[str] = frozenset()
    strict: bool = True
    temperature: bool = True
    sampling_while_reasoning: bool = True
    top_k: bool = True
    seed: str = "seed"
    reasoning_effort: bool | tuple[str, ...] = True
    no_reasoning: JsonFields = field(default_factory=dict)
    reasoning_summary: str = ""
    encrypted_reasoning: bool = False
    replay_reasoning: bool = False
    replayed: frozenset[str] = frozenset()
    unsigned_call: JsonFields = field(default_factory=dict)
    forced_tools: bool = True
    parallel_tool_calls: bool = True
    short_call_ids: bool = False
    documents: Literal["", "file", "document_url"] = "file"
    native_tools: Mapping[str, JsonFields] = field(default_factory=dict)
    extra: JsonFields = field(default_factory=dict)
    default_max_tokens: int = 4096
    caches_system: bool = False
    thinking: Literal["", "budget", "adaptive"] = ""
    thinking_display: Literal["", "summarized", "omitted"] = ""
    drops_stale_thinking: bool = False
    traces: bool = False
    plain_answers: bool = False
    stream_usage: bool = True
    strict_order: bool = False

    def accepts_sampling(self, effort: str | None) -> bool:
        """Return whether `temperature` and `top_p` can be sent with this effort."""
        return self.temperature and (self.sampling_while_reasoning or effort == "none")

    def select_effort(self, requested: str) -> str | None:
        """Return the effort to send: the nearest that the model knows, or `None` if it takes no effort.

        `"enabled"` is `"medium"`. Of two equally near efforts, the higher wins.
        """
        requested = "medium" if requested == "enabled" else requested
        supported_efforts = self.reasoning_effort
        if isinstance(supported_efforts, bool):
            return requested if supported_efforts else None
        if requested in supported_efforts or requested not in EFFORTS:
            return requested
        if requested == "none" or not (some := [effort for effort in supported_efforts if effort != "none"]):
            return None
        place = EFFORTS.index(requested)
        return min(some, key=lambda effort: (abs(EFFORTS.index(effort) - place), -EFFORTS.index(effort)))


DEFAULT_DIALECT = Dialect()
