"""Ensembles: tasks with an order, done by agents and functions."""

from tactician.ensemble.delegation.events import DelegationCompleted, DelegationFailed, DelegationStarted
from tactician.ensemble.ensemble import Ensemble
from tactician.ensemble.groups.graphs import END, Edge, Graph
from tactician.ensemble.groups.loops import Loop, Window
from tactician.ensemble.groups.map_reduce import DEFAULT_CHUNK_SIZE, MapReduce
from tactician.ensemble.learning.meaning import Embedder
from tactician.ensemble.learning.reflection import (
    Improvement,
    Reflection,
    ReflectionInput,
    ReflectionStrategy,
    TaskReflection,
)
from tactician.ensemble.learning.reflection_stores import MemoryReflections, ReflectionStore, SqlReflections
from tactician.ensemble.learning.scoped_memory import InProcessMemory, ScopedMemory, SqlMemory
from tactician.ensemble.learning.scopes import Scope, ScopeEntry, days
from tactician.ensemble.nested import NestedEnsemble
from tactician.ensemble.phases.events import PhaseCompleted, PhaseFailed, PhaseResumed, PhaseReviewed, PhaseStarted
from tactician.ensemble.phases.phase import Phase
from tactician.ensemble.phases.review import PersonReview, PhaseReview, PhaseReviewer
from tactician.ensemble.reviews.console import ConsoleReviewer
from tactician.ensemble.reviews.decision import ReviewDecision
from tactician.ensemble.reviews.events import ReviewDecided, ReviewRequested
from tactician.ensemble.reviews.questions import AskPerson
from tactician.ensemble.reviews.review import OnTimeout, Review, ReviewPolicy
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.ensemble.reviews.terminal import rest_while_asking
from tactician.ensemble.tasks.events import (
    TaskCompleted,
    TaskFailed,
    TaskReflected,
    TaskRestored,
    TaskResumed,
    TaskSkipped,
    TaskStarted,
    TaskSuspended,
)
from tactician.ensemble.tasks.task import Handler, Task, TaskLike
from tactician.ensemble.tasks.workflows import Workflow
from tactician.ensemble.values.constraints import HierarchicalConstraints
from tactician.ensemble.values.delegation import (
    Delegation,
    DelegationContext,
    DelegationDecision,
    DelegationPolicy,
    DelegationPriority,
    DelegationRequest,
    DelegationResponse,
    DelegationStatus,
)
from tactician.ensemble.values.errors import (
    CompositeError,
    ConstraintViolationError,
    EnsembleDefinitionError,
    GraphError,
    LoopLimitError,
    MapReduceError,
    PhaseReviewError,
    PredicateError,
    ReviewRejectedError,
    TaskFailedError,
)
from tactician.ensemble.values.outcomes import TaskOutputs
from tactician.ensemble.values.phase_decisions import PhaseAttempt, PhaseDecision, PhaseReviewRecord
from tactician.ensemble.values.results import EnsembleResult, ExitReason, PhaseOutput
from tactician.ensemble.values.task_input import Revision, TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.composite import Composite, find_composite
from tactician.ensemble.work.running import TaskErrorPolicy

__all__ = [
    "AskPerson",
    "Composite",
    "CompositeError",
    "ConsoleReviewer",
    "Review",
    "ReviewDecided",
    "ReviewDecision",
    "ReviewPolicy",
    "ReviewRejectedError",
    "ReviewRequested",
    "Reviewer",
    "ConstraintViolationError",
    "Delegation",
    "DelegationCompleted",
    "DEFAULT_CHUNK_SIZE",
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
    "Embedder",
    "Improvement",
    "InProcessMemory",
    "Loop",
    "LoopLimitError",
    "MapReduce",
    "MapReduceError",
    "MemoryReflections",
    "NestedEnsemble",
    "OnTimeout",
    "Reflection",
    "ReflectionInput",
    "ReflectionStore",
    "ReflectionStrategy",
    "Scope",
    "ScopeEntry",
    "ScopedMemory",
    "SqlMemory",
    "SqlReflections",
    "TaskReflected",
    "TaskReflection",
    "days",
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
    "find_composite",
    "rest_while_asking",
    "TaskSuspended",
    "Window",
    "Workflow",
]
