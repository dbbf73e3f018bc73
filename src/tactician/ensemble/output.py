"""Inputs and outputs of tasks and phases, and the result of an ensemble."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TypeAlias, TypeVar, cast

from pydantic import TypeAdapter
from typing_extensions import override

from tactician.documents import did_you_mean
from tactician.ensemble.delegation import DelegationResponse
from tactician.ensemble.learning import ScopeEntry, TaskReflection
from tactician.ensemble.phase_decisions import PhaseReviewRecord
from tactician.errors import StoredStateError
from tactician.events import SpanKind
from tactician.llm import NO_USAGE, ToolResult, Usage
from tactician.runs import RunContext, RunResult, RunStatus, decode_value, encode_value
from tactician.tools import as_text
from tactician.trace import ModelUse, Trace, TraceNode

T = TypeVar("T")
Values: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """Output of a completed task.

    Attributes:
        task_id: the id of the task.
        role: the role of the agent that did the task; `"(deterministic)"` for a handler.
        description: the description of the task, with its templates filled in.
        raw: the whole output as text.
        parsed: the output as an object, when the task has an output type or the output is not text; else `None`.
        tool_calls: number of tool calls.
        usage: the tokens that the task used.
        duration: seconds from the start of the task to its end, waiting included.
        completed_at: the time of its end, in UTC.
        parts: the outputs of the tasks inside, when other tasks did the task.
        shown: those of them that tasks with this one in their context see in its place; none, when they see it itself.
        limit_reached: true for a loop with `on_limit="flag"` that ended at its limit.
    """

    task_id: str
    role: str
    description: str
    raw: str
    completed_at: datetime
    parsed: object = None
    tool_calls: int = 0
    usage: Usage = NO_USAGE
    duration: float = 0.0
    parts: tuple[TaskOutput, ...] = ()
    shown: tuple[TaskOutput, ...] = ()
    limit_reached: bool = False

    def with_result(self, result: RunResult[object], *, is_typed: bool) -> TaskOutput:
        """Return the output with the object of a result, and with the outputs of the tasks that did the task.

        Args:
            result: the result.
            is_typed: true when an output type was asked for, so that text is an object too.
        """
        parsed = result.output if is_typed or not isinstance(result.output, str) else None
        if not isinstance(result, EnsembleResult):
            return replace(self, parsed=parsed)
        inside = replace(self, parsed=parsed, parts=result.task_outputs)
        return result.mark(inside) if isinstance(result, CompositeResult) else inside

    @property
    def readable(self) -> tuple[TaskOutput, ...]:
        """The outputs that tasks with this one in their context see."""
        return tuple(one for part in self.shown for one in part.readable) or (self,)

    def walk(self) -> Iterator[TaskOutput]:
        """Yield the output, and all inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    @property
    def cost(self) -> float | None:
        """US dollars; `None` when the price of a model that was used is not known."""
        return self.usage.cost

    def get_parsed(self, kind: type[T]) -> T:
        """Return the parsed output as an object of a class.

        Raises:
            TypeError: when there is none, or it is of another class.
        """
        if isinstance(self.parsed, kind):
            return self.parsed
        found = "no parsed output" if self.parsed is None else f"a {type(self.parsed).__name__}"
        raise TypeError(f"task {self.task_id!r} has {found}, not a {kind.__name__}; see the task's output_type")


@dataclass(frozen=True, slots=True)
class Revision:
    """What a task is told that runs again because its output was not good enough.

    Attributes:
        attempt: number of the attempt that begins, from 2.
        feedback: what has to change.
        previous: the output of the attempt before.
    """

    attempt: int
    feedback: str = ""
    previous: str = ""


@dataclass(frozen=True, slots=True)
class TaskInput:
    """Input of a task, as its handler gets it.

    Attributes:
        task_id: the id of the task.
        description: its description, with the templates filled in.
        expected_output: its expected output, with the templates filled in.
        context_outputs: the outputs of its context tasks, in the order in which the task names them.
        values: the values for templates with which the ensemble runs.
        text: the text of the caller, for the first tasks of an ensemble whose templates do not name `{input}`.
        revision: the feedback on the attempt before, and its output; `None` in the first attempt.
        earlier_outputs: what earlier iterations of the loop gave, as far as its memory goes; empty for a task with
            memory scopes, which recalls it from there.
        forgotten_outputs: what other earlier iterations gave, which the task does not recall.
        memory: the entries that the task has recalled, by memory scope.
        reflections: the reflections on earlier runs of the task, newest first.
    """

    task_id: str
    description: str
    expected_output: str = ""
    context_outputs: tuple[TaskOutput, ...] = ()
    values: Values = field(default_factory=dict)
    text: str = ""
    revision: Revision | None = None
    earlier_outputs: tuple[TaskOutput, ...] = ()
    forgotten_outputs: tuple[TaskOutput, ...] = ()
    memory: Mapping[str, tuple[ScopeEntry, ...]] = field(default_factory=dict)
    reflections: tuple[TaskReflection, ...] = ()


@dataclass(frozen=True, slots=True)
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

    def __getitem__(self, task_id: str) -> TaskOutput:
        """Return the output of a task.

        Raises:
            KeyError: when no task of the phase has the id.
        """
        return _find_output(self.task_outputs, task_id)


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


@dataclass(slots=True)
class EnsembleResult(RunResult[object]):
    """Result of a run of an ensemble. `output` is that of the last task in the list of tasks.

    Of an ensemble that has ended early, or whose last task was skipped, it is that of the last completed one.

    Attributes:
        raw: the same output as text.
        task_outputs: the outputs of the completed tasks, in the order in which they ended.
        duration: seconds from the start of the run to its end, waiting included.
        phase_outputs: the outputs of the completed phases, by name.
        exit_reason: the reason for the end; `None` while the run waits.
        skipped: the reasons why other tasks did not run, by task id.
        delegations: the responses to all delegations in the run, those that were not allowed included.
    """

    raw: str = ""
    task_outputs: tuple[TaskOutput, ...] = ()
    duration: float = 0.0
    phase_outputs: Mapping[str, PhaseOutput] = field(default_factory=dict)
    exit_reason: ExitReason | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    delegations: tuple[DelegationResponse, ...] = ()

    @classmethod
    def create(
        cls,
        outputs: Iterable[TaskOutput],
        last: TaskOutput | None,
        context: RunContext,
        duration: float,
        *,
        exit_reason: ExitReason = ExitReason.COMPLETED,
        skipped: Mapping[str, str] = MappingProxyType({}),
    ) -> EnsembleResult:
        """Return the result of a run.

        Args:
            outputs: the outputs of the completed tasks.
            last: the output of the ensemble; `None` when there is none.
            context: the context of the run.
            duration: seconds from its start to its end.
            exit_reason: the reason for the end.
            skipped: the reasons why other tasks did not run, by task id.
        """
        ended = tuple(sorted(outputs, key=lambda output: output.completed_at))
        status = RunStatus.FAILED if exit_reason is ExitReason.FAILED else RunStatus.COMPLETED
        result = cls(None, status, tally=context.tally, run_id=context.run_id, task_outputs=ended, duration=duration)
        result.exit_reason, result.skipped = exit_reason, dict(skipped)
        if last is not None and exit_reason is not ExitReason.FAILED:
            result.raw = last.raw
            result.output = last.raw if last.parsed is None else last.parsed
        return result

    @classmethod
    def of(cls, result: RunResult[object]) -> EnsembleResult:
        """Return the result of a run of an ensemble, also of one that waits, as an `EnsembleResult`."""
        if isinstance(result, cls):
            return result
        return cls(**{one.name: getattr(result, one.name) for one in fields(RunResult)})

    @property
    @override
    def trace(self) -> Trace:
        """Tree of all that the run did; with the tasks alone, when it was not captured."""
        return self.recorded or _trace_tasks(self)

    @property
    def total_tool_calls(self) -> int:
        """Number of tool calls of all tasks."""
        return sum(output.tool_calls for output in self.task_outputs)

    def __getitem__(self, task_id: str) -> TaskOutput:
        """Return the output of a task, or the latest one of a task inside of a loop or the like.

        The id of a task is its description, unless it has another one.

        Raises:
            KeyError: when no completed task has the id.
        """
        return _find_output(self.task_outputs, task_id)


def _find_output(outputs: Iterable[TaskOutput], task_id: str) -> TaskOutput:
    outside = tuple(outputs)
    known = {one.task_id: one for output in outside for one in output.walk()}
    known |= {output.task_id: output for output in outside}
    if task_id in known:
        return known[task_id]
    raise KeyError(f"no completed task has the id {task_id!r}.{did_you_mean(task_id, known)}")


@dataclass(slots=True)
class CompositeResult(EnsembleResult):
    """Result of a task that other tasks did; `task_outputs` are theirs.

    Attributes:
        shown: those of them that tasks with this one in their context see.
        limit_reached: true when a loop ended at its limit, and says so.
    """

    shown: tuple[TaskOutput, ...] = ()
    limit_reached: bool = False

    def mark(self, output: TaskOutput) -> TaskOutput:
        """Return an output with what is shown of it, and whether it is that of a limit."""
        return replace(output, shown=self.shown, limit_reached=self.limit_reached)


def _trace_tasks(result: EnsembleResult) -> Trace:
    """Return a trace of the completed tasks alone, as their outputs tell of them."""
    nodes = tuple(_trace_task(output, result.run_id) for output in result.task_outputs)
    ended = max((node.ended for node in nodes if node.ended is not None), default=0.0)
    root = TraceNode(
        result.run_id,
        SpanKind.RUN,
        "ensemble",
        ended - result.duration,
        ended,
        result.status.value,
        result.run_id,
        children=nodes,
    )
    return Trace([root])


def _trace_task(output: TaskOutput, run_id: str) -> TraceNode:
    ended = output.completed_at.timestamp()
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
    )


def create_task_output(
    task: TaskInput, role: str, result: RunResult[object], began: float, now: float, *, is_typed: bool
) -> TaskOutput:
    """Return the output of a task.

    Args:
        task: the task, with its templates filled in.
        role: the role of the agent that did it.
        result: the result of the agent.
        began: the time at which the task started, in seconds since the epoch.
        now: the time at which it ended.
        is_typed: true when an output type was asked for, so that text is an object too.
    """
    return TaskOutput(
        task.task_id,
        role,
        task.description,
        as_text(result.output),
        datetime.fromtimestamp(now, UTC),
        tool_calls=count_tool_calls(result),
        usage=result.usage,
        duration=max(0.0, now - began),
    ).with_result(result, is_typed=is_typed)


def count_tool_calls(result: RunResult[object]) -> int:
    """Return the number of tool calls in the conversations of a run and of those beside it."""
    if isinstance(result, EnsembleResult):
        return result.total_tool_calls
    own = sum(isinstance(message, ToolResult) for message in result.messages)
    return own + sum(map(count_tool_calls, result.related)) if result.related else own


def encode_task_output(output: TaskOutput, kind: object, *, may_omit: bool = False) -> object:
    """Return an output as JSON.

    Args:
        output: the output.
        kind: declared type of its parsed form; `object` for one that is JSON.
        may_omit: true to leave out a parsed form that is not JSON, when no type is declared. That of a task that other
            tasks did is left out with their outputs: the saved run gives both.

    Raises:
        StoredStateError: when its parsed form would not be read back equal.
    """
    plain: dict[str, object] = _adapter().dump_python(replace(output, parsed=None, parts=(), shown=()), mode="json")
    if output.parsed is None or output.parts:
        return plain
    try:
        return plain | {"parsed": encode_value(output.parsed, kind)}
    except StoredStateError:
        if may_omit and kind is object:
            return plain
        raise


def decode_task_output(saved: object, kind: object) -> TaskOutput:
    """Return the output that `encode_task_output` wrote.

    Raises:
        ValidationError: when it is not the JSON form of an output.
        StoredStateError: when its parsed form cannot be read as the declared type.
    """
    output = _adapter().validate_python(saved)
    return output if output.parsed is None else replace(output, parsed=decode_value(cast("str", output.parsed), kind))


@cache
def _adapter() -> TypeAdapter[TaskOutput]:
    return TypeAdapter(TaskOutput)
