"""Phases: groups of tasks with an order of their own, and reviews that decide whether their outputs are good enough."""

from tactician.ensemble.phases.drawing import draw_reviews
from tactician.ensemble.phases.following import run_phases
from tactician.ensemble.phases.phase import Phase
from tactician.ensemble.phases.plan import PhasePlan
from tactician.ensemble.phases.review import PersonReview, PhaseReview, PhaseReviewer

__all__ = [
    "PersonReview",
    "Phase",
    "PhasePlan",
    "PhaseReview",
    "PhaseReviewer",
    "draw_reviews",
    "run_phases",
]
