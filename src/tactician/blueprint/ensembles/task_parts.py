"""Parts of blueprints: tasks, and all that may stand in the place of a task."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import WithJsonSchema

from tactician.blueprint.abilities import GuardrailPart, TypeText
from tactician.blueprint.blueprint import KINDS, Blueprint
from tactician.blueprint.ensembles.gates import ReviewPart
from tactician.blueprint.ensembles.model_fields import ModelFieldsPart, ToolFieldsPart
from tactician.blueprint.ensembles.reflection import ReflectItem
from tactician.blueprint.schema_base import Name, Part, convert_type, one_of
from tactician.documents.data import DataPath
from tactician.documents.forms import form_of
from tactician.ensemble import Task

TASK_KINDS: Final[dict[str, type[Part]]] = {}
"""The kinds of parts in a list of tasks, by their `type`."""
GROUP_KINDS: Final[dict[str, type[Part]]] = {}
"""Kinds that are no plain tasks."""
TASK_ITEM: Final = "TaskItem"
"""Name of the definition of a part in a list of tasks, in the JSON Schema."""
GROUP_ITEM: Final = "TaskGroup"
"""Name of the definition of such a part that is no plain task."""
_TEXT: Final = {"type": "string"}

NamedNode: TypeAlias = Annotated[
    Blueprint | str,
    one_of("type", KINDS, "an agent", or_text=True),
    WithJsonSchema({"anyOf": [{"$ref": "#/$defs/Blueprint"}, _TEXT]}),
]
"""A blueprint inside another one, or the name of one that is written elsewhere in the ensemble."""
TaskItem: TypeAlias = Annotated[
    Part, one_of("type", TASK_KINDS, "a task", otherwise="task"), WithJsonSchema({"$ref": f"#/$defs/{TASK_ITEM}"})
]
"""A task, or a loop, a graph, a map-reduce or an ensemble in its place."""
HandlerItem: TypeAlias = Annotated[
    Part | str,
    one_of("type", GROUP_KINDS, "a handler", or_text=True),
    WithJsonSchema({"anyOf": [{"$ref": f"#/$defs/{GROUP_ITEM}"}, _TEXT]}),
]
"""The name of a function, or a loop, a graph, a map-reduce or an ensemble that does the task."""


class TaskItemPart(Part):
    """Part that stands in a list of tasks."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The id by which other parts name it."""

    @property
    def inner_tasks(self) -> Mapping[DataPath, Part]:
        """The parts inside that stand for tasks, by their paths."""
        return {}


PLAIN_TASK_FIELDS: Final = (
    *("expected_output", "role", "goal", "background", "max_output_retries", "max_tool_calls"),
    *("max_tool_output_chars", "memory", "when"),
)
"""Fields of a task whose values are in blueprints as they are, or functions, which are there by their names."""


@form_of(Task, only=PLAIN_TASK_FIELDS, convert=convert_type, is_optional=True)
class TaskPart(TaskItemPart, ModelFieldsPart, ToolFieldsPart):
    """Task of an ensemble. Other parts name it by its `id`, which is the description by default."""

    order = (
        *("type", "id", "description", "expected_output", "agent", "role", "goal", "background", "context", "handler"),
        *("when", *ModelFieldsPart.model_fields, *ToolFieldsPart.model_fields, "output_type", "max_output_retries"),
        *("max_tool_calls", "max_tool_output_chars", "input_guardrails", "output_guardrails", "memory"),
    )
    type: Literal["task"] | None = None
    id: Name | None = None
    description: Name
    role: Name | None = None
    goal: Name | None = None
    background: Name | None = None
    agent: NamedNode | None = None
    context: tuple[Name, ...] | None = None
    handler: HandlerItem | None = None
    output_type: TypeText | None = None
    input_guardrails: tuple[GuardrailPart, ...] | None = None
    output_guardrails: tuple[GuardrailPart, ...] | None = None
    reflect: ReflectItem | None = None
    reviews: tuple[ReviewPart, ...] | None = None

    @property
    def key(self) -> str:
        """The id by which other parts name the task."""
        return self.id or self.description

    @property
    def inner_tasks(self) -> Mapping[DataPath, Part]:
        """The loop, graph, map-reduce or ensemble that does the task."""
        return {("handler",): self.handler} if isinstance(self.handler, Part) else {}


TASK_KINDS["task"] = TaskPart
