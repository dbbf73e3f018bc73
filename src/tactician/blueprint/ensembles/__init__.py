"""Blueprints of ensembles: tasks with an order, and what may stand in the place of a task."""

from tactician.blueprint.ensembles.ensemble import EnsembleBlueprint
from tactician.blueprint.ensembles.ensemble_exporter import export_ensemble
from tactician.blueprint.ensembles.gates import ReviewPart
from tactician.blueprint.ensembles.phase_parts import PhasePart, PhaseReviewPart
from tactician.blueprint.ensembles.task_parts import (
    GROUP_ITEM,
    GROUP_KINDS,
    TASK_ITEM,
    TASK_KINDS,
    TaskItemPart,
    TaskPart,
)

__all__ = [
    "EnsembleBlueprint",
    "export_ensemble",
    "TaskItemPart",
    "TaskPart",
    "TASK_KINDS",
    "TASK_ITEM",
    "GROUP_KINDS",
    "GROUP_ITEM",
    "PhasePart",
    "PhaseReviewPart",
    "ReviewPart",
]
