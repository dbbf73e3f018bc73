"""Output of a task."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TypeVar

from tactician.frozen import frozen
from tactician.llm import NO_USAGE, Usage

T = TypeVar("T")


@frozen(enforced=False)
class TaskOutput:
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
    parsed: object = None
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
        actual = "no parsed output" if self.parsed is None else f"a {type(self.parsed).__name__}"
        raise TypeError(f"task {self.task_id!r} has {actual}, not a {kind.__name__}; see the task's output_type")
