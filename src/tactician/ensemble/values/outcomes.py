"""Outcomes of tasks in a run: outputs, and tasks that were skipped because of their `when`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import TypeAlias, TypeVar, overload

from tactician.ensemble.values.task_output import TaskKey, TaskOutput, find_output
from tactician.frozen import frozen

T = TypeVar("T")


@frozen
class SkippedTask:
    """Outcome of a task that did not run, although no task has failed.

    Attributes:
        task_id: the id of the task.
        reason: the explanation, in a sentence.
        context_outputs: the outputs that the task would have seen. In a sequence, the next task sees them instead.
    """

    task_id: str
    reason: str
    context_outputs: tuple[TaskOutput, ...] = ()


TaskOutcome: TypeAlias = TaskOutput | SkippedTask


class TaskOutputs:
    """Outputs so far, as a predicate such as `Task(when=...)` gets them.

    Args:
        outputs: the outputs, in the order in which the tasks ended.
    """

    __slots__ = ("_outputs",)

    def __init__(self, outputs: Iterable[TaskOutput]) -> None:
        self._outputs = tuple(outputs)

    @property
    def outputs(self) -> tuple[TaskOutput, ...]:
        """All outputs, in the order in which the tasks ended."""
        return self._outputs

    @property
    def last(self) -> TaskOutput:
        """The output of the task that ended last.

        Raises:
            LookupError: when no task has ended.
        """
        if not self._outputs:
            raise LookupError("no task has ended yet: there is no last output")
        return self._outputs[-1]

    def __contains__(self, task: object) -> bool:
        """Return whether a task, or the task with this id, has an output."""
        task_id = task if isinstance(task, str) else getattr(task, "id", None)
        return any(output.task_id == task_id for output in self._outputs)

    @overload
    def __getitem__(self, task: str, /) -> TaskOutput: ...

    @overload
    def __getitem__(self, task: TaskKey[T], /) -> TaskOutput[T]: ...

    def __getitem__(self, task: str | TaskKey, /) -> TaskOutput:
        """Return the latest output of a task, or of the task with this id.

        Raises:
            KeyError: when the task has no output.
        """
        return find_output({output.task_id: output for output in self._outputs}, task)


OutputPredicate: TypeAlias = Callable[[TaskOutputs], bool | Awaitable[bool]]
"""Sync or async function of the outputs so far."""


def collect_context(ids: Collection[str], outcomes: Iterable[TaskOutcome]) -> tuple[TaskOutput, ...]:
    """Return the outputs among the outcomes of context tasks, in the order of their ids."""
    outputs = {outcome.task_id: outcome for outcome in outcomes if isinstance(outcome, TaskOutput)}
    return tuple(outputs[task_id] for task_id in ids if task_id in outputs)
