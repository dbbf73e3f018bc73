"""Builder of loops, graphs and map-reduces from their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.group_parts import GraphPart, GroupPart, LoopPart, Maker, MapReducePart
from tactician.blueprint.ensembles.mistakes import build_checked
from tactician.blueprint.functions import find_function
from tactician.blueprint.schema_base import Part
from tactician.blueprint.settings import build_values
from tactician.documents.data import DataPath
from tactician.ensemble import Edge, Graph, Loop, MapReduce, Task, Window
from tactician.ensemble.tasks.task import TaskLike

_COMMON: Final = ("id", "description")
_LOOP: Final = (*_COMMON, "max_iterations", "on_limit", "memory", "outputs")
_GRAPH: Final = (*_COMMON, "start", "max_steps")
_MAP_REDUCE: Final = (*_COMMON, "chunk_size", "max_tokens", "max_levels", "max_parallel")


def build_group(
    part: GroupPart, tasks: Mapping[DataPath, TaskLike], context: Sequence[Task] | None, here: Builder
) -> TaskLike | None:
    """Return a group; `None` when there was a problem.

    Args:
        part: its part.
        tasks: the tasks inside, by their paths in the part, without those that have problems.
        context: the tasks outside that it names.
        here: its builder.
    """
    match part:
        case LoopPart():
            return _build_loop(part, list(tasks.values()), context, here)
        case GraphPart():
            states = {str(path[-1]): task for path, task in tasks.items()}
            return _build_graph(part, states, context, here)
        case MapReducePart():
            return _build_map_reduce(part, tasks, context, here)
    raise TypeError(f"{type(part).__name__} is not the part of a group")


def _build_loop(
    part: LoopPart, tasks: Sequence[TaskLike], context: Sequence[Task] | None, here: Builder
) -> Loop | None:
    settings = _list_given(part, _LOOP)
    if part.memory_window is not None:
        settings["memory"] = Window(part.memory_window)
        if part.memory is not None:
            here.add_problem("there is a memory too: leave out one of them", "memoryWindow")
    until = find_function(part.until, here, "until")
    if len(tasks) < len(part.tasks):
        return None
    return build_checked(lambda: Loop(tasks, until=until, context=context, **settings), part, here)


def _build_graph(
    part: GraphPart, states: Mapping[str, TaskLike], context: Sequence[Task] | None, here: Builder
) -> Graph | None:
    edges = [Edge(**build_values(Edge, edge, here.at("edges", place))) for place, edge in enumerate(part.edges)]
    settings = _list_given(part, _GRAPH)
    if len(states) < len(part.states):
        return None
    return build_checked(lambda: Graph(states, edges=edges, context=context, **settings), part, here)


def _build_map_reduce(
    part: MapReducePart, tasks: Mapping[DataPath, TaskLike], context: Sequence[Task] | None, here: Builder
) -> MapReduce[Any] | None:
    def find_maker(maker: Maker | None, field: str) -> Any:  # noqa: ANN401 - a task, or a function of any argument
        return tasks.get((field,)) if isinstance(maker, Part) else find_function(maker, here, field)

    items: Any = find_function(part.items, here, "items") if isinstance(part.items, str) else part.items
    makers = {field: find_maker(getattr(part, field), field) for field in ("map", "reduce", "direct")}
    settings = {**makers, **_list_given(part, _MAP_REDUCE)}
    if (estimate := find_function(part.estimate, here, "estimate")) is not None:
        settings["estimate"] = estimate
    if items is None or makers["map"] is None or makers["reduce"] is None:
        return None
    return build_checked(lambda: MapReduce(items, context=context, **settings), part, here)


def _list_given(part: Part, names: Sequence[str]) -> dict[str, Any]:
    """Return the fields with these names that have a value."""
    return {name: value for name in names if (value := getattr(part, name)) is not None}
