"""Exporter of the phases of an ensemble to blueprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tactician.blueprint.ensembles.phase_parts import PersonPart, PhasePart, PhaseReviewPart
from tactician.blueprint.ensembles.task_exporter import TaskExporter
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.functions import export_function
from tactician.blueprint.settings import export_part
from tactician.ensemble import Phase, PhaseReview, Task
from tactician.ensemble.phases.review import PersonReview


def export_phases(phases: Sequence[Phase], tasks: TaskExporter, exporter: Exporter) -> Iterator[PhasePart]:
    """Yield the parts of phases."""
    for place, phase in enumerate(phases):
        here = exporter.at("phases", place)
        values = {
            "name": phase.name,
            "tasks": tasks.export_all(phase.own_tasks, here),
            "after": tuple(other.name for other in phase.after) or None,
            "workflow": phase.workflow,
            "review": None if phase.review is None else _export_review(phase.review, tasks, here.at("review")),
        }
        if (part := here.make(PhasePart, values)) is not None:
            yield part


def _export_review(review: PhaseReview, tasks: TaskExporter, here: Exporter) -> PhaseReviewPart | None:
    reviewer = review.reviewer
    default = PhaseReview.by_person()
    limits = {
        name: value
        for name in ("max_retries", "max_predecessor_retries")
        if (value := getattr(review, name)) != getattr(default, name)
    }
    if isinstance(reviewer, PersonReview):
        return here.make(PhaseReviewPart, {"person": export_part(PersonPart, reviewer, here), **limits})
    if isinstance(reviewer, Task):
        task = tasks.export_task(reviewer, here.at("task"))
        return None if task is None else here.make(PhaseReviewPart, {"task": task, **limits})
    function = export_function(reviewer, here, "function")
    return None if function is None else here.make(PhaseReviewPart, {"function": function, **limits})
