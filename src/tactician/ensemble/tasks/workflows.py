"""Workflows: the order in which the tasks of an ensemble run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias, TypeVar, cast

from pydantic_core import core_schema
from typing_extensions import override

from tactician.clock import Clock
from tactician.ensemble.tasks.task import Task
from tactician.errors import DeclarationError
from tactician.flow.scheduler import Scheduler
from tactician.flow.steps import ErrorPolicy, FlowStep, StepCompleted, StepFailed, StepSkipped, StepSuspended
from tactician.flow.turns import Dependent, run_in_turn

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

StepEnd: TypeAlias = StepFailed | StepSkipped | StepSuspended
"""End of a task that is not completed."""
StepT = TypeVar("StepT", bound=Dependent)


class Workflow(str):
    """Order in which the tasks of an ensemble run, which is its name too: `Workflow("parallel")`.

    By itself, a task starts as soon as its context tasks are completed. A subclass that sets `word` is another
    workflow, known by this name to ensembles and blueprints; it overrides what it does differently.

    Raises:
        ValueError: when no workflow has the name.
        DeclarationError: when a subclass has the name of another one.
    """

    __slots__ = ()
    SEQUENTIAL: ClassVar[Workflow]
    """One after another, in the order of the list. A task that names no context gets the output of the task before."""
    PARALLEL: ClassVar[Workflow]
    """Each as soon as its context tasks are completed."""
    HIERARCHICAL: ClassVar[Workflow]
    """As a manager decides, who delegates to workers and answers in the end."""
    word: ClassVar[str] = ""
    """The name of the workflow."""
    has_manager: ClassVar[bool] = False
    """True when a manager delegates the tasks. Then it does not fit phases."""
    ends_with_last: ClassVar[bool] = False
    """True when the last task of the list ends the work, in whatever order the tasks name each other."""

    def __init_subclass__(cls) -> None:
        homes = {(kind.__module__, kind.__qualname__) for kind in _walk_kinds() if kind.word == cls.word}
        if not cls.word or len(homes) > 1:  # a module that is read again defines its class again
            raise DeclarationError(cls.__name__, [f"its word {cls.word!r} must be the name of no other workflow"])

    def __new__(cls, name: str | None = None, /) -> Self:
        """Return the workflow of a name."""
        kind = _list_kinds().get(name or "", cls) if cls is Workflow else cls
        if kind is Workflow:
            raise ValueError(f"{name!r} is not a workflow: write one of {', '.join(map(repr, _list_kinds()))}")
        return cast("Self", str.__new__(kind, kind.word))

    def __repr__(self) -> str:
        return f"Workflow({str(self)!r})"

    def find_context(self, tasks: Sequence[Task], number: int) -> tuple[Task, ...]:
        """Return the tasks whose outputs a task sees: by itself, those that it names."""
        return tuple(task.as_task() for task in tasks[number].context or ())

    def find_first_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks that begin the work: those that read no other one."""
        inside = {task.id for task in tasks}
        return [task for task in tasks if not any(other.id in inside for other in task.named_context)]

    def find_last_tasks(self, tasks: Sequence[Task]) -> tuple[Task, ...]:
        """Return the tasks that the work ends with: those whose outputs no other one reads.

        The last task's output becomes the output of the ensemble or the phase.
        """
        read = {other.id for task in tasks for other in task.named_context}
        return tuple(task for task in tasks if task.id not in read)

    def find_context_mistake(self, number: int, read: int) -> str | None:
        """Return what is wrong with a task that reads another one, by their places in the list, and what to do."""
        return None

    def find_arrows(self, tasks: Sequence[Task], contexts: Sequence[Sequence[Task]]) -> Iterator[tuple[str, str]]:
        """Yield the ids of two tasks of which the second comes after the first, or reads its output.

        Args:
            tasks: the tasks.
            contexts: the tasks that each of them reads, also those of other phases.
        """
        for task, context in zip(tasks, contexts, strict=True):
            yield from ((read.id, task.id) for read in context)

    async def run(
        self,
        steps: Sequence[StepT],
        work: Callable[[StepT], Awaitable[object]],
        record: Callable[[StepEnd], object],
        *,
        max_parallel: int | None,
        on_error: ErrorPolicy,
        clock: Clock,
    ) -> None:
        """Do the tasks: by itself, each as soon as those that it depends on are completed.

        Args:
            steps: the tasks, each with its key and the keys that it depends on.
            work: function that does a task.
            record: function that is called with the end of each task that is not completed.
            max_parallel: number of tasks at once; no limit, when `None`.
            on_error: the effect of a failed task.
            clock: the clock of the run.

        Raises:
            Suspended: when tasks have to wait.
        """
        scheduler: Scheduler[object] = Scheduler(max_concurrency=max_parallel, on_error=on_error, clock=clock)
        async with scheduler:
            scheduler.add(*(FlowStep(step.key, partial(_start, work, step), step.depends_on) for step in steps))
            async for outcome in scheduler:
                if not isinstance(outcome, StepCompleted):
                    record(outcome)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(cls, serialization=core_schema.to_string_ser_schema())

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"enum": [*_list_kinds()], "type": "string"}


def _start(work: Callable[[StepT], Awaitable[object]], step: StepT, _: object) -> Awaitable[object]:
    return work(step)


def _list_kinds() -> dict[str, type[Workflow]]:
    """Return the workflows by their names."""
    return {kind.word: kind for kind in _walk_kinds()}


def _walk_kinds() -> Iterator[type[Workflow]]:
    waiting = Workflow.__subclasses__()
    for kind in waiting:  # grows as it goes
        waiting += kind.__subclasses__()
        yield kind


class Sequential(Workflow):
    """Tasks one after another, in the order of the list."""

    word = "sequential"
    ends_with_last = True

    @override
    def find_context(self, tasks: Sequence[Task], number: int) -> tuple[Task, ...]:
        if number and tasks[number].context is None:
            return (tasks[number - 1],)
        return super().find_context(tasks, number)

    @override
    def find_first_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        return list(tasks[:1])

    @override
    def find_last_tasks(self, tasks: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(tasks[-1:])

    @override
    def find_context_mistake(self, number: int, read: int) -> str | None:
        return "which appears later in the list: move it, or use Workflow.PARALLEL" if read > number else None

    @override
    def find_arrows(self, tasks: Sequence[Task], contexts: Sequence[Sequence[Task]]) -> Iterator[tuple[str, str]]:
        inside = {task.id for task in tasks}
        yield from ((task.id, following.id) for task, following in pairwise(tasks))
        yield from (arrow for arrow in super().find_arrows(tasks, contexts) if arrow[0] not in inside)

    @override
    async def run(
        self,
        steps: Sequence[StepT],
        work: Callable[[StepT], Awaitable[object]],
        record: Callable[[StepEnd], object],
        *,
        max_parallel: int | None,
        on_error: ErrorPolicy,
        clock: Clock,
    ) -> None:
        await run_in_turn(steps, work, record, on_error=on_error)


class Parallel(Workflow):
    """Tasks as soon as their context tasks are completed."""

    word = "parallel"


class Hierarchical(Workflow):
    """Tasks as a manager decides, who delegates to workers and answers in the end."""

    word = "hierarchical"
    has_manager = True

    @override
    def find_last_tasks(self, tasks: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(tasks[-1:])


Workflow.SEQUENTIAL, Workflow.PARALLEL, Workflow.HIERARCHICAL = Sequential(), Parallel(), Hierarchical()


def infer_workflow(tasks: Sequence[Task]) -> Workflow:
    """Return the workflow of tasks for which none is declared: parallel when a task has a context, else sequential."""
    return Workflow.PARALLEL if any(getattr(task, "context", None) for task in tasks) else Workflow.SEQUENTIAL


def has_manager(workflow: object) -> bool:
    """Return whether something is a workflow in which a manager delegates the tasks."""
    return isinstance(workflow, Workflow) and workflow.has_manager
