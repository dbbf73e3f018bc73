"""Plan of a task, and its execution in a run of an ensemble, as the steps of its lifecycle see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from tactician.ensemble.learning.outbox import LearningOutbox
from tactician.ensemble.values.early_exit import EarlyExit
from tactician.ensemble.values.outcomes import TaskOutcome
from tactician.ensemble.values.output_encoding import OutputCodec
from tactician.ensemble.values.task_input import Revision, TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.template import Template
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.task_reviews import ReviewSettings
from tactician.ensemble.work.task_work import Work
from tactician.frozen import frozen
from tactician.runs import RunContext, RunError, RunResult, RunStatus
from tactician.runs.outcomes.errors import is_limit
from tactician.runs.progress.checkpoint import Checkpoint, Live, revive
from tactician.text import describe_error

Start: TypeAlias = Callable[["TaskExecution"], Awaitable[RunResult[object]]]
"""Function that begins the first attempt at a task."""
Preparation: TypeAlias = Callable[["TaskExecution"], Awaitable[None]]
"""Step before a task runs."""
Check: TypeAlias = Callable[["TaskExecution", TaskOutput], Awaitable[TaskOutput]]
"""Step that returns the output that counts, or asks for another attempt with `RetryRequested`."""
Conclusion: TypeAlias = Callable[["TaskExecution", TaskOutput], Awaitable[None]]
"""Step after the output is accepted."""


@frozen
class TaskPlan:
    """Task of an ensemble, with the steps that it has. Most tasks have only their work.

    Attributes:
        job: the task.
        key: its id.
        depends_on: the ids of those context tasks that run in the same order.
        is_last: true for the task that gives the ensemble its output.
        reviews: the settings of the ensemble for reviews.
        description: its description.
        expected_output: its expected output.
        preparations: the steps before it runs, in order: what earlier runs have left, the review before, and the input
            guardrails.
        start: function that begins the first attempt.
        work: function that does the task, in a later attempt with the feedback on the attempt before.
        checks: the steps that accept its output, in order: the output guardrails, and the review after.
        conclusions: the steps after that: what later runs read.
        is_followed: true when other steps follow on the output, so that it is saved before.
        context_ids: the ids of the tasks whose outputs it sees.
        follows_one: true when it names no context, and sees the output of the task before it.
        is_composite: true when other tasks do it.
        codec: the codec for its outputs.
        is_typed: true when it has an output type.
    """

    job: Assignment
    key: str
    depends_on: tuple[str, ...]
    is_last: bool
    reviews: ReviewSettings
    description: Template
    expected_output: Template
    preparations: tuple[Preparation, ...]
    start: Start
    work: Work
    checks: tuple[Check, ...]
    conclusions: tuple[Conclusion, ...]
    is_followed: bool
    context_ids: tuple[str, ...]
    follows_one: bool
    is_composite: bool
    codec: OutputCodec
    is_typed: bool


class TasksRun:
    """Run of tasks, with what their executions share.

    Args:
        environment: what the tasks begin with.
        context: the context of the run.
        exit: the early end of the run.

    Attributes:
        places: the checkpoint that holds the tasks' checkpoints.
        failures: the reasons why tasks failed before a suspension, by their ids.
        revisions: the revisions of the tasks that run again, by their ids.
        outcomes: the outcomes of tasks so far, in the order in which they ended.
        failed: the errors of the tasks that failed.
        skipped: the reasons why others did not start for that, or wait.
    """

    __slots__ = (
        "context", "environment", "exit", "failed", "failures", "outcomes", "places", "revisions", "skipped",
    )  # fmt: skip

    def __init__(self, environment: TaskEnvironment, context: RunContext, exit: EarlyExit) -> None:
        assert context.checkpoint is not None
        self.environment = environment
        self.context = context
        self.exit = exit
        self.places = context.checkpoint.at("tasks")
        self.failures = _read_failures(self.places) if self.places.data else {}
        self.revisions = environment.revisions if environment.revision is None else environment.collect_revisions()
        self.outcomes: dict[str, TaskOutcome] = {}
        self.failed: dict[str, Exception] = {}
        self.skipped: dict[str, str] = {}


class TaskExecution:
    """Execution of a task in a run: its input, and its progress, which is in the checkpoint of the task.

    A step that is done is not done again when the run continues elsewhere.

    Args:
        plan: the plan of the task.
        run: the run.

    Attributes:
        input: the input of the task, to which its first steps add what earlier runs have left.
        checkpoint: its checkpoint, which keeps the progress.
        is_internal: true when its text is not part of the answer of the ensemble.
        is_checked: true when its text may still be refused or changed.
        began: the time at which the task started, in this or in an earlier run of the program; `None` before.
        attempt: the number of the attempt in this run, from 1.
        skipped: the reason why the task is skipped; `None` when it is not.
        is_completed: true when there was a final output before this execution.
        has_run: true when an object that the saved output lacks is in the saved run of the agent.
    """

    __slots__ = (
        "_place", "attempt", "began", "checkpoint", "has_run", "input", "is_checked", "is_completed",
        "is_internal", "plan", "run", "skipped",
    )  # fmt: skip
    input: TaskInput

    def __init__(self, plan: TaskPlan, run: TasksRun) -> None:
        self.plan = plan
        self.run = run
        self.checkpoint = run.places.at(plan.job.key)
        self.is_internal = not plan.is_last
        self.is_checked = bool(plan.checks) or plan.is_typed
        self._place: RunContext | None = None
        self.began: float | None = None
        self.skipped: str | None = None
        self.attempt = 1
        self.has_run = self.is_completed = False
        if data := self.checkpoint.data:
            self._restore(data)

    @property
    def place(self) -> RunContext:
        """The context of the task, created when it is first read: an agent on its own runs in the ensemble's."""
        if self._place is None:
            self._place = self.run.context.inside_place(self)
            if self.plan.is_composite:  # the tasks inside find there how the ensemble reviews and ends
                services = {ReviewSettings: self.plan.reviews, EarlyExit: self.run.exit, LearningOutbox: self.outbox}
                self._place = self._place.inside(services)
        return self._place

    @property
    def outbox(self) -> LearningOutbox:
        """The outbox for what the task leaves for later runs."""
        return self.run.environment.outbox

    def _restore(self, data: Mapping[str, object]) -> None:
        began, attempt, skipped = data.get("began"), data.get("attempt"), data.get("skipped")
        self.began = began if isinstance(began, float) else None
        self.attempt = attempt if isinstance(attempt, int) else 1
        self.skipped = None if skipped is None else str(skipped)
        self.has_run = data.get("has_run") is True
        self.is_completed = "output" in data

    def create_revision(self) -> Revision | None:
        """Return the feedback with which an attempt after the first begins, and the output of the attempt before."""
        first, earlier = self.input.revision, self.earlier
        if earlier is None:
            return first
        number = self.attempt + (0 if first is None else first.attempt - 1)
        return Revision(number, str(self.checkpoint.data.get("feedback", "")), earlier.raw)

    @property
    def earlier(self) -> TaskOutput | None:
        """The output of the attempt before; `None` in the first."""
        return None if self.attempt == 1 else self._read("earlier")

    @property
    def draft(self) -> TaskOutput | None:
        """The output of the attempt, which is not final before all later steps are done."""
        return self._read("draft")

    @property
    def output(self) -> TaskOutput | None:
        """The final output, or `None`."""
        return self._read("output")

    def note_run(self, *, has_run: bool) -> None:
        """Note whether a saved run gave the output: it has the object that the saved output may lack."""
        if has_run is not self.has_run:
            self.has_run = has_run
            self.checkpoint.set(has_run=has_run)

    def encode(self, output: TaskOutput) -> Live[TaskOutput]:
        """Return an output as its checkpoint keeps it."""
        encode = self.plan.codec.encode_beside_run if self.has_run else self.plan.codec.encode
        return Live(output, encode) if self.checkpoint.journal is None else Live.create(output, encode, is_saved=True)

    async def save_draft(self, output: TaskOutput) -> None:
        """Save the output of the attempt."""
        self.checkpoint.set(draft=self.encode(output))
        await self.place.save_step("draft", output.task_id, output.raw)

    async def save_skip(self, reason: str) -> None:
        """Save that the task is skipped."""
        self.skipped = reason
        self.checkpoint.set(skipped=reason)
        await self.place.save_step("skipped", self.plan.key, reason)

    async def begin_attempt(self, output: TaskOutput, feedback: str) -> None:
        """Begin another attempt, with feedback on an output; what tasks inside have left for later runs is dropped."""
        self.outbox.withdraw(self.checkpoint.path)
        is_saved = self.checkpoint.journal is not None
        earlier = Live.create(output, self.plan.codec.encode_beside_run, is_saved=is_saved)
        self.attempt += 1
        self.checkpoint.set(attempt=self.attempt, feedback=feedback, earlier=earlier, draft=None)
        await self.place.save_step("revision", output.task_id, feedback)

    def is_done(self, step: str) -> bool:
        """Return whether a step is done. The name of a step that each attempt does has the number of the attempt."""
        done = self.checkpoint.data.get("done")
        return isinstance(done, list) and step in done

    async def mark_done(self, step: str) -> None:
        """Save that a step is done."""
        done = self.checkpoint.data.get("done")
        self.checkpoint.set(done=[*(done if isinstance(done, list) else ()), step])
        await self.place.save_step(step, self.plan.key)

    def create_failed_result(self) -> RunResult[None]:
        """Return the result of the run so far, for errors."""
        return RunResult(None, RunStatus.FAILED, tally=self.run.context.tally, run_id=self.run.context.run_id)

    def restore_failure(self) -> RunError:
        """Return the error with which the task failed before a suspension."""
        key, run = self.plan.key, self.run
        status = RunStatus.TERMINATED if key in _read_limited(run.places) else RunStatus.FAILED
        error = RunError(run.failures[key], self.create_failed_result(), status)
        error.is_final = True  # it does not run again
        return error

    def _read(self, key: str) -> TaskOutput | None:
        saved = self.checkpoint.data.get(key)
        return None if saved is None else revive(saved, self.plan.codec.decode)


def record_failures(context: RunContext, failed: Mapping[str, Exception]) -> None:
    """Record the failed tasks of a run, which do not run again when it goes on after a suspension."""
    if failed:
        assert context.checkpoint is not None
        tasks = context.checkpoint.at("tasks")
        failures = {key: describe_error(error) for key, error in failed.items()} | _read_failures(tasks)
        limited = [key for key, error in failed.items() if is_limit(error)]
        tasks.set(failures=failures, limited=sorted({*limited, *_read_limited(tasks)}))


def _read_limited(tasks: Checkpoint) -> frozenset[str]:
    """Return the ids of tasks that a limit has ended."""
    limited = tasks.data.get("limited")
    return frozenset(map(str, limited)) if isinstance(limited, list) else frozenset()


def _read_failures(tasks: Checkpoint) -> dict[str, str]:
    saved_failures = tasks.data.get("failures")
    return {str(key): str(reason) for key, reason in saved_failures.items()} if isinstance(saved_failures, dict) else {}
