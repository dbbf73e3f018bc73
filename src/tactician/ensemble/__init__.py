"""Ensembles: tasks with an order, done by agents and functions."""

from tactician.ensemble.constraints import HierarchicalConstraints
from tactician.ensemble.delegation import (
    Delegation,
    DelegationContext,
    DelegationDecision,
    DelegationPolicy,
    DelegationPriority,
    DelegationRequest,
    DelegationResponse,
    DelegationStatus,
)
from tactician.ensemble.ensemble import Ensemble
from tactician.ensemble.errors import (
    CompositeError,
    ConstraintViolationError,
    EnsembleDefinitionError,
    GraphError,
    LoopLimitError,
    MapReduceError,
    PhaseReviewError,
    PredicateError,
    TaskFailedError,
)
from tactician.ensemble.events import (
    DelegationCompleted,
    DelegationFailed,
    DelegationStarted,
    PhaseCompleted,
    PhaseFailed,
    PhaseResumed,
    PhaseReviewed,
    PhaseStarted,
    TaskCompleted,
    TaskFailed,
    TaskRestored,
    TaskResumed,
    TaskSkipped,
    TaskStarted,
    TaskSuspended,
)
from tactician.ensemble.graphs import END, Edge, Graph
from tactician.ensemble.loops import Loop, Window
from tactician.ensemble.map_reduce import MapReduce
from tactician.ensemble.outcomes import TaskOutputs
from tactician.ensemble.output import EnsembleResult, ExitReason, PhaseOutput, Revision, TaskInput, TaskOutput
from tactician.ensemble.phase_decisions import PhaseAttempt, PhaseDecision, PhaseReviewRecord
from tactician.ensemble.phases import OverdueReview, PersonReview, Phase, PhaseReview, PhaseReviewer
from tactician.ensemble.running import TaskErrorPolicy
from tactician.ensemble.task import Handler, Task, TaskLike
from tactician.ensemble.workflows import Workflow

__all__ = [
    "CompositeError",
    "ConstraintViolationError",
    "Delegation",
    "DelegationCompleted",
    "DelegationContext",
    "DelegationDecision",
    "DelegationFailed",
    "DelegationPolicy",
    "DelegationPriority",
    "DelegationRequest",
    "DelegationResponse",
    "DelegationStarted",
    "DelegationStatus",
    "END",
    "Edge",
    "HierarchicalConstraints",
    "Ensemble",
    "EnsembleDefinitionError",
    "EnsembleResult",
    "ExitReason",
    "Graph",
    "GraphError",
    "Handler",
    "Loop",
    "LoopLimitError",
    "MapReduce",
    "MapReduceError",
    "OverdueReview",
    "PersonReview",
    "Phase",
    "PhaseAttempt",
    "PhaseCompleted",
    "PhaseDecision",
    "PhaseFailed",
    "PhaseResumed",
    "PhaseOutput",
    "PhaseReview",
    "PhaseReviewError",
    "PhaseReviewRecord",
    "PhaseReviewed",
    "PhaseReviewer",
    "PhaseStarted",
    "PredicateError",
    "Revision",
    "Task",
    "TaskCompleted",
    "TaskErrorPolicy",
    "TaskFailed",
    "TaskFailedError",
    "TaskInput",
    "TaskLike",
    "TaskOutput",
    "TaskOutputs",
    "TaskRestored",
    "TaskResumed",
    "TaskSkipped",
    "TaskStarted",
    "TaskSuspended",
    "Window",
    "Workflow",
]
