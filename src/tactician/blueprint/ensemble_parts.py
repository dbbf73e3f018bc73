"""Parts of blueprints of ensembles: their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from tactician.blueprint.abilities import AgentToolPart, GuardrailPart, TypeText
from tactician.blueprint.blueprint import KINDS, Blueprint
from tactician.blueprint.models import OptionsPart, ResponderPart
from tactician.blueprint.schema_base import (
    DEFERRED,
    DEFERRED_IN_TEXT,
    Count,
    Name,
    Part,
    Positive,
    Seconds,
    Temperature,
    one_of,
    require_field,
)

WorkflowText: TypeAlias = Annotated[Literal["sequential", "parallel", "hierarchical"], DEFERRED_IN_TEXT]
NamedNode: TypeAlias = Annotated[
    Blueprint | str,
    one_of("type", KINDS, "an agent", or_text=True),
    WithJsonSchema({"anyOf": [{"$ref": "#/$defs/Blueprint"}, {"type": "string"}]}),
]
"""A blueprint inside another one, or the name of one that is written elsewhere in the ensemble."""


class ReviewPart(Part):
    """Gate of a task, at which somebody decides how it goes on. The time is in seconds; 0 waits for ever."""

    timing: Annotated[Literal["before", "after", "skip"], DEFERRED_IN_TEXT]
    prompt: str | None = None
    timeout: Annotated[float, Field(strict=True, ge=0), DEFERRED] | None = None
    on_timeout: Annotated[Literal["exit_early", "continue", "reject"], DEFERRED_IN_TEXT] | None = None
    required_role: Name | None = None


class DelegationPart(Part):
    """Settings of delegations: how deep they may be, the functions that decide on each, and types of outputs."""

    max_depth: Positive | None = None
    policies: tuple[Name, ...] | None = None
    output_types: tuple[TypeText, ...] | None = None


class TaskPart(Part):
    """Task of an ensemble. Other parts name it by its `id`, which is the description by default."""

    id: Name | None = None
    description: Name
    expected_output: str | None = None
    agent: NamedNode | None = None
    role: str | None = None
    goal: str | None = None
    background: str | None = None
    context: tuple[Name, ...] | None = None
    handler: Name | None = None
    when: Name | None = None
    model: Name | None = None
    responder: ResponderPart | None = None
    temperature: Temperature | None = None
    options: OptionsPart | None = None
    tool_class_names: tuple[Name, ...] | None = None
    agent_tools: tuple[AgentToolPart, ...] | None = None
    output_type: TypeText | None = None
    max_output_retries: Count | None = None
    max_tool_calls: Positive | None = None
    max_tool_output_chars: Positive | None = None
    input_guardrails: tuple[GuardrailPart, ...] | None = None
    output_guardrails: tuple[GuardrailPart, ...] | None = None
    reviews: tuple[ReviewPart, ...] | None = None

    @property
    def key(self) -> str:
        """The id by which other parts name the task."""
        return self.id or self.description


class ConstraintsPart(Part):
    """Limits on the delegations of a manager, by the roles of its workers."""

    required_workers: tuple[Name, ...] | None = None
    allowed_workers: tuple[Name, ...] | None = None
    max_calls_per_worker: Mapping[str, Count] | None = None
    max_delegations: Count | None = None
    stages: tuple[tuple[Name, ...], ...] | None = None


class PersonPart(Part):
    """Person who decides on a phase. The time is in seconds."""

    role: Name | None = None
    prompt: str | None = None
    timeout: Seconds | None = None
    on_timeout: Annotated[Literal["exit_early", "continue", "reject"], DEFERRED_IN_TEXT] | None = None


class PhaseReviewPart(Part):
    """Review of a phase: by a task, a function or a person."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["task"], "properties": {"task": {"type": "object"}}},
                require_field("function"),
                {"required": ["person"], "properties": {"person": {"type": "object"}}},
            ]
        }
    )

    task: TaskPart | None = None
    function: Name | None = None
    person: PersonPart | None = None
    max_retries: Count | None = None
    max_predecessor_retries: Count | None = None

    @model_validator(mode="after")
    def _has_one_reviewer(self) -> Self:
        if sum(one is not None for one in (self.task, self.function, self.person)) != 1:
            raise ValueError("say one of task, function and person")
        return self


class PhasePart(Part):
    """Phase of an ensemble: tasks, and the names of the phases before it."""

    name: Name
    tasks: Annotated[tuple[TaskPart, ...], Field(min_length=1)]
    after: tuple[Name, ...] | None = None
    workflow: Annotated[Literal["sequential", "parallel"], DEFERRED_IN_TEXT] | None = None
    review: PhaseReviewPart | None = None
