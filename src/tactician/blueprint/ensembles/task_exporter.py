"""Exporter of the tasks of an ensemble to blueprints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Final

from tactician.agents.planned.specs import as_runnable
from tactician.blueprint.abilities import export_guardrails
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.ensembles.gates import export_gates
from tactician.blueprint.ensembles.group_exporter import export_group
from tactician.blueprint.ensembles.model_fields import export_model_fields, export_tool_fields
from tactician.blueprint.ensembles.reflection import export_reflect
from tactician.blueprint.ensembles.task_parts import PLAIN_TASK_FIELDS, TaskPart
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.functions import export_function
from tactician.blueprint.schema_base import Part
from tactician.blueprint.settings import export_values
from tactician.ensemble import Ensemble, Graph, Loop, MapReduce, Task
from tactician.ensemble.nested import NestedEnsemble
from tactician.ensemble.work.composite import Composite, find_composite
from tactician.grammar import add_article

_EXPRESSED: Final = frozenset(
    {
        *(*PLAIN_TASK_FIELDS, "_", "id", "description", "agent", "context", "output_type", "tools", "model", "handler"),
        *("input_guardrails", "output_guardrails", "reflect", "review"),
    }
)


class TaskExporter:
    """Exporter of the tasks of an ensemble. An agent is written once, and named elsewhere.

    Args:
        agents: the agents that are written elsewhere.
    """

    def __init__(self, agents: Sequence[object]) -> None:
        self._written = list(agents)

    def export_all(self, tasks: Sequence[Task], exporter: Exporter) -> tuple[Part, ...]:
        """Return the parts of tasks."""
        parts = (self.export(task, exporter.at("tasks", place)) for place, task in enumerate(tasks))
        return tuple(part for part in parts if part is not None)

    def export(self, task: Task, exporter: Exporter) -> Part | None:
        """Return the part of a task, or of the group or the ensemble in its place."""
        composite = find_composite(task)
        if composite is not None and composite.as_task() is task:
            return self._export_composite(composite, exporter)
        return self.export_task(task, exporter)

    def export_task(self, task: Task, exporter: Exporter) -> TaskPart | None:
        """Return the part of a task."""
        for field in fields(task):
            default = None if field.default is MISSING else field.default
            if field.name not in _EXPRESSED and getattr(task, field.name) not in (default, None, (), [], {}):
                exporter.add_problem(f"the setting {field.name!r} of a task cannot be saved in a blueprint")
        values = {
            "id": task.id if task.id != task.description else None,
            "description": task.description,
            "agent": None if task.agent is None else self._export_agent(task.agent, exporter),
            "context": None if task.context is None else tuple(other.id for other in task.named_context),
            "handler": self._export_handler(task, exporter),
            **export_values(Task, task, exporter, only=PLAIN_TASK_FIELDS),
            "output_type": exporter.find_type_name(task.output_type, "outputType"),
            "input_guardrails": export_guardrails(task.guards.input.all, exporter, "inputGuardrails") or None,
            "output_guardrails": export_guardrails(task.guards.output, exporter, "outputGuardrails") or None,
            "reflect": export_reflect(task.reflect, exporter),
            "reviews": export_gates(task.reviews, exporter),
            **export_model_fields(task.model, exporter),
            **export_tool_fields(task.tools, exporter),
        }
        return exporter.make(TaskPart, values)

    def _export_handler(self, task: Task, exporter: Exporter) -> Part | str | None:
        if (composite := find_composite(task)) is not None:
            return self._export_composite(composite, exporter.at("handler"))
        return export_function(task.handler, exporter, "handler")

    def _export_composite(self, composite: Composite, exporter: Exporter) -> Part | None:
        match composite:
            case Loop() | Graph() | MapReduce():
                return export_group(composite, exporter, self.export)
            case NestedEnsemble(ensemble=Ensemble() as ensemble):
                return exporter.export_node(ensemble)
        exporter.add_problem(f"{add_article(type(composite).__name__)} has no blueprint")
        return None

    def _export_agent(self, agent: object, exporter: Exporter) -> Blueprint | str | None:
        """Return an agent, or its name when it was written before."""
        runnable = as_runnable(agent)
        assert runnable is not None, "a task checks its agent"
        if not any(agent is other for other in self._written):
            self._written.append(agent)
            return exporter.export_node(runnable, "agent")
        name = runnable.name
        if sum(getattr(as_runnable(other), "name", None) == name for other in self._written) > 1:
            exporter.add_problem(
                f"several agents have the name {name!r}, and tasks share one: give each its own", "agent"
            )
        return name
