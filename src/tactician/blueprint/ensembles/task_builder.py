"""Builder of the tasks of an ensemble, which name each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tactician.blueprint.abilities import build_guardrails, find_type
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.agent_directory import AgentDirectory
from tactician.blueprint.ensembles.gates import build_gates
from tactician.blueprint.ensembles.group_parts import GraphPart, GroupPart, LoopPart, Maker, MapReducePart
from tactician.blueprint.ensembles.mistakes import build_checked
from tactician.blueprint.ensembles.reflection import build_reflect
from tactician.blueprint.ensembles.task_parts import PLAIN_TASK_FIELDS, TaskItemPart, TaskPart
from tactician.blueprint.functions import find_function
from tactician.blueprint.schema_base import Part
from tactician.blueprint.settings import build_values
from tactician.documents.data import DataPath
from tactician.ensemble import Edge, Ensemble, Graph, Loop, MapReduce, Task, Window
from tactician.ensemble.tasks.task import TaskLike
from tactician.suggestions import did_you_mean

_COMMON: Final = ("id", "description")
_LOOP: Final = (*_COMMON, "max_iterations", "on_limit", "memory", "outputs")
_GRAPH: Final = (*_COMMON, "start", "max_steps")
_MAP_REDUCE: Final = (*_COMMON, "chunk_size", "max_tokens", "max_levels", "max_parallel")


def build_group(
    part: GroupPart, tasks: Mapping[DataPath, TaskLike], context: Sequence[Task] | None, builder: Builder
) -> TaskLike | None:
    """Return a group; `None` when there was a problem.

    Args:
        part: its part.
        tasks: the tasks inside, by their paths in the part, without those that have problems.
        context: the tasks outside that it names.
        builder: its builder.
    """
    match part:
        case LoopPart():
            return _build_loop(part, list(tasks.values()), context, builder)
        case GraphPart():
            states = {str(path[-1]): task for path, task in tasks.items()}
            return _build_graph(part, states, context, builder)
        case MapReducePart():
            return _build_map_reduce(part, tasks, context, builder)
    raise TypeError(f"{type(part).__name__} is not the part of a group")


def _build_loop(
    part: LoopPart, tasks: Sequence[TaskLike], context: Sequence[Task] | None, builder: Builder
) -> Loop | None:
    settings = _list_given(part, _LOOP)
    if part.memory_window is not None:
        settings["memory"] = Window(part.memory_window)
        if part.memory is not None:
            builder.add_problem("there is a memory too: leave out one of them", "memoryWindow")
    until = find_function(part.until, builder, "until")
    if len(tasks) < len(part.tasks):
        return None
    return build_checked(lambda: Loop(tasks, until=until, context=context, **settings), part, builder)


def _build_graph(
    part: GraphPart, states: Mapping[str, TaskLike], context: Sequence[Task] | None, builder: Builder
) -> Graph | None:
    edges = [Edge(**build_values(Edge, edge, builder.at("edges", place))) for place, edge in enumerate(part.edges)]
    settings = _list_given(part, _GRAPH)
    if len(states) < len(part.states):
        return None
    return build_checked(lambda: Graph(states, edges=edges, context=context, **settings), part, builder)


def _build_map_reduce(
    part: MapReducePart, tasks: Mapping[DataPath, TaskLike], context: Sequence[Task] | None, builder: Builder
) -> MapReduce[Any] | None:
    def find_maker(maker: Maker | None, field: str) -> Any:  # noqa: ANN401 - a task, or a function of any argument
        return tasks.get((field,)) if isinstance(maker, Part) else find_function(maker, builder, field)

    items: Any = find_function(part.items, builder, "items") if isinstance(part.items, str) else part.items
    makers = {field: find_maker(getattr(part, field), field) for field in ("map", "reduce", "direct")}
    settings = {**makers, **_list_given(part, _MAP_REDUCE)}
    if (estimate := find_function(part.estimate, builder, "estimate")) is not None:
        settings["estimate"] = estimate
    if items is None or makers["map"] is None or makers["reduce"] is None:
        return None
    return build_checked(lambda: MapReduce(items, context=context, **settings), part, builder)


def _list_given(part: Part, names: Sequence[str]) -> dict[str, Any]:
    """Return the fields with these names that have a value."""
    return {name: value for name in names if (value := getattr(part, name)) is not None}


@dataclass(slots=True)
class _Entry:
    """Task that others may name.

    Attributes:
        key: the id.
        part: its part.
        builder: its builder.
        task: the task, once it is built; `None` when there was a problem.
        is_built: true when it has been built.
    """

    key: str
    part: Part
    builder: Builder
    task: Task | None = None
    is_built: bool = False


@dataclass(slots=True)
class _Progress:
    """State of the build of an ensemble, which its scopes share.

    Attributes:
        agents: the agents.
        building: the tasks that are being built, outermost first.
        has_unknown: true when a file with an ensemble could not be read, whose name is not known then.
    """

    agents: AgentDirectory
    building: list[_Entry] = field(default_factory=list)
    has_unknown: bool = False


class TaskScope:
    """Builder of tasks that may name each other: of an ensemble or of a group.

    The tasks of a group may name those around the group, too.
    """

    def __init__(self, agents: AgentDirectory) -> None:
        self._progress = _Progress(agents)
        self._outer: TaskScope | None = None
        self._entries: dict[str, _Entry] = {}

    def add(self, parts: Mapping[DataPath, Part], builder: Builder) -> None:
        """Add tasks, which all others may name.

        Args:
            parts: the tasks, by their paths.
            builder: the builder of the part around them.
        """
        for path, part in parts.items():
            part_builder = builder.at(*path)
            entry = self._create_entry(part, part_builder)
            if entry is None:
                self._progress.has_unknown = True
            elif entry.key in self._entries:
                part_builder.add_problem(f"several tasks have the id {entry.key!r}: give each an id of its own", "id")
            else:
                self._entries[entry.key] = entry

    def build_added(self, parts: Mapping[DataPath, Part]) -> dict[DataPath, Task]:
        """Return tasks that were added, by their paths, without those that have problems."""
        entries = {id(entry.part): entry for entry in self._entries.values()}
        found_entries = ((path, entries.get(id(part))) for path, part in parts.items())
        built = ((path, None if entry is None else self._build_entry(entry)) for path, entry in found_entries)
        return {path: task for path, task in built if task is not None}

    def build(self, part: Part, builder: Builder) -> Task | None:
        """Return a task that no other names; `None` when there was a problem."""
        made: TaskLike | None
        if isinstance(part, Blueprint):
            made = _build_ensemble(part, builder)
        elif isinstance(part, GroupPart):
            made = self._build_group(part, builder)
        else:
            assert isinstance(part, TaskPart)
            made = self._build_task(part, builder)
        return None if made is None else made.as_task()

    def _create_entry(self, part: Part, builder: Builder) -> _Entry | None:
        """Return the entry of a task; `None` for an ensemble without a known name."""
        if isinstance(part, TaskItemPart):
            return _Entry(part.key, part, builder)
        task = self.build(part, builder)
        name: str | None = getattr(part, "name", None) if task is None else task.id
        return None if name is None else _Entry(name, part, builder, task, is_built=True)

    def _build_entry(self, entry: _Entry) -> Task | None:
        """Return the task of an entry, after those that it has as context."""
        if not entry.is_built:
            self._progress.building.append(entry)
            entry.task = self.build(entry.part, entry.builder)
            self._progress.building.pop()
            entry.is_built = True
        return entry.task

    def _build_group(self, part: GroupPart, builder: Builder) -> TaskLike | None:
        scope = TaskScope(self._progress.agents)
        scope._progress, scope._outer = self._progress, self
        if isinstance(part, MapReducePart):  # its tasks are templates, which no other can name
            built = {path: scope.build(inner, builder.at(*path)) for path, inner in part.inner_tasks.items()}
            tasks = {path: task for path, task in built.items() if task is not None}
        else:
            scope.add(part.inner_tasks, builder)
            tasks = scope.build_added(part.inner_tasks)
        context = self._build_context(part, builder)
        return build_group(part, tasks, context, builder)

    def _build_task(self, part: TaskPart, builder: Builder) -> Task | None:
        only = (*PLAIN_TASK_FIELDS, "id", "description")
        settings = build_values(Task, part, builder, only=only) | {
            "agent": self._progress.agents.find(part, builder),
            "context": self._build_context(part, builder),
            "model": part.build_model(builder),
            "tools": part.build_tools(builder),
            "output_type": find_type(part.output_type, builder, "outputType"),
            "handler": self._build_handler(part, builder),
            "input_guardrails": build_guardrails(part.input_guardrails, builder, "inputGuardrails"),
            "output_guardrails": build_guardrails(part.output_guardrails, builder, "outputGuardrails"),
            "reflect": build_reflect(part.reflect, builder),
        }
        if part.reviews is not None:
            settings["review"] = build_gates(part.reviews, builder)
        return build_checked(lambda: Task(**settings), part, builder)

    def _build_handler(self, part: TaskPart, builder: Builder) -> object:
        if part.handler is None or isinstance(part.handler, str):
            return find_function(part.handler, builder, "handler")
        made = self.build(part.handler, builder.at("handler"))
        return None if made is None else made.handler

    def _build_context(self, part: TaskPart | GroupPart, builder: Builder) -> list[Task] | None:
        return None if part.context is None else list(self._find_context(part.context, builder))

    def _find_context(self, keys: tuple[str, ...], builder: Builder) -> Iterator[Task]:
        building = self._progress.building
        for place, key in enumerate(keys):
            if (entry := self._find_entry(key)) is None:
                if not self._progress.has_unknown:
                    hint = did_you_mean(key, self._list_keys())
                    builder.add_problem(f"there is no task with the id {key!r}.{hint}", "context", place)
            elif any(entry is other for other in building):
                first = next(number for number, other in enumerate(building) if other is entry)
                path = " -> ".join(repr(other.key) for other in (*building[first:], entry))
                builder.add_problem(f"circular context dependency: {path}. Remove one of these", "context", place)
            elif (task := self._build_entry(entry)) is not None:
                yield task

    def _find_entry(self, key: str) -> _Entry | None:
        if (entry := self._entries.get(key)) is not None or self._outer is None:
            return entry
        return self._outer._find_entry(key)

    def _list_keys(self) -> list[str]:
        return [*self._entries, *(() if self._outer is None else self._outer._list_keys())]


def _build_ensemble(part: Blueprint, builder: Builder) -> Ensemble | None:
    built = builder.build_node(part)
    if built is None or isinstance(built, Ensemble):
        return built
    builder.add_problem("only an ensemble can stand in the place of a task: write a task with it as the agent")
    return None
