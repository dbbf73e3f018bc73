"""Ensembles: tasks with an order, done by agents and functions."""

from tactician.ensemble.constraints import HierarchicalConstraints
from tactician.ensemble.ensemble import Ensemble
from tactician.ensemble.errors import (
    ConstraintViolationError,
    EnsembleDefinitionError,
    ReviewRejectedError,
    TaskFailedError,
)
from tactician.ensemble.events import (
    DelegationCompleted,
    DelegationFailed,
    DelegationStarted,
    TaskCompleted,
    TaskFailed,
    TaskSkipped,
    TaskStarted,
)
from tactician.ensemble.outcomes import TaskOutputs
from tactician.ensemble.output import EnsembleResult, ExitReason, Revision, TaskInput, TaskOutput
from tactician.ensemble.reviews import (
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
