"""Scheduler of steps with stable keys and dependencies, run as soon as possible, within limits."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.flow.scheduler import Scheduler as Scheduler
    from tactician.flow.scheduler import gather_or_suspend as gather_or_suspend
    from tactician.flow.scheduler import run_steps as run_steps
    from tactician.flow.steps import ErrorPolicy as ErrorPolicy
    from tactician.flow.steps import FlowStep as FlowStep
    from tactician.flow.steps import RetryPolicy as RetryPolicy
    from tactician.flow.steps import StepCompleted as StepCompleted
    from tactician.flow.steps import StepFailed as StepFailed
    from tactician.flow.steps import StepOutcome as StepOutcome
    from tactician.flow.steps import StepSkipped as StepSkipped
    from tactician.flow.steps import StepSuspended as StepSuspended
    from tactician.flow.steps import run_with_retries as run_with_retries
    from tactician.flow.timeout import StepTimeoutError as StepTimeoutError
    from tactician.flow.timeout import run_with_timeout as run_with_timeout
    from tactician.flow.turns import Dependent as Dependent
    from tactician.flow.turns import run_in_turn as run_in_turn
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.flow.scheduler": "Scheduler gather_or_suspend run_steps",
            "tactician.flow.steps": (
                "RetryPolicy run_with_retries ErrorPolicy FlowStep StepCompleted StepFailed StepOutcome StepSkipped "
                "StepSuspended"
            ),
            "tactician.flow.timeout": "StepTimeoutError run_with_timeout",
            "tactician.flow.turns": "Dependent run_in_turn",
        },
    )
