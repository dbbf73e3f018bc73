"""`MapReduce`: a task for each item, and tasks that combine the outputs until one is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from typing_extensions import override

from tactician.diagrams import DiagramEdge
from tactician.ensemble.assignment import Assignment, assign
from tactician.ensemble.bins import pack_bins
from tactician.ensemble.checks import find_made_problems
from tactician.ensemble.composite import Equipment, index_outputs
from tactician.ensemble.drawing import Drawing
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.errors import EnsembleDefinitionError, MapReduceError
from tactician.ensemble.output import CompositeResult, TaskInput, TaskOutput
from tactician.ensemble.running import TaskOrder, run_tasks
from tactician.ensemble.task import Task, TaskLike
from tactician.ensemble.task_group import GroupRunnable, TaskGroup
from tactician.ensemble.template import escape_template
from tactician.errors import Problem
from tactician.runs import RunContext, Runnable
from tactician.text import describe_error
from tactician.tools import as_text

T = TypeVar("T")
DEFAULT_CHUNK_SIZE: Final = 5
DEFAULT_MAX_LEVELS: Final = 10
_CHARACTERS_PER_TOKEN: Final = 4
TokenEstimator = Callable[[str], int]


def estimate_tokens(text: str) -> int:
    """Return the number of tokens that a text has about: a quarter of its characters."""
    return len(text) // _CHARACTERS_PER_TOKEN


class MapReduce(TaskGroup, Generic[T]):
    """A task for each item, and tasks that combine the outputs, level by level, until one is left.

    In an ensemble it stands in the place of a task. The descriptions of the tasks that the functions return are no
    templates: they are taken as they are, so that items may have braces. The functions have to return equal tasks when a
    run continues elsewhere.

    Args:
        items: the items, or a function of the `TaskInput` that returns them.
        map: function that returns the task of an item.
        reduce: function that returns the task that combines outputs. Unless it names a context, it sees these outputs.
        chunk_size: number of outputs that one task combines, 5 by default.
        max_tokens: tokens of the outputs that one task combines, in place of a number. Outputs are packed by first-fit
            decreasing; one that is larger is alone.
        direct: function that returns the one task for all items when they fit: when there are at most `chunk_size`, or
            they have at most `max_tokens`.
        estimate: function that returns the number of tokens of a text; a quarter of its characters by default. For
            outputs the number that the provider reports counts.
        max_levels: number of levels that combine. When they are used up, one last task combines what is left.
        max_parallel: number of tasks that run at once; no limit by default.
        id: the id; by default it says how many items there are.
        description: the purpose.
        context: tasks outside that have to be completed before, for a function of items; in a sequence, by default, the
            task before.

    Raises:
        EnsembleDefinitionError: with all mistakes.
    """

    def __init__(
        self,
        items: Sequence[T] | Callable[[TaskInput], Sequence[T]],
        *,
        map: Callable[[T], TaskLike],
        reduce: Callable[[Sequence[TaskOutput]], TaskLike],
        chunk_size: int | None = None,
        max_tokens: int | None = None,
        direct: Callable[[Sequence[T]], TaskLike] | None = None,
        estimate: TokenEstimator = estimate_tokens,
        max_levels: int = DEFAULT_MAX_LEVELS,
        max_parallel: int | None = None,
        id: str = "",
        description: str = "",
        context: Sequence[TaskLike] | None = None,
    ) -> None:
        self.items = items if callable(items) else tuple(items)
        self.map = map
        self.reduce = reduce
        self.chunk_size = DEFAULT_CHUNK_SIZE if chunk_size is None and max_tokens is None else chunk_size
        self.max_tokens = max_tokens
        self.direct = direct
        self.estimate = estimate
        self.max_levels = max_levels
        self.max_parallel = max_parallel
        self.amount = "items" if callable(self.items) else f"{len(self.items)} items"
        summary = description or f"Do a task for each of {self.amount}, and combine the outputs"
        super().__init__(id or f"MapReduce: {self.amount}", summary, {}, context)

    @property
    @override
    def role(self) -> str:
        return "(map-reduce)"

    @override
    def bind(self, equipment: Equipment) -> Runnable:
        return _MapReduceRunnable(self, equipment)

    def list_items(self, task: TaskInput) -> Sequence[T]:
        """Return the items for an input."""
        return self.items(task) if callable(self.items) else self.items

    def fits(self, items: Sequence[T]) -> bool:
        """Return whether one task can take all items."""
        if self.max_tokens is None:
            return len(items) <= (self.chunk_size or DEFAULT_CHUNK_SIZE)
        return sum(self.estimate(as_text(item)) for item in items) <= self.max_tokens

    def split(self, outputs: Sequence[TaskOutput]) -> list[list[TaskOutput]]:
        """Return the outputs in the portions that one task each combines."""
        if self.max_tokens is None:
            size = self.chunk_size or DEFAULT_CHUNK_SIZE
            return [list(outputs[start : start + size]) for start in range(0, len(outputs), size)]
        bins = pack_bins([self._count_tokens(output) for output in outputs], self.max_tokens)
        return [[outputs[number] for number in items] for items in bins]

    def _count_tokens(self, output: TaskOutput) -> int:
        return output.usage.output_tokens or self.estimate(output.raw)

    @override
    def _find_mistakes(self) -> Iterator[tuple[str, str]]:
        if not callable(self.items) and not self.items:
            yield "items", "there must be at least one item"
        for name in ("map", "reduce", "estimate"):
            if not callable(value := getattr(self, name)):
                yield name, f"{value!r} is not a function"
        if self.direct is not None and not callable(self.direct):
            yield "direct", f"{self.direct!r} is not a function"
        if self.chunk_size is not None and self.max_tokens is not None:
            yield "max_tokens", "there is a chunk_size too: leave out one of them"
        if self.chunk_size is not None and self.chunk_size < 2:
            yield "chunk_size", f"it must be >= 2, got: {self.chunk_size}"
        for name, amount in (("max_tokens", self.max_tokens), ("max_parallel", self.max_parallel)):
            if amount is not None and amount < 1:
                yield name, f"it must be > 0, got: {amount}"
        if self.max_levels < 1:
            yield "max_levels", f"it must be > 0, got: {self.max_levels}"


@dataclass(slots=True)
class _Levels:
    """Outputs of one run so far, and the ids of its tasks."""

    outputs: list[TaskOutput] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)

    def give_id(self, task: Task) -> Task:
        """Return the task, under an id that no other task of the run has; as it is, not as a template."""
        number = self.ids[task.id] = self.ids.get(task.id, 0) + 1
        task_id = task.id if number == 1 else f"{task.id}#{number}"
        if number > 1:
            self.ids.setdefault(task_id, 1)
        texts = {"description": escape_template(task.description), "expected_output": escape_template(task.expected_output)}
        return replace(task, id=task_id, **texts)


class _MapReduceRunnable(GroupRunnable[MapReduce[T]], Generic[T]):
    def __init__(self, group: MapReduce[T], equipment: Equipment) -> None:
        super().__init__(group, {})
        self._equipment = equipment

    @override
    async def _perform(self, environment: TaskEnvironment, task: TaskInput, context: RunContext) -> CompositeResult:
        items, levels = self._list_items(task, context), _Levels()
        if self.group.direct is not None and self.group.fits(items):
            made = [self._make("direct", lambda: self.group.direct(items), context)]
            await self._run_level("direct", made, None, environment, levels, context)
            return self._conclude(levels.outputs, levels.outputs[-1:], context)
        made = [self._make(f"map[{n}]", lambda: self.group.map(item), context) for n, item in enumerate(items)]
        outputs = await self._run_level("map", made, None, environment, levels, context)
        number = 0
        while number == 0 or len(outputs) > 1:
            number += 1
            portions = self.group.split(outputs) if number <= self.group.max_levels else [list(outputs)]
            outputs = await self._reduce(f"level-{number}", portions, environment, levels, context)
        return self._conclude(levels.outputs, outputs, context)

    async def _reduce(
        self,
        name: str,
        portions: Sequence[Sequence[TaskOutput]],
        environment: TaskEnvironment,
        levels: _Levels,
        context: RunContext,
    ) -> Sequence[TaskOutput]:
        made = [
            self._make(f"{name}[{number}]", lambda: self.group.reduce(portion), context)
            for number, portion in enumerate(portions)
        ]
        return await self._run_level(name, made, portions, environment, levels, context)
