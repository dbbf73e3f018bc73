"""`TaskGroup`: base of loops, graphs and map-reduces, which stand in the place of a task of an ensemble."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Generic

from typing_extensions import TypeVar, override

from tactician.agents import BaseRunnable
from tactician.agents.composition import Member
from tactician.diagrams.diagram import Diagram
from tactician.ensemble.ensemble import Ensemble
from tactician.ensemble.learning.outbox import AT_ONCE, LearningOutbox
from tactician.ensemble.tasks.drawing import Drawing
from tactician.ensemble.tasks.task import Task, TaskLike, as_tasks, shorten
from tactician.ensemble.values.early_exit import EarlyExit
from tactician.ensemble.values.ensemble_runnable import EnsembleRunnable
from tactician.ensemble.values.errors import EnsembleDefinitionError
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.results import CompositeResult, EnsembleResult
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.checks import find_part_problems, list_part_templates
from tactician.ensemble.work.composite import Composite, TaskTemplate, index_outputs, select_entry
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.model_checks import find_model_problems
from tactician.ensemble.work.task_reviews import ReviewSettings
from tactician.errors import Problem
from tactician.runs import Input, RunContext, RunStatus

T_co = TypeVar("T_co", covariant=True, default=object)
G = TypeVar("G", bound="TaskGroup")


class TaskGroup(Composite[T_co], EnsembleRunnable[T_co]):
    """Group of tasks that stands in the place of a task of an ensemble.

    They may name tasks outside as their context, which the group then depends on. Anywhere else it is a Runnable, which
    does what an ensemble with this group alone does.

    Args:
        id: the id.
        description: the description; empty for the default.
        parts: the tasks, by their places.
        context: tasks outside whose outputs the first task sees; in a sequence, by default, the task before the group.

    Attributes:
        own_context: the tasks outside that the group itself names; `None` when it names none.
    """

    asks_reviewer: ClassVar[bool] = True

    def __init__(
        self, id: str, description: str, parts: Mapping[str, TaskLike], context: Sequence[TaskLike] | None
    ) -> None:
        self._id = id
        self.name = shorten(id)
        self._parts = dict(zip(parts, as_tasks(parts.values()), strict=True))
        self.own_context = None if context is None else as_tasks(context)
        self.own_description = description or ""
        self.description = description or self.default_description
        mistakes = [*self._find_part_mistakes(), *self._find_mistakes()]
        if problems := [Problem(path, message) for path, message in mistakes]:
            raise EnsembleDefinitionError(f"{type(self).__name__} {self.name!r}", problems)

    @property
    @override
    def id(self) -> str:
        return self._id

    @property
    @abstractmethod
    def default_description(self) -> str:
        """The description by default."""

    @property
    @override
    def context(self) -> Sequence[Task] | None:
        outside = list(self._find_outside())
        if self.own_context is None and not outside:
            return None
        return list({task.id: task for task in (*(self.own_context or ()), *outside)}.values())

    @property
    @override
    def parts(self) -> Mapping[str, Task]:
        return self._parts

    @override
    def find_problems(self, agents: Sequence[object] | None) -> Iterable[Problem]:
        return find_part_problems(self._parts.items(), agents)

    @override
    def list_templates(self) -> Iterable[TaskTemplate]:
        return list_part_templates(self._parts.items())

    @property
    @override
    def structure_problems(self) -> tuple[Problem, ...]:
        return self._alone.structure_problems

    @property
    @override
    def value_names(self) -> tuple[str, ...]:
        return self._alone.value_names

    @override
    def find_model_problems(self, context: RunContext) -> Iterator[Problem]:
        return self._alone.find_model_problems(context)

    @override
    def run_inside(self, input: EnsembleInput, context: RunContext) -> Coroutine[object, object, EnsembleResult[T_co]]:
        return self._alone.run_inside(input, context)

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return self._alone.composition

    @override
    def diagram(self) -> Diagram:
        """Return a drawing of the tasks."""
        return self._alone.diagram()

    @cached_property
    def _alone(self) -> Ensemble[T_co]:
        return Ensemble(self.name, [self])

    def create_environment(self, task: TaskInput, context: RunContext) -> TaskEnvironment:
        """Return the environment of the tasks for an input of the group.

        The policy for reviews is about the group, and not about the tasks inside it.
        """
        review_settings = context.find(ReviewSettings) or ReviewSettings()
        names = None if self.context is None else [task.id for task in self.own_context or ()]
        outputs_by_task = index_outputs(task.context_outputs)
        entry = select_entry(self, names, task)
        return TaskEnvironment(
            EnsembleInput(task.values, task.text, task.shows_text),
            entry=entry,
            outcomes_by_task=outputs_by_task,
            earlier=task.earlier_outputs,
            forgotten=task.forgotten_outputs,
            revision=task.revision,
            reviews=ReviewSettings(reviewer=review_settings.reviewer),
            exit=context.find(EarlyExit),
            outbox=context.find(LearningOutbox) or AT_ONCE,
        )

    def _find_mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield the place and the description of each mistake in the settings."""
        yield from ()

    def _find_part_mistakes(self) -> Iterator[tuple[str, str]]:
        if not self._id.strip():
            yield "id", "it must not be blank"
        outside = {f"context[{number}]": other for number, other in enumerate(self.own_context or ())}
        named: dict[str, object] = {**outside, **self._parts}
        strangers = {place: part for place, part in named.items() if not isinstance(part, Task)}
        if strangers:
            yield from ((place, f"{part!r} is not a Task") for place, part in strangers.items())
            return
        counts = Counter(part.id for part in self._parts.values())
        for place, part in self._parts.items():
            if counts[part.id] > 1:
                yield f"{place}.id", f"{counts[part.id]} tasks have the id {part.label!r}: give each an id of its own"

    def _find_outside(self) -> Iterator[Task]:
        """Yield the tasks outside that tasks of the group name as their context."""
        part_ids = {part.id for part in self._parts.values()}
        named = (other for part in self._parts.values() for other in part.named_context)
        yield from (other for other in named if other.id not in part_ids)


class GroupRunnable(BaseRunnable[object], Generic[G]):
    """Group of tasks with the Runnables that do them. Its input is a `TaskInput`.

    Args:
        group: the group.
        jobs: its tasks, by their places.
    """

    def __init__(self, group: G, jobs: Mapping[str, Assignment]) -> None:
        self.name = group.name
        self.description, self.own_description = group.description, group.own_description
        self.group = group
        self.jobs = jobs

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return tuple(Member(job.task.label, job.runnable) for job in self.jobs.values())

    def find_model_problems(self, context: RunContext) -> Iterator[Problem]:
        """Yield a problem for each model that cannot be used."""
        return find_model_problems(self.jobs.items(), context)

    @property
    def subject(self) -> str:
        """The group in messages, such as `loop 'Improve'`."""
        return f"{type(self.group).__name__} {self.group.name!r}"

    def draw(self, prefix: str) -> Drawing:
        """Return a drawing of the tasks, whose nodes have ids that begin with the prefix."""
        return Drawing.of_node(prefix, (self.group.name, self.group.role))

    @override
    async def _work(self, input: Input, context: RunContext) -> CompositeResult:
        assert isinstance(input, TaskInput)
        await context.begin_step()
        return await self._perform(self.group.create_environment(input, context), input, context)

    @abstractmethod
    async def _perform(self, environment: TaskEnvironment, task: TaskInput, context: RunContext) -> CompositeResult:
        """Do the tasks."""

    def _conclude(
        self,
        parts: Sequence[TaskOutput],
        shown: Sequence[TaskOutput],
        context: RunContext,
        *,
        limit_reached: bool = False,
    ) -> CompositeResult:
        """Return the result, whose output is the last of those that other tasks see; empty without outputs."""
        last = shown[-1] if shown else None
        raw, parsed = ("", None) if last is None else (last.raw, last.parsed)
        result = CompositeResult(raw if parsed is None else parsed, tally=context.tally, run_id=context.run_id, raw=raw)
        result.task_outputs, result.shown, result.limit_reached = tuple(parts), tuple(shown), limit_reached
        return result

    def _create_failed_result(self, outputs: Sequence[TaskOutput], context: RunContext) -> CompositeResult:
        result = CompositeResult(None, RunStatus.FAILED, tally=context.tally, run_id=context.run_id)
        result.task_outputs = tuple(outputs)
        return result
