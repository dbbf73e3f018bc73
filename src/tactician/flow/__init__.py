"""Scheduler of steps with stable keys and dependencies, run as soon as possible, within limits."""

from tactician.flow.retry import RetryPolicy, run_with_retries
from tactician.flow.scheduler import Scheduler, gather_or_suspend, run_steps
from tactician.flow.steps import (
    ErrorPolicy,
    FlowStep,
    StepCompleted,
    StepFailed,
    StepOutcome,
    StepSkipped,
    StepSuspended,
)
from tactician.flow.timeout import StepTimeoutError, run_with_timeout
from tactician.flow.turns import run_in_turn

__all__ = [
    "Scheduler",
    "ErrorPolicy",
    "FlowStep",
    "StepOutcome",
    "StepCompleted",
    "StepFailed",
    "StepSkipped",
    "StepSuspended",
    "StepTimeoutError",
    "RetryPolicy",
    "run_in_turn",
    "run_steps",
    "gather_or_suspend",
    "run_with_retries",
    "run_with_timeout",
]
