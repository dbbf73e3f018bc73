"""Execution of a task in a run of an ensemble, as the steps of its lifecycle see it."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.ensemble.assignment import Assignment
from tactician.ensemble.learning import AT_ONCE, LearningOutbox
from tactician.ensemble.task_input import TaskInput
from tactician.ensemble.task_progress import TaskProgress
from tactician.runs import RunContext, RunResult, RunStatus


@dataclass(slots=True)
class TaskExecution:
    """Execution of a task in a run.

    Attributes:
        job: the task.
        input: its input, to which its first steps add what earlier runs have left.
        place: the context of the task, whose checkpoint has the progress.
        progress: the progress.
        outbox: the outbox for what the task leaves for later runs.
    """

    job: Assignment
    input: TaskInput
    place: RunContext
    progress: TaskProgress
    outbox: LearningOutbox = AT_ONCE

    def withdraw(self) -> None:
        """Drop what tasks inside of the task have left for later runs, since it is done again."""
        assert self.place.checkpoint is not None
        self.outbox.withdraw(self.place.checkpoint.path)

    def create_failed_result(self) -> RunResult[None]:
        """Return the result of the run so far, for errors."""
        return RunResult(None, RunStatus.FAILED, tally=self.place.tally, run_id=self.place.run_id)
