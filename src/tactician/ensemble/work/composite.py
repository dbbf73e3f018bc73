"""`Composite`: work of a task that is done by other tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Final, Generic, NamedTuple, cast

from typing_extensions import TypeVar

from tactician.ensemble.delegation.roster import NO_ROSTER, Roster
from tactician.ensemble.learning.recollection import LearningStores
from tactician.ensemble.tasks.task import Task, shorten
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.errors import Problem
from tactician.llm import ModelLike
from tactician.runs import RunContext, Runnable, RunResult
from tactician.tools.toolbox import ToolLike

T_co = TypeVar("T_co", covariant=True, default=object)
NO_STORES: Final = LearningStores()


class Casting(NamedTuple):
    """Agents that a model chooses for tasks without an agent.

    Attributes:
        model: the model; `None` when no model chooses.
        chosen: the tasks for which it has chosen, each with the role, goal and background of its agent.
    """

    model: ModelLike | None = None
    chosen: Mapping[Task, Task] = MappingProxyType({})

    def find(self, task: Task) -> Task:
        """Return the task with its agent as chosen, if there is a choice."""
        return self.chosen.get(task, task)


NO_CASTING: Final = Casting()


class Equipment(NamedTuple):
    """Settings of an ensemble for its tasks.

    Attributes:
        model: the model of agents and tasks without a model.
        tools: the tools for all agents.
        roster: the agents to which others may delegate.
        stores: the stores with which tasks learn.
        casting: the agents of tasks without an agent.
    """

    model: ModelLike | None = None
    tools: Sequence[ToolLike] = ()
    roster: Roster = NO_ROSTER
    stores: LearningStores = NO_STORES
    casting: Casting = NO_CASTING


class TaskTemplate(NamedTuple):
    """Place of a template, and the names that it needs values for."""

    path: str
    names: tuple[str, ...]


class Composite(ABC, Generic[T_co]):
    """Work of a task that is done by other tasks: a loop, a graph, a map-reduce, an ensemble.

    It is a handler, which gets a `TaskInput`. In an ensemble its tasks have the model and the tools of the ensemble.
    """

    description: str
    """The description of the task; it may have templates."""
    asks_reviewer: ClassVar[bool] = False
    """True when the tasks inside ask the reviewer of the ensemble themselves."""

    @property
    @abstractmethod
    def id(self) -> str:
        """The id of the task."""

    @property
    @abstractmethod
    def role(self) -> str:
        """Role in outputs and events, such as `"(loop)"`."""

    @property
    def context(self) -> Sequence[Task] | None:
        """The tasks outside whose outputs it needs; `None` when it names none."""
        return None

    @property
    def parts(self) -> Mapping[str, Task]:
        """The tasks inside by their places, such as `tasks[0]`, as far as they are known before a run."""
        return {}

    @abstractmethod
    def bind(self, equipment: Equipment) -> Runnable:
        """Return a Runnable that does the tasks. Its input is a `TaskInput`."""

    def find_problems(self, agents: Sequence[object] | None) -> Iterable[Problem]:
        """Return the mistakes in its tasks, with places inside it.

        Args:
            agents: the agents of the ensemble around it; all may do its tasks, when `None`.
        """
        return ()

    def list_templates(self) -> Iterable[TaskTemplate]:
        """Return the templates of its tasks, with places inside it."""
        return ()

    def as_task(self) -> Task[T_co]:
        """Return the task that it does."""
        return self._task

    @cached_property
    def _task(self) -> Task[T_co]:
        task = Task(self.description, id=self.id, context=self.context, handler=self)
        return cast("Task[T_co]", task)  # the type of what the tasks inside give

    async def __call__(self, task: TaskInput) -> object:
        """Do the task in the run of the running code."""
        result: RunResult[object] = await self.bind(Equipment()).run(task, context=RunContext.current())
        return result.output

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shorten(self.id)!r})"


def find_composite(task: Task) -> Composite | None:
    """Return the composite that does a task; `None` when an agent or a function does it."""
    return task.handler if isinstance(task.handler, Composite) else None


def walk_tasks(places: Iterable[tuple[str, Task]]) -> Iterator[tuple[str, Task]]:
    """Yield tasks with their places, and those inside of them."""
    for path, task in places:
        yield path, task
        if (composite := find_composite(task)) is not None:
            yield from walk_tasks((f"{path}.{place}", part) for place, part in composite.parts.items())


def select_entry(composite: Composite, names: Iterable[str] | None, task: TaskInput) -> tuple[TaskOutput, ...]:
    """Return the outputs that the first tasks of a composite see.

    Args:
        composite: the composite.
        names: ids of the tasks that it names itself; `None`, when it names none and its tasks do not either.
        task: its input.
    """
    entry_names = None if names is None else set(names)
    chosen = (output for output in task.context_outputs if entry_names is None or output.task_id in entry_names)
    return tuple(readable for output in chosen for readable in output.readable)


def index_outputs(outputs: Iterable[TaskOutput]) -> Mapping[str, TaskOutput]:
    """Return outputs by task id; the latest of each task."""
    return {output.task_id: output for output in outputs}
