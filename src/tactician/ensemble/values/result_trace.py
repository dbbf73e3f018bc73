"""Trace of the tasks of an ensemble whose run was not captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tactician.ensemble.values.task_output import TaskOutput
from tactician.events.span_facts import SpanKind
from tactician.llm.usage import NO_USAGE
from tactician.runs import RunStatus
from tactician.trace import Trace
from tactician.trace.node import ModelUse, TraceNode


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
