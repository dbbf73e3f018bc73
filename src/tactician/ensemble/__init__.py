"""Ensembles: tasks with an order, done by agents and functions."""

from tactician.ensemble.constraints import HierarchicalConstraints
from tactician.ensemble.ensemble import Ensemble
from tactician.ensemble.errors import ConstraintViolationError, EnsembleDefinitionError, TaskFailedError
from tactician.ensemble.events import (
    DelegationCompleted,
    DelegationFailed,
    DelegationStarted,
    TaskCompleted,
    TaskFailed,
    TaskStarted,
)
from tactician.ensemble.output import EnsembleResult, Revision, TaskInput, TaskOutput
from tactician.ensemble.running import TaskErrorPolicy
from tactician.ensemble.task import Handler, Task
from tactician.ensemble.workflows import Workflow

__all__ = [
    "ConstraintViolationError",
    "DelegationCompleted",
    "DelegationFailed",
    "DelegationStarted",
    "HierarchicalConstraints",
    "Ensemble",
    "EnsembleDefinitionError",
    "EnsembleResult",
    "Handler",
    "Revision",
    "Task",
    "TaskCompleted",
    "TaskErrorPolicy",
    "TaskFailed",
    "TaskFailedError",
    "TaskInput",
    "TaskOutput",
    "TaskStarted",
    "Workflow",
]
