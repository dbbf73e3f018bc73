"""Ensembles: tasks with an order, done by agents and functions."""

from tactician.ensemble.constraints import HierarchicalConstraints
from tactician.ensemble.ensemble import Ensemble
from tactician.ensemble.errors import (
    ConstraintViolationError,
    EnsembleDefinitionError,
    PhaseReviewError,
    ReviewRejectedError,
    TaskFailedError,
)
from tactician.ensemble.events import (
    DelegationCompleted,
    DelegationFailed,
    DelegationStarted,
    PhaseCompleted,
    PhaseFailed,
    PhaseReviewed,
    PhaseStarted,
    TaskCompleted,
    TaskFailed,
    TaskSkipped,
    TaskStarted,
)
from tactician.ensemble.outcomes import TaskOutputs
from tactician.ensemble.output import EnsembleResult, ExitReason, PhaseOutput, Revision, TaskInput, TaskOutput
from tactician.ensemble.phase_decisions import PhaseAttempt, PhaseDecision, PhaseReviewRecord
from tactician.ensemble.phases import OverdueReview, PersonReview, Phase, PhaseReview, PhaseReviewer
from tactician.ensemble.reviews import (
    AskPerson,
    ConsoleReviewer,
    Review,
    ReviewDecided,
    ReviewDecision,
    Reviewer,
    ReviewPolicy,
    ReviewRequested,
)
from tactician.ensemble.running import TaskErrorPolicy
from tactician.ensemble.task import Handler, Task
from tactician.ensemble.workflows import Workflow

__all__ = [
    "AskPerson",
    "ConsoleReviewer",
    "Review",
    "ReviewDecided",
    "ReviewDecision",
    "ReviewPolicy",
    "ReviewRejectedError",
    "ReviewRequested",
    "Reviewer",
    "ConstraintViolationError",
    "DelegationCompleted",
    "DelegationFailed",
    "DelegationStarted",
    "HierarchicalConstraints",
    "Ensemble",
    "EnsembleDefinitionError",
    "EnsembleResult",
    "ExitReason",
    "Handler",
    "OverdueReview",
    "PersonReview",
    "Phase",
    "PhaseAttempt",
    "PhaseCompleted",
    "PhaseDecision",
    "PhaseFailed",
    "PhaseOutput",
    "PhaseReview",
    "PhaseReviewError",
    "PhaseReviewRecord",
    "PhaseReviewed",
    "PhaseReviewer",
    "PhaseStarted",
    "Revision",
    "Task",
    "TaskCompleted",
    "TaskErrorPolicy",
    "TaskFailed",
    "TaskFailedError",
    "TaskInput",
    "TaskOutput",
    "TaskOutputs",
    "TaskSkipped",
    "TaskStarted",
    "Workflow",
]
