"""Trace of the tasks of an ensemble whose run was not captured."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.ensemble.task_output import TaskOutput
from tactician.events import SpanKind
from tactician.llm import NO_USAGE
from tactician.runs import RunStatus
from tactician.trace import ModelUse, Trace, TraceNode


def trace_tasks(outputs: Sequence[TaskOutput], name: str, run_id: str, status: RunStatus, duration: float) -> Trace:
    """Return a trace of the completed tasks alone, from their outputs.

    Args:
        outputs: the outputs of the completed tasks.
        name: the name of the ensemble.
        run_id: the id of the run.
        status: the status of the run.
        duration: seconds from the start of the run to its end.
    """
    nodes = tuple(_trace_task(output, run_id) for output in outputs)
    ended = max((node.ended for node in nodes if node.ended is not None), default=0.0)
    root = TraceNode(
        run_id,
        SpanKind.RUN,
        name,
        ended - duration,
        ended,
        status.value,
        run_id,
        children=nodes,
    )
    return Trace([root])


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
    )
