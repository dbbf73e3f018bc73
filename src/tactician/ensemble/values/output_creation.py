"""Creation of the output of a task from the result of the agent that did it."""

from __future__ import annotations

from dataclasses import replace

from tactician.ensemble.values.results import EnsembleResult
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.llm import ToolResult
from tactician.runs import RunResult
from tactician.tools.tool import as_text


def create_task_output(
    task: TaskInput, role: str, result: RunResult[object], began: float, now: float, is_typed: bool
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
    answer = result.output
    raw = answer if isinstance(answer, str) else "" if answer is None else as_text(answer)
    has_more = len(result.messages) != 2 or result.related  # than a question and its answer
    output = TaskOutput(
        task.task_id,
        role,
        task.description,
        raw,
        now,
        answer if is_typed or raw is not answer else None,
        count_tool_calls(result) if has_more else 0,
        result.tally.total,
        now - began if now > began else 0.0,
    )
    return result.mark(output) if isinstance(result, EnsembleResult) else output


def restore_object(output: TaskOutput, result: RunResult[object], *, is_typed: bool) -> TaskOutput:
    """Return a saved output with what it lacks: the object of a result, and the outputs of the tasks that did the task.

    Args:
        output: the output.
        result: the result of the agent, which was saved too.
        is_typed: true when an output type was asked for, so that text is an object too.
    """
    restored = replace(output, parsed=result.output if is_typed or not isinstance(result.output, str) else None)
    return result.mark(restored) if isinstance(result, EnsembleResult) else restored


def count_tool_calls(result: RunResult[object]) -> int:
    """Return the number of tool calls in the conversations of a run and of those beside it."""
    if isinstance(result, EnsembleResult):
        return result.total_tool_calls
    result_count = list(map(type, result.messages)).count(ToolResult)  # no message is of a subclass
    return result_count + sum(map(count_tool_calls, result.related))
