"""`MapReduce`: a task for each item, and tasks that combine the outputs until a single output is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Final, Generic

from typing_extensions import TypeVar, override

from tactician.diagrams.diagram import DiagramEdge
from tactician.ensemble.groups.bins import pack_bins
from tactician.ensemble.groups.task_group import GroupRunnable, TaskGroup
from tactician.ensemble.groups.task_makers import TaskMaker, is_task_maker, prepare_task
from tactician.ensemble.tasks.drawing import Drawing
from tactician.ensemble.tasks.task import Task, TaskLike, shorten
from tactician.ensemble.tasks.workflows import Workflow
from tactician.ensemble.values.errors import EnsembleDefinitionError, MapReduceError
from tactician.ensemble.values.results import CompositeResult
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.template import escape_template
from tactician.ensemble.work.assignment import Assignment, assign
from tactician.ensemble.work.checks import find_made_problems
from tactician.ensemble.work.composite import Casting, Equipment, TaskTemplate, index_outputs, walk_tasks
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.running import TaskOrder, run_tasks
from tactician.ensemble.work.synthesis import synthesize_alike
from tactician.ensemble.work.task_learning import find_learning_mistakes
from tactician.errors import Problem
from tactician.grammar import format_count
from tactician.runs import RunContext, Runnable
from tactician.suggestions import suggest_options
from tactician.text import describe_error
from tactician.tools.tool import as_text

T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True, default=object)
DEFAULT_CHUNK_SIZE: Final = 5
DEFAULT_MAX_LEVELS: Final = 10
_CHARACTERS_PER_TOKEN: Final = 4
_VALUE_NAMES: Final = {"map": "item", "direct": "items"}  # in templates, besides the names of values
TokenEstimator = Callable[[str], int]


def estimate_tokens(text: str) -> int:
    """Return the number of tokens that a text has about: a quarter of its characters, rounded up."""
    return ceil(len(text) / _CHARACTERS_PER_TOKEN)


@suggest_options
class MapReduce(TaskGroup[T_co], Generic[T, T_co]):
    """A task for each item, and tasks that combine the outputs, level by level, until a single output is left.

    In an ensemble it stands in the place of a task. The descriptions of the tasks that functions return are no
    templates: they are taken as they are, so that items may have braces. When a run continues elsewhere, functions
    have to return equal tasks.

    Args:
        items: the items, or a function of the `TaskInput` that returns them.
        map: function that returns the task of an item; or a task, in whose templates `{item}` stands for the item.
        reduce: function that returns the task that combines outputs, or that task. Unless it names a context, it sees
            these outputs.
        chunk_size: number of outputs that each task combines, 5 by default.
        max_tokens: tokens of the outputs that each task combines, in place of a number. Outputs are packed by first-fit
            decreasing; an output that is larger is alone.
        direct: function that returns a single task for all items, or that task, whose templates may name `{items}`. It
            is done when the items fit: when there are at most `chunk_size`, or they have at most `max_tokens`.
        estimate: function that returns the number of tokens of a text; a quarter of its characters by default. For
            outputs the number that the provider reports counts.
        max_levels: number of levels that combine. When they are used up, a last task combines what is left.
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
        map: TaskMaker[T],
        reduce: TaskMaker[Sequence[TaskOutput], T_co],
        chunk_size: int | None = None,
        max_tokens: int | None = None,
        direct: TaskMaker[Sequence[T], T_co] | None = None,
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
        self.amount = "items" if callable(self.items) else format_count(len(self.items), "item")
        makers: Mapping[str, object] = {"map": map, "reduce": reduce, "direct": direct}
        templates = {name: maker for name, maker in makers.items() if isinstance(maker, Task)}
        super().__init__(id or f"MapReduce: {self.amount}", description, templates, context)

    @property
    @override
    def default_description(self) -> str:
        return f"Do a task for each of {self.amount}, and combine the outputs"

    @property
    @override
    def role(self) -> str:
        return "(map-reduce)"

    @override
    def bind(self, equipment: Equipment) -> Runnable:
        return _MapReduceRunnable(self, equipment)

    @override
    def list_templates(self) -> Iterable[TaskTemplate]:
        for path, names in super().list_templates():
            value_names = _VALUE_NAMES.get(path.rpartition(".")[0])
            if others := tuple(name for name in names if name != value_names):
                yield TaskTemplate(path, others)

    def list_items(self, task: TaskInput) -> Sequence[T]:
        """Return the items for an input."""
        return self.items(task) if callable(self.items) else self.items

    def fits(self, items: Sequence[T]) -> bool:
        """Return whether a single task can take all items."""
        if self.max_tokens is None:
            return len(items) <= (self.chunk_size or DEFAULT_CHUNK_SIZE)
        return sum(self.estimate(as_text(item)) for item in items) <= self.max_tokens

    def split(self, outputs: Sequence[TaskOutput]) -> Sequence[Sequence[TaskOutput]]:
        """Return the outputs in portions, each of which a task combines."""
        if self.max_tokens is None:
            size = self.chunk_size or DEFAULT_CHUNK_SIZE
            return [outputs[start : start + size] for start in range(0, len(outputs), size)]
        bins = pack_bins([self._count_tokens(output) for output in outputs], self.max_tokens)
        return [[outputs[number] for number in items] for items in bins]

    def _count_tokens(self, output: TaskOutput) -> int:
        return output.usage.output_tokens or self.estimate(output.raw)

    @override
    def _find_mistakes(self) -> Iterator[tuple[str, str]]:
        if not callable(self.items) and not self.items:
            yield "items", "there must be at least one item"
        makers: Mapping[str, object] = {"map": self.map, "reduce": self.reduce, "direct": self.direct}
        for name, value in makers.items():
            if not is_task_maker(value) and (name, value) != ("direct", None):
                yield name, f"{value!r} is not a function or a Task"
        if not callable(self.estimate):
            yield "estimate", f"{self.estimate!r} is not a function"
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
class _Level:
    """Run so far: the tasks and the outputs of all levels."""

    environment: TaskEnvironment
    context: RunContext
    outputs: list[TaskOutput] = field(default_factory=list)
    tasks: dict[str, Task] = field(default_factory=dict)
    numbers: Counter[str] = field(default_factory=Counter)

    def name_task(self, task: Task) -> Task:
        """Return the task under an id that no other task of the run has, and its texts as they are."""
        task_id = task.id
        while task_id in self.tasks:
            self.numbers[task.id] += 1
            task_id = f"{task.id}#{self.numbers[task.id] + 1}"
        description, expected = escape_template(task.description), escape_template(task.expected_output)
        named = replace(task, id=task_id, description=description, expected_output=expected)
        self.tasks[task_id] = named
        return named


class _MapReduceRunnable(GroupRunnable[MapReduce[T]], Generic[T]):
    def __init__(self, group: MapReduce[T], equipment: Equipment) -> None:
        super().__init__(group, {})
        self._equipment = equipment

    @override
    async def _perform(self, environment: TaskEnvironment, task: TaskInput, context: RunContext) -> CompositeResult:
        level, values, casting = _Level(environment, context), environment.input.values, self._equipment.casting
        items = self._list_items(task, level)
        if self.group.direct is not None and self._call("`estimate`", partial(self.group.fits, items), level):
            makers = [prepare_task(self.group.direct, items, _VALUE_NAMES["direct"], values, casting)]
            outputs = await self._run_level("direct", makers, (), level)
            return self._conclude(level.outputs, outputs, context)
        makers = [prepare_task(self.group.map, item, _VALUE_NAMES["map"], values, casting) for item in items]
        outputs = await self._run_level("map", makers, (), level)
        number = 0
        while not environment.has_ended and (len(outputs) > 1 or (outputs and not number)):
            number += 1
            is_last = number > self.group.max_levels
            portions = [outputs] if is_last else self._call("`estimate`", partial(self.group.split, outputs), level)
            makers = [prepare_task(self.group.reduce, portion, None, values, casting) for portion in portions]
            outputs = await self._run_level(f"reduce-{number}", makers, portions, level)
        return self._conclude(level.outputs, outputs, context)

    def _list_items(self, task: TaskInput, level: _Level) -> Sequence[T]:
        """Return the items; at least one."""
        items = self._call("`items`", lambda: tuple(self.group.list_items(task)), level)
        if not items:
            raise self._create_error("`items` returned none", None, level)
        return items

    async def _run_level(
        self,
        name: str,
        makers: Sequence[Callable[[], TaskLike]],
        portions: Sequence[Sequence[TaskOutput]],
        level: _Level,
    ) -> Sequence[TaskOutput]:
        """Make the tasks of a level, run them at once, and return their outputs in the order of the tasks.

        Args:
            name: name of the level.
            makers: functions that return the tasks.
            portions: outputs that each task sees if it names no context.
            level: the run so far.
        """
        made = {f"{name}[{number}]": self._make(f"{name}[{number}]", make, level) for number, make in enumerate(makers)}
        outputs_by_task = {**level.environment.outcomes_by_task, **index_outputs(level.outputs)}
        self._check(made, outputs_by_task, level)
        equipment = await self._cast(tuple(made.values()), level.context.at(name))
        jobs = [
            self._assign(task, portions[number] if portions else (), level, equipment)
            for number, task in enumerate(made.values())
        ]
        order = TaskOrder(jobs, Workflow.PARALLEL, self.group.max_parallel, "fail_fast", level.environment.reviews)
        revision = None if name == "map" else level.environment.revision  # it is about the whole
        revisions = {} if revision is None else {job.task.id: revision for job in jobs}
        environment = replace(level.environment, outcomes_by_task=outputs_by_task, revisions=revisions)
        place = level.context.at(name)
        inside = place if len(jobs) == 1 and name != "map" else place.with_held_text()
        result = await run_tasks(f"{self.subject}, {name}", order, environment, inside)
        latest = index_outputs(result.task_outputs)
        outputs = [latest[job.task.id] for job in jobs if job.task.id in latest]
        level.outputs += outputs
        return outputs

    def _make(self, place: str, make: Callable[[], TaskLike], level: _Level) -> Task:
        """Return the task that a function of the user makes."""
        made = self._call(place, make, level)
        if not isinstance(made, TaskLike):
            raise self._create_error(f"{place} returned {made!r}, which is not a Task", None, level)
        return level.name_task(made.as_task())

    def _call(self, what: str, function: Callable[[], R], level: _Level) -> R:
        """Return what a function of the user returns.

        Raises:
            MapReduceError: when it raises.
        """
        try:
            with level.context.as_internal().enter():
                return function()
        except Exception as error:
            raise self._create_error(f"{what} failed", error, level) from error

    def _check(self, made: Mapping[str, Task], value_names: Container[str], level: _Level) -> None:
        """Check the tasks that were made, which nobody has seen before."""
        problems = [*find_made_problems(made, level.environment.input.values, value_names)]
        mistakes = find_learning_mistakes(walk_tasks(made.items()), self._equipment.stores)
        problems += (Problem(place, message) for place, message in mistakes)
        if problems:
            raise EnsembleDefinitionError(self.subject, problems)

    async def _cast(self, made: Sequence[Task], place: RunContext) -> Equipment:
        """Return the equipment with the agents that a model chooses for the tasks of a level."""
        maker = self._equipment.casting.model
        made = [task for task in made if None in (task.role, task.goal, task.background)]
        if maker is None or not made:
            return self._equipment
        return self._equipment._replace(casting=Casting(maker, await synthesize_alike(made, maker, place)))

    def _assign(self, task: Task, portion: Sequence[TaskOutput], level: _Level, equipment: Equipment) -> Assignment:
        combined = tuple(level.tasks[output.task_id] for output in portion)
        return assign(task, combined if task.context is None else task.named_context, equipment)

    def _create_error(self, what: str, error: Exception | None, level: _Level) -> MapReduceError:
        reason = "" if error is None else f": {describe_error(error)}"
        return MapReduceError(
            f"{self.subject}: {what}{reason}", self._create_failed_result(level.outputs, level.context)
        )

    @override
    def draw(self, prefix: str) -> Drawing:
        group = self.group
        size, unit = (group.chunk_size, "output") if group.max_tokens is None else (group.max_tokens, "token")
        portion = format_count(size or 0, unit)
        each = Drawing.of_node(f"{prefix}_map", (shorten(group.id), f"map {group.amount}"), "double")
        combined = Drawing.of_node(f"{prefix}_reduce", ("reduce", f"up to {portion} each"), "double")
        edges = [DiagramEdge(each.exit, combined.entry)]
        edges.append(DiagramEdge(combined.exit, combined.entry, "until one is left", "dashed"))
        return Drawing.combine((each, combined), edges, each.entry, combined.exit)
