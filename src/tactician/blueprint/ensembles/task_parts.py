"""Parts of blueprints: tasks, and all that may stand in the place of a task."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import WithJsonSchema

from tactician.blueprint.abilities import GuardrailPart, TypeText
from tactician.blueprint.blueprint import KINDS, Blueprint
from tactician.blueprint.built_in_tools import BuiltInTool
from tactician.blueprint.ensembles.gates import ReviewPart
from tactician.blueprint.ensembles.reflection import ReflectItem
from tactician.blueprint.models import OptionsPart, ResponderPart
from tactician.blueprint.schema_base import Count, Name, Part, Positive, Temperature, one_of
from tactician.blueprint.tool_lists import AgentToolPart
from tactician.documents import DataPath

TASK_KINDS: Final[dict[str, type[Part]]] = {}
"""The kinds of parts in a list of tasks, by their `type`."""
GROUP_KINDS: Final[dict[str, type[Part]]] = {}
"""Those of them that are no plain tasks."""
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


class TaskPart(TaskItemPart):
    """Task of an ensemble. Other parts name it by its `id`, which is the description by default."""

    type: Literal["task"] | None = None
    id: Name | None = None
    description: Name
    expected_output: str | None = None
    agent: NamedNode | None = None
    role: str | None = None
    goal: str | None = None
    background: str | None = None
    context: tuple[Name, ...] | None = None
    handler: HandlerItem | None = None
    when: Name | None = None
    model: Name | None = None
    responder: ResponderPart | None = None
    temperature: Temperature | None = None
    options: OptionsPart | None = None
    tool_class_names: tuple[Name, ...] | None = None
    agent_tools: tuple[AgentToolPart, ...] | None = None
    built_in_tools: tuple[BuiltInTool, ...] | None = None
    output_type: TypeText | None = None
    max_output_retries: Count | None = None
    max_tool_calls: Positive | None = None
    max_tool_output_chars: Positive | None = None
    input_guardrails: tuple[GuardrailPart, ...] | None = None
    output_guardrails: tuple[GuardrailPart, ...] | None = None
    memory: tuple[Name, ...] | None = None
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
