"""Exporter of ensembles to blueprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tactician.blueprint.ensembles.context_formats import export_context_format
from tactician.blueprint.ensembles.ensemble import EnsembleBlueprint
from tactician.blueprint.ensembles.functions import export_object
from tactician.blueprint.ensembles.group_exporter import Group
from tactician.blueprint.ensembles.learning import export_memory, export_reflections
from tactician.blueprint.ensembles.model_fields import export_model_fields, export_tool_fields
from tactician.blueprint.ensembles.phase_parts import PersonPart, PhasePart, PhaseReviewPart
from tactician.blueprint.ensembles.synthesis import export_synthesis
from tactician.blueprint.ensembles.task_exporter import TaskExporter
from tactician.blueprint.ensembles.team_settings import BudgetPart, ConstraintsPart, export_delegation
from tactician.blueprint.exporter import Exporter, blueprint_exporter
from tactician.blueprint.functions import export_function
from tactician.blueprint.models import export_trace
from tactician.blueprint.rules import export_rules
from tactician.blueprint.settings import export_part
from tactician.ensemble import Ensemble, Graph, Loop, MapReduce, Phase, PhaseReview, ReviewPolicy, Task
from tactician.ensemble.phases.review import PersonReview

_GROUPS: tuple[type[Group], ...] = (Loop, Graph, MapReduce)


def export_phases(phases: Sequence[Phase], tasks: TaskExporter, exporter: Exporter) -> Iterator[PhasePart]:
    """Yield the parts of phases."""
    for place, phase in enumerate(phases):
        part_exporter = exporter.at("phases", place)
        values = {
            "name": phase.name,
            "tasks": tasks.export_all(phase.own_tasks, part_exporter),
            "after": tuple(other.name for other in phase.after) or None,
            "workflow": phase.workflow,
            "review": None if phase.review is None else _export_review(phase.review, tasks, part_exporter.at("review")),
        }
        if (part := part_exporter.make(PhasePart, values)) is not None:
            yield part


def _export_review(review: PhaseReview, tasks: TaskExporter, exporter: Exporter) -> PhaseReviewPart | None:
    reviewer = review.reviewer
    default = PhaseReview.by_person()
    limits = {
        name: value
        for name in ("max_retries", "max_predecessor_retries")
        if (value := getattr(review, name)) != getattr(default, name)
    }
    if isinstance(reviewer, PersonReview):
        return exporter.make(PhaseReviewPart, {"person": export_part(PersonPart, reviewer, exporter), **limits})
    if isinstance(reviewer, Task):
        task = tasks.export_task(reviewer, exporter.at("task"))
        return None if task is None else exporter.make(PhaseReviewPart, {"task": task, **limits})
    function = export_function(reviewer, exporter, "function")
    return None if function is None else exporter.make(PhaseReviewPart, {"function": function, **limits})


@blueprint_exporter(Ensemble)
def export_ensemble(ensemble: Ensemble, exporter: Exporter) -> EnsembleBlueprint | None:
    """Return the blueprint of an ensemble."""
    values = {
        "name": ensemble.name,
        "description": ensemble.own_description or None,
        "trace_metadata": export_trace(ensemble.trace),
        **_list_team_fields(ensemble, exporter),
        **_list_run_fields(ensemble, exporter),
        **export_model_fields(ensemble.model, exporter),
        **export_tool_fields(ensemble.tools, exporter),
    }
    return exporter.make(EnsembleBlueprint, values)


def export_group_alone(group: Group, exporter: Exporter) -> EnsembleBlueprint | None:
    """Return the blueprint of a group that is no task of an ensemble, as an ensemble with the group alone."""
    ensemble = Ensemble(group.name, [group])
    ensemble.trace = group.trace
    return export_ensemble(ensemble, exporter)


for _kind in _GROUPS:
    blueprint_exporter(_kind)(export_group_alone)


def _list_team_fields(ensemble: Ensemble, exporter: Exporter) -> dict[str, Any]:
    agents, tasks = ensemble.agents, TaskExporter(ensemble.agents or ())
    return {
        "agents": None if agents is None else exporter.export_nodes(agents, "agents"),  # type: ignore[arg-type]
        "tasks": None if ensemble.phases else tasks.export_all(ensemble.tasks, exporter),
        "phases": tuple(export_phases(ensemble.phases, tasks, exporter)) or None,
        "workflow": ensemble.given_workflow,
        "manager": None if ensemble.manager is None else exporter.export_node(ensemble.manager, "manager"),
        "constraints": export_part(ConstraintsPart, ensemble.constraints, exporter.at("constraints")),
        "delegation": export_delegation(ensemble.delegation, exporter),
        "synthesize": export_synthesis(ensemble.synthesize, exporter),
    }


def _list_run_fields(ensemble: Ensemble, exporter: Exporter) -> dict[str, Any]:
    listeners = (
        export_object(listener, "the listener", exporter, "listeners", place)
        for place, listener in enumerate(ensemble.listeners)
    )
    return {
        "memory": export_memory(ensemble.memory, exporter),
        "reflections": export_reflections(ensemble.reflections, exporter),
        "on_error": ensemble.on_error if ensemble.on_error != "fail_fast" else None,
        "max_parallel": ensemble.max_parallel,
        "rate_limit": None if ensemble.rate_limit is None else float(ensemble.rate_limit),
        "review_policy": ensemble.review_policy if ensemble.review_policy is not ReviewPolicy.NEVER else None,
        "reviewer": export_object(ensemble.reviewer, "the reviewer", exporter, "reviewer"),
        "listeners": tuple(name for name in listeners if name is not None) or None,
        **export_context_format(ensemble.context_format, exporter),
        "capture": ensemble.capture,
        "rules": export_rules(ensemble.rules),
        "budget": export_part(BudgetPart, ensemble.budget, exporter.at("budget")),
    }
