"""Parts of blueprints: phases of an ensemble, and their reviews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tactician.blueprint.ensembles.task_parts import TaskItem, TaskPart
from tactician.blueprint.schema_base import DEFERRED_IN_TEXT, Count, Name, Part, convert_type, require_field
from tactician.documents.data import DataPath
from tactician.documents.forms import form_of
from tactician.ensemble import Workflow
from tactician.ensemble.phases.review import PersonReview


@form_of(PersonReview, convert=convert_type, is_optional=True)
class PersonPart(Part):
    """Person who decides on a phase. The time is in seconds."""


class _WithoutManager:
    """Limit to the workflows that fit phases."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_check_workflow, handler(source))

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        written = handler(schema)
        return written | {"enum": [word for word in written["enum"] if not Workflow(word).has_manager]}


def _check_workflow(workflow: Workflow) -> Workflow:
    if workflow.has_manager:
        raise ValueError(f"the workflow {str(workflow)!r} has a manager, and phases have none")
    return workflow


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
    tasks: Annotated[tuple[TaskItem, ...], Field(min_length=1)]
    after: tuple[Name, ...] | None = None
    workflow: Annotated[Workflow, _WithoutManager, DEFERRED_IN_TEXT] | None = None
    review: PhaseReviewPart | None = None

    @property
    def inner_tasks(self) -> Mapping[DataPath, Part]:
        """The tasks, by their paths."""
        return {("tasks", place): part for place, part in enumerate(self.tasks)}
