"""Results of ensembles and of their phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from operator import attrgetter
from types import MappingProxyType
from typing import Final, overload

from typing_extensions import TypeVar, override

from tactician.ensemble.values.delegation import DelegationResponse
from tactician.ensemble.values.phase_decisions import PhaseReviewRecord
from tactician.ensemble.values.task_output import TaskKey, TaskOutput, find_output
from tactician.events.span_facts import SpanKind
from tactician.frozen import frozen
from tactician.llm.usage import NO_USAGE
from tactician.runs import RunContext, RunResult, RunStatus
from tactician.trace import Trace
from tactician.trace.node import ModelUse, TraceNode

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=object)
get_end: Final = attrgetter("ended")
_DONE: Final = RunStatus.COMPLETED


def trace_run(run_id: str, name: str, status: RunStatus, duration: float, tasks: tuple[TraceNode, ...]) -> Trace:
    """Return the trace of a run of an ensemble that has these tasks; `duration` is in seconds."""
    ended = max((node.ended for node in tasks if node.ended is not None), default=0.0)
    root = TraceNode(run_id, SpanKind.RUN, name, ended - duration, ended, status.value, run_id, children=tasks)
    return Trace([root])


def trace_tasks(
    run_id: str, outputs: Sequence[TaskOutput], failed: Mapping[str, str], skipped: Mapping[str, str]
) -> tuple[TraceNode, ...]:
    """Return the nodes of tasks, from their outputs and from the reasons why the others have none."""
    done = [_trace_task(output, run_id) for output in outputs]
    ended = max((node.ended for node in done if node.ended is not None), default=0.0)
    raised = [_trace_end(task_id, "failed", ended, run_id, error=why) for task_id, why in failed.items()]
    left_out = [_trace_end(task_id, "skipped", ended, run_id, reason=why) for task_id, why in skipped.items()]
    return (*done, *raised, *left_out)


def _trace_end(
    task_id: str, status: str, ended: float, run_id: str, *, error: str | None = None, reason: str | None = None
) -> TraceNode:
    """Return a task that has no output, and whose times nobody has noted."""
    facts = {} if reason is None else {"reason": reason}
    return TraceNode(
        f"{run_id}/{task_id}", SpanKind.TASK, task_id, ended, ended, status, run_id, task_id, error=error, facts=facts
    )


def _trace_task(output: TaskOutput, run_id: str) -> TraceNode:
    ended = output.ended
    return TraceNode(
        f"{run_id}/{output.task_id}",
        SpanKind.TASK,
        output.task_id,
        ended - output.duration,
        ended,
        "completed",
        run_id,
        output.task_id,
        used=ModelUse.of(output.usage, "") if output.usage != NO_USAGE else (),
        facts={"role": output.role, "tool_calls": output.tool_calls},
        content={"output": output.raw},
        children=tuple(_trace_task(part, run_id) for part in output.parts),
    )


@frozen
class PhaseOutput:
    """Output of a completed phase.

    Attributes:
        name: the name of the phase.
        task_outputs: the outputs of its tasks in the attempt that was accepted, in the order in which they ended.
        raw: the output of its last task, as text.
        duration: seconds that the tasks of that attempt took, waiting included.
        skipped: the reasons why other tasks of the phase did not run, by task id.
        review: the attempts and the decisions on them; without attempts, when the phase has no review.
    """

    name: str
    task_outputs: tuple[TaskOutput, ...]
    raw: str
    duration: float = 0.0
    skipped: Mapping[str, str] = field(default_factory=dict)
    review: PhaseReviewRecord = field(default_factory=PhaseReviewRecord)

    @overload
    def __getitem__(self, task: str, /) -> TaskOutput: ...

    @overload
    def __getitem__(self, task: TaskKey[T], /) -> TaskOutput[T]: ...

    def __getitem__(self, task: str | TaskKey, /) -> TaskOutput:
        """Return the output of a task, or of the task with this id.

        Raises:
            KeyError: when the task is not in the phase, or has no output.
        """
        return _find_output(self.task_outputs, task)


class ExitReason(StrEnum):
    """Reason for the end of an ensemble."""

    COMPLETED = "completed"
    """All tasks have completed, but for those that were skipped because of their `when`."""
    EXIT_EARLY = "exit_early"
    """A reviewer has ended the ensemble."""
    TIMEOUT = "timeout"
    """A review was not answered in time, and its `on_timeout` ends the ensemble."""
    FAILED = "failed"
    """A task has failed."""


# Python 3.11 looks members up in a function, so each run would pay for them.
COMPLETED: Final = ExitReason.COMPLETED
FAILED: Final = ExitReason.FAILED


@dataclass(slots=True)
class EnsembleResult(RunResult[T_co]):
    """Result of a run of an ensemble. `output` is the output of the last task in the list.

    Of an ensemble that has ended early, or whose last task was skipped, the last completed task gives it.

    Attributes:
        name: the name of the ensemble.
        raw: the same output as text.
        task_outputs: the outputs of the completed tasks, in the order in which they ended.
        duration: seconds from the start of the run to its end, waiting included.
        phase_outputs: the outputs of the completed phases, by name.
        exit_reason: the reason for the end; `None` while the run waits.
        skipped: the reasons why other tasks did not run, by task id.
        failed: the reasons why tasks failed, by task id.
        delegations: the responses to all delegations in the run, those that were not allowed included.
    """

    name: str = ""
    raw: str = ""
    task_outputs: tuple[TaskOutput, ...] = ()
    duration: float = 0.0
    phase_outputs: Mapping[str, PhaseOutput] = field(default_factory=dict)
    exit_reason: ExitReason | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    delegations: tuple[DelegationResponse, ...] = ()

    @classmethod
    def create(
        cls: type[EnsembleResult],
        outputs: Iterable[TaskOutput],
        last: TaskOutput | None,
        context: RunContext,
        duration: float,
        exit_reason: ExitReason = COMPLETED,
        skipped: Mapping[str, str] = MappingProxyType({}),
    ) -> EnsembleResult:
        """Return the result of a run.

        Args:
            outputs: the outputs of the completed tasks, in the order in which they ended.
            last: the output of the ensemble, or `None`.
            context: the context of the run.
            duration: seconds from its start to its end.
            exit_reason: the reason for the end.
            skipped: the reasons why other tasks did not run, by task id.
        """
        result = cls(None, _DONE, (), context.tally, None, context.run_id)  # names of parameters take as long as these
        result.name = context.path[-1] if context.path else ""
        result.task_outputs = tuple(outputs)
        result.duration, result.exit_reason, result.skipped = duration, exit_reason, skipped
        if exit_reason is FAILED:
            result.status = RunStatus.FAILED
        elif last is not None:
            result.raw = last.raw
            result.output = last.raw if last.parsed is None else last.parsed
        return result

    @classmethod
    def of(cls, result: RunResult[T], name: str) -> EnsembleResult[T]:
        """Return the result of a run of an ensemble with a name, also of a run that waits, as an `EnsembleResult`."""
        if isinstance(result, EnsembleResult):
            return result
        return EnsembleResult(**{entry.name: getattr(result, entry.name) for entry in fields(RunResult)}, name=name)

    @property
    @override
    def trace(self) -> Trace:
        """Tree of all that the run did; with the tasks alone, when it was not captured."""
        if self.recorded is not None:
            return self.recorded
        tasks = trace_tasks(self.run_id, self.task_outputs, self.failed, self.skipped)
        return trace_run(self.run_id, self.name, self.status, self.duration, tasks)

    @property
    def total_tool_calls(self) -> int:
        """Number of tool calls of all tasks."""
        return sum(output.tool_calls for output in self.task_outputs)

    def mark(self, output: TaskOutput) -> TaskOutput:
        """Return the output of the task for which the ensemble stands, with the outputs of the tasks inside it."""
        return replace(output, parts=self.task_outputs)

    @overload
    def __getitem__(self, task: str, /) -> TaskOutput: ...

    @overload
    def __getitem__(self, task: TaskKey[T], /) -> TaskOutput[T]: ...

    def __getitem__(self, task: str | TaskKey, /) -> TaskOutput:
        """Return the output of a task, or of the task with this id.

        Of a task that runs several times, as in a loop, it is the latest output. The id of a task is its description,
        unless it has another id. With the task itself as the key, `parsed` has its `output_type` for type checkers.

        Raises:
            KeyError: when the task has no output.
        """
        return _find_output(self.task_outputs, task)


def _find_output(outputs: Iterable[TaskOutput], task: str | TaskKey) -> TaskOutput:
    outside = tuple(outputs)
    outputs_by_task = {inner.task_id: inner for output in outside for inner in output.walk()}
    outputs_by_task |= {output.task_id: output for output in outside}
    return find_output(outputs_by_task, task)


@dataclass(slots=True)
class CompositeResult(EnsembleResult):
    """Result of a task that other tasks did; `task_outputs` are theirs.

    Attributes:
        shown: those task outputs that tasks with this task in their context see.
        limit_reached: true when a loop ended at its limit, and says so.
    """

    shown: tuple[TaskOutput, ...] = ()
    limit_reached: bool = False

    @override
    def mark(self, output: TaskOutput) -> TaskOutput:
        return replace(output, parts=self.task_outputs, shown=self.shown, limit_reached=self.limit_reached)
