"""Ensembles: tasks with an order, done by agents and functions."""

from tactician.ensemble.ensemble import Ensemble
from tactician.ensemble.errors import EnsembleDefinitionError, TaskFailedError
from tactician.ensemble.events import TaskCompleted, TaskFailed, TaskStarted
from tactician.ensemble.output import EnsembleResult, TaskOutput
from tactician.ensemble.running import TaskErrorPolicy
from tactician.ensemble.task import Handler, Task, TaskInput
from tactician.ensemble.workflows import Workflow

__all__ = [
    "Ensemble",
    "EnsembleDefinitionError",
    "EnsembleResult",
    "Handler",
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
