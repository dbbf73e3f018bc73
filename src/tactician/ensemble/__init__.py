"""Ensembles: tasks with an order, done by agents and functions."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.ensemble.delegation.events import DelegationCompleted as DelegationCompleted
    from tactician.ensemble.delegation.events import DelegationFailed as DelegationFailed
    from tactician.ensemble.delegation.events import DelegationStarted as DelegationStarted
    from tactician.ensemble.ensemble import Ensemble as Ensemble
    from tactician.ensemble.groups.graphs import END as END
    from tactician.ensemble.groups.graphs import Edge as Edge
    from tactician.ensemble.groups.graphs import Graph as Graph
    from tactician.ensemble.groups.loops import Loop as Loop
    from tactician.ensemble.groups.loops import Window as Window
    from tactician.ensemble.groups.map_reduce import MapReduce as MapReduce
    from tactician.ensemble.learning.reflection import Improvement as Improvement
    from tactician.ensemble.learning.reflection import Reflection as Reflection
    from tactician.ensemble.learning.reflection import ReflectionInput as ReflectionInput
    from tactician.ensemble.learning.reflection import TaskReflection as TaskReflection
    from tactician.ensemble.learning.reflection_stores import InProcessReflections as InProcessReflections
    from tactician.ensemble.learning.reflection_stores import ReflectionStore as ReflectionStore
    from tactician.ensemble.learning.reflection_stores import SqlReflections as SqlReflections
    from tactician.ensemble.learning.scoped_memory import InProcessMemory as InProcessMemory
    from tactician.ensemble.learning.scoped_memory import SqlMemory as SqlMemory
    from tactician.ensemble.learning.scopes import Scope as Scope
    from tactician.ensemble.learning.scopes import ScopeEntry as ScopeEntry
    from tactician.ensemble.learning.scopes import days as days
    from tactician.ensemble.phases.events import PhaseCompleted as PhaseCompleted
    from tactician.ensemble.phases.events import PhaseFailed as PhaseFailed
    from tactician.ensemble.phases.events import PhaseResumed as PhaseResumed
    from tactician.ensemble.phases.events import PhaseReviewed as PhaseReviewed
    from tactician.ensemble.phases.events import PhaseStarted as PhaseStarted
    from tactician.ensemble.phases.phase import Phase as Phase
    from tactician.ensemble.phases.review import PhaseReview as PhaseReview
    from tactician.ensemble.reviews.console import ConsoleReviewer as ConsoleReviewer
    from tactician.ensemble.reviews.decision import ReviewDecision as ReviewDecision
    from tactician.ensemble.reviews.events import ReviewDecided as ReviewDecided
    from tactician.ensemble.reviews.events import ReviewRequested as ReviewRequested
    from tactician.ensemble.reviews.questions import AskPerson as AskPerson
    from tactician.ensemble.reviews.review import Review as Review
    from tactician.ensemble.reviews.review import ReviewPolicy as ReviewPolicy
    from tactician.ensemble.tasks.events import TaskCompleted as TaskCompleted
    from tactician.ensemble.tasks.events import TaskFailed as TaskFailed
    from tactician.ensemble.tasks.events import TaskReflected as TaskReflected
    from tactician.ensemble.tasks.events import TaskRestored as TaskRestored
    from tactician.ensemble.tasks.events import TaskResumed as TaskResumed
    from tactician.ensemble.tasks.events import TaskSkipped as TaskSkipped
    from tactician.ensemble.tasks.events import TaskStarted as TaskStarted
    from tactician.ensemble.tasks.events import TaskSuspended as TaskSuspended
    from tactician.ensemble.tasks.task import Task as Task
    from tactician.ensemble.tasks.workflows import Workflow as Workflow
    from tactician.ensemble.values.constraints import HierarchicalConstraints as HierarchicalConstraints
    from tactician.ensemble.values.delegation import Delegation as Delegation
    from tactician.ensemble.values.delegation import DelegationContext as DelegationContext
    from tactician.ensemble.values.delegation import DelegationDecision as DelegationDecision
    from tactician.ensemble.values.delegation import DelegationRequest as DelegationRequest
    from tactician.ensemble.values.delegation import DelegationResponse as DelegationResponse
    from tactician.ensemble.values.errors import CompositeError as CompositeError
    from tactician.ensemble.values.errors import ConstraintViolationError as ConstraintViolationError
    from tactician.ensemble.values.errors import EnsembleDefinitionError as EnsembleDefinitionError
    from tactician.ensemble.values.errors import GraphError as GraphError
    from tactician.ensemble.values.errors import LoopLimitError as LoopLimitError
    from tactician.ensemble.values.errors import MapReduceError as MapReduceError
    from tactician.ensemble.values.errors import PhaseReviewError as PhaseReviewError
    from tactician.ensemble.values.errors import PredicateError as PredicateError
    from tactician.ensemble.values.errors import ReviewRejectedError as ReviewRejectedError
    from tactician.ensemble.values.errors import TaskFailedError as TaskFailedError
    from tactician.ensemble.values.outcomes import TaskOutputs as TaskOutputs
    from tactician.ensemble.values.phase_decisions import PhaseDecision as PhaseDecision
    from tactician.ensemble.values.results import EnsembleResult as EnsembleResult
    from tactician.ensemble.values.results import ExitReason as ExitReason
    from tactician.ensemble.values.task_input import Revision as Revision
    from tactician.ensemble.values.task_input import TaskInput as TaskInput
    from tactician.ensemble.values.task_output import TaskOutput as TaskOutput
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.ensemble.delegation.events": "DelegationCompleted DelegationFailed DelegationStarted",
            "tactician.ensemble.ensemble": "Ensemble",
            "tactician.ensemble.groups.graphs": "END Edge Graph",
            "tactician.ensemble.groups.loops": "Loop Window",
            "tactician.ensemble.groups.map_reduce": "MapReduce",
            "tactician.ensemble.learning.reflection": "Improvement Reflection ReflectionInput TaskReflection",
            "tactician.ensemble.learning.reflection_stores": "InProcessReflections ReflectionStore SqlReflections",
            "tactician.ensemble.learning.scoped_memory": "InProcessMemory SqlMemory",
            "tactician.ensemble.learning.scopes": "Scope ScopeEntry days",
            "tactician.ensemble.phases.events": "PhaseCompleted PhaseFailed PhaseResumed PhaseReviewed PhaseStarted",
            "tactician.ensemble.phases.phase": "Phase",
            "tactician.ensemble.phases.review": "PhaseReview",
            "tactician.ensemble.reviews.console": "ConsoleReviewer",
            "tactician.ensemble.reviews.decision": "ReviewDecision",
            "tactician.ensemble.reviews.events": "ReviewDecided ReviewRequested",
            "tactician.ensemble.reviews.questions": "AskPerson",
            "tactician.ensemble.reviews.review": "Review ReviewPolicy",
            "tactician.ensemble.tasks.events": (
                "TaskCompleted TaskFailed TaskReflected TaskRestored TaskResumed TaskSkipped TaskStarted TaskSuspended"
            ),
            "tactician.ensemble.tasks.task": "Task",
            "tactician.ensemble.tasks.workflows": "Workflow",
            "tactician.ensemble.values.constraints": "HierarchicalConstraints",
            "tactician.ensemble.values.delegation": (
                "Delegation DelegationContext DelegationDecision DelegationRequest DelegationResponse"
            ),
            "tactician.ensemble.values.errors": (
                "CompositeError ConstraintViolationError EnsembleDefinitionError GraphError LoopLimitError "
                "MapReduceError PhaseReviewError PredicateError ReviewRejectedError TaskFailedError"
            ),
            "tactician.ensemble.values.outcomes": "TaskOutputs",
            "tactician.ensemble.values.phase_decisions": "PhaseDecision",
            "tactician.ensemble.values.results": "EnsembleResult ExitReason",
            "tactician.ensemble.values.task_input": "Revision TaskInput",
            "tactician.ensemble.values.task_output": "TaskOutput",
        },
    )
