"""Execution of a task in a run of an ensemble, as the steps of its lifecycle see it."""

from __future__ import annotations

from tactician.ensemble.assignment import Assignment
from tactician.ensemble.early_exit import EarlyExit
from tactician.ensemble.learning import LearningOutbox
from tactician.ensemble.outcomes import TaskOutcome
from tactician.ensemble.task_input import TaskInput
from tactician.ensemble.task_progress import TaskProgress
from tactician.runs import RunContext, RunResult, RunStatus


class TaskExecution:
    """Execution of a task in a run.

    Attributes:
        job: the task.
        input: its input, to which its first steps add what earlier runs have left.
        place: the context of the task, whose checkpoint has the progress.
        progress: the progress.
        outbox: the outbox for what the task leaves for later runs.
        exit: the early end of the run.
        outcomes: the outcomes of the tasks of the run so far, to which that of this task is added.
    """

    __slots__ = ("exit", "input", "job", "outbox", "outcomes", "place", "progress")

    def __init__(
        self,
        job: Assignment,
        input: TaskInput,
        place: RunContext,
        progress: TaskProgress,
        outbox: LearningOutbox,
        exit: EarlyExit,
        outcomes: dict[str, TaskOutcome],
    ) -> None:
        self.job = job
        self.input = input
        self.place = place
        self.progress = progress
        self.outbox = outbox
        self.exit = exit
        self.outcomes = outcomes

    def withdraw(self) -> None:
        """Drop what tasks inside of the task have left for later runs, since it is done again."""
        assert self.place.checkpoint is not None
        self.outbox.withdraw(self.place.checkpoint.path)

    def create_failed_result(self) -> RunResult[None]:
        """Return the result of the run so far, for errors."""
        return RunResult(None, RunStatus.FAILED, tally=self.place.tally, run_id=self.place.run_id)
