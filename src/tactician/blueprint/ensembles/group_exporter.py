"""Exporter of loops, graphs and map-reduces to blueprints."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from tactician.blueprint.ensembles.group_parts import EdgePart, GraphPart, GroupPart, LoopPart, MapReducePart
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.functions import export_function
from tactician.blueprint.schema_base import Part
from tactician.blueprint.settings import export_part
from tactician.ensemble import Graph, Loop, MapReduce, Task, Window
from tactician.ensemble.groups.map_reduce import DEFAULT_CHUNK_SIZE
from tactician.grammar import add_article

Group = Loop | Graph | MapReduce[Any]
ExportTask = Callable[[Task, Exporter], Part | None]
_JSON: Final = (str, int, float, list, dict, type(None))


def export_group(group: Group, exporter: Exporter, export_task: ExportTask) -> GroupPart | None:
    """Return the part of a group; `None` when there was a problem.

    Args:
        group: the group.
        exporter: the exporter of its part.
        export_task: function that exports the tasks inside.
    """
    values: dict[str, object] = {
        "id": group.id,
        "description": group.own_description or None,
        "context": None if group.own_context is None else tuple(task.id for task in group.own_context),
    }
    match group:
        case Loop():
            return exporter.make(LoopPart, {**values, **_list_loop_fields(group, exporter, export_task)})
        case Graph():
            return exporter.make(GraphPart, {**values, **_list_graph_fields(group, exporter, export_task)})
        case _:
            return exporter.make(MapReducePart, {**values, **_list_map_reduce_fields(group, exporter, export_task)})


def _list_loop_fields(loop: Loop, exporter: Exporter, export_task: ExportTask) -> Mapping[str, object]:
    tasks = (export_task(task, exporter.at("tasks", place)) for place, task in enumerate(loop.parts.values()))
    window = loop.memory.iterations if isinstance(loop.memory, Window) else None
    return {
        "tasks": tuple(part for part in tasks if part is not None),
        "until": export_function(loop.until, exporter, "until"),
        "memory_window": window,
        **_list_changed(loop, "max_iterations", "on_limit", "outputs", *(() if window else ("memory",))),
    }


def _list_graph_fields(graph: Graph, exporter: Exporter, export_task: ExportTask) -> Mapping[str, object]:
    states = {name: export_task(task, exporter.at("states", name)) for name, task in graph.states.items()}
    return {
        "states": {name: part for name, part in states.items() if part is not None},
        "start": graph.start,
        "edges": tuple(
            export_part(EdgePart, edge, exporter.at("edges", place)) for place, edge in enumerate(graph.edges)
        ),
        **_list_changed(graph, "max_steps"),
    }


def _list_map_reduce_fields(group: MapReduce[Any], exporter: Exporter, export_task: ExportTask) -> Mapping[str, object]:
    def export_maker(field: str) -> Part | str | None:
        maker: Any = getattr(group, field)
        return (
            export_task(maker, exporter.at(field))
            if isinstance(maker, Task)
            else export_function(maker, exporter, field)
        )

    changed = _list_changed(group, "chunk_size", "max_tokens", "max_levels", "max_parallel", "estimate")
    if "estimate" in changed:
        changed["estimate"] = export_function(group.estimate, exporter, "estimate")
    if group.chunk_size == DEFAULT_CHUNK_SIZE:
        changed.pop("chunk_size", None)
    items = group.items
    return {
        "items": export_function(items, exporter, "items") if callable(items) else _export_items(items, exporter),
        **{field: export_maker(field) for field in ("map", "reduce", "direct")},
        **changed,
    }


def _export_items(items: tuple[object, ...], exporter: Exporter) -> tuple[object, ...] | str:
    """Return items as JSON. What is of another type would not be the same after its way there and back."""
    exported: list[object] = []
    for place, item in enumerate(items):
        try:
            data = to_jsonable_python(item)
            json.dumps(data, allow_nan=False)
        except (PydanticSerializationError, ValueError):
            data = None
        if data == item and isinstance(item, _JSON):
            exported.append(data)
        else:
            why = (
                f"{add_article(type(item).__name__)} has no JSON form: write the items "
                "as JSON, or a function that returns them"
            )
            exporter.add_problem(why, "items", place)
    return tuple(exported) or "items"  # of no item there is a problem already


def _list_changed(group: Group, *names: str) -> dict[str, object]:
    """Return the settings with these names that differ from their defaults."""
    parameters = inspect.signature(type(group)).parameters
    values = {name: getattr(group, name) for name in names}
    return {name: value for name, value in values.items() if value != parameters[name].default}
