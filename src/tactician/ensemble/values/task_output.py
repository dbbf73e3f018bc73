"""Output of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Generic, Protocol, cast

from typing_extensions import TypeForm, TypeVar

from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.llm import Usage
from tactician.llm.usage import NO_USAGE
from tactician.suggestions import did_you_mean

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=object)


class _TypedTask(Protocol[T_co]):
    @property
    def id(self) -> str: ...

    @property
    def output_type(self) -> TypeForm[T_co] | None: ...


class TaskKey(Protocol[T_co]):
    """Key of an output: the task itself, or the group of tasks or ensemble in its place."""

    def as_task(self) -> _TypedTask[T_co]:
        """Return it as a task."""
        ...


@frozen(enforced=False)
class TaskOutput(Generic[T_co]):
    """Output of a completed task.

    Attributes:
        task_id: the id of the task.
        role: the role of the agent that did the task; `"(deterministic)"` for a handler.
        description: the description of the task, with its templates filled in.
        raw: the whole output as text.
        ended: the time of its end, in seconds since the epoch.
        parsed: the output as an object, when the task has an output type or the output is not text; else `None`.
        tool_calls: number of tool calls.
        usage: the tokens that the task used.
        duration: seconds from the start of the task to its end, waiting included.
        parts: the outputs of the tasks inside, when other tasks did the task.
        shown: those parts that tasks with this task in their context see in its place; none, when they see it itself.
        limit_reached: true for a loop with `on_limit="flag"` that ended at its limit.
    """

    task_id: str
    role: str
    description: str
    raw: str
    ended: float
    parsed: T_co = cast("T_co", None)  # text alone has no object
    tool_calls: int = 0
    usage: Usage = NO_USAGE
    duration: float = 0.0
    parts: tuple[TaskOutput, ...] = ()
    shown: tuple[TaskOutput, ...] = ()
    limit_reached: bool = False

    @property
    def completed_at(self) -> datetime:
        """The time of its end, in UTC."""
        return datetime.fromtimestamp(self.ended, UTC)

    @property
    def readable(self) -> tuple[TaskOutput, ...]:
        """The outputs that tasks with this task in their context see."""
        return tuple(output for part in self.shown for output in part.readable) if self.shown else (self,)

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
            TypeError: when there is no parsed output, or it is of another class.
        """
        if isinstance(self.parsed, kind):
            return self.parsed
        actual = "no parsed output" if self.parsed is None else add_article(type(self.parsed).__name__)
        raise TypeError(
            f"task {self.task_id!r} has {actual}, not {add_article(kind.__name__)}; see the task's output_type"
        )


def find_output(outputs: Mapping[str, TaskOutput], task: str | TaskKey) -> TaskOutput:
    """Return the output of a task among outputs by task id.

    Args:
        outputs: the outputs.
        task: the task, or its id.

    Raises:
        KeyError: when the task has no output.
    """
    task_id = task if isinstance(task, str) else task.as_task().id
    if task_id in outputs:
        return outputs[task_id]
    raise KeyError(f"no completed task has the id {task_id!r}.{did_you_mean(task_id, outputs)}")
