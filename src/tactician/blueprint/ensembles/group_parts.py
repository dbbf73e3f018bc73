"""Parts of blueprints: loops, graphs and map-reduces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

from tactician.blueprint.ensembles.task_parts import GROUP_KINDS, TASK_KINDS, TaskItem, TaskItemPart, TaskPart
from tactician.blueprint.schema_base import DEFERRED, DEFERRED_IN_TEXT, Name, Part, Positive, convert_type, part_or
from tactician.documents.data import DataPath
from tactician.documents.forms import form_of
from tactician.ensemble import Edge


def _read_items(value: object) -> object:
    if isinstance(value, str) or (isinstance(value, list | tuple) and value):
        return value
    raise PydanticCustomError("problem", "it is neither a list with items nor the name of a function")


Maker: TypeAlias = Annotated[TaskPart | str, part_or(TaskPart, str, "a task nor the name of a function")]
"""A task whose templates are filled in, or the name of a function that makes the task."""
Items: TypeAlias = Annotated[Annotated[tuple[JsonValue, ...], Field(min_length=1)] | str, BeforeValidator(_read_items)]


class GroupPart(TaskItemPart):
    """Group of tasks in the place of a task. Other parts name it by its `id`."""

    id: Name
    description: Name | None = None
    context: tuple[Name, ...] | None = None

    @property
    def key(self) -> str:
        """The id by which other parts name the group."""
        return self.id


class LoopPart(GroupPart):
    """Tasks that are repeated until a function of the outputs so far returns true."""

    type: Literal["loop"] = "loop"
    tasks: Annotated[tuple[TaskItem, ...], Field(min_length=1)]
    until: Name | None = None
    max_iterations: Positive | None = None
    on_limit: Annotated[Literal["return_last", "raise", "flag"], DEFERRED_IN_TEXT] | None = None
    memory: Annotated[Literal["accumulate", "fresh"], DEFERRED_IN_TEXT] | None = None
    memory_window: Positive | None = None
    outputs: Annotated[Literal["last", "final_task", "all"], DEFERRED_IN_TEXT] | None = None

    @property
    def inner_tasks(self) -> Mapping[DataPath, Part]:
        """The tasks of an iteration."""
        return {("tasks", place): part for place, part in enumerate(self.tasks)}


@form_of(Edge, convert=convert_type)
class EdgePart(Part):
    """Edge from a state to the next state, or to `END`, with the function that decides whether it matches."""


class GraphPart(GroupPart):
    """Tasks as states. After each, the first edge that matches leads to the next state."""

    type: Literal["graph"] = "graph"
    states: Annotated[dict[str, TaskItem], Field(min_length=1)]
    start: Name
    edges: Annotated[tuple[EdgePart, ...], Field(min_length=1)]
    max_steps: Positive | None = None

    @property
    def inner_tasks(self) -> Mapping[DataPath, Part]:
        """The tasks of the states."""
        return {("states", name): part for name, part in self.states.items()}


class MapReducePart(GroupPart):
    """A task for each item, and tasks that combine the outputs until a single output is left."""

    type: Literal["mapReduce"] = "mapReduce"
    items: Items
    map: Maker
    reduce: Maker
    direct: Maker | None = None
    chunk_size: Annotated[int, Field(strict=True, ge=2), DEFERRED] | None = None
    max_tokens: Positive | None = None
    estimate: Name | None = None
    max_levels: Positive | None = None
    max_parallel: Positive | None = None

    @property
    def inner_tasks(self) -> Mapping[DataPath, Part]:
        """The tasks from whose templates others are made."""
        makers = {"map": self.map, "reduce": self.reduce, "direct": self.direct}
        return {(name,): maker for name, maker in makers.items() if isinstance(maker, Part)}


_GROUPS: Final[Mapping[str, type[Part]]] = {"loop": LoopPart, "graph": GraphPart, "mapReduce": MapReducePart}
TASK_KINDS.update(_GROUPS)
GROUP_KINDS.update(_GROUPS)
