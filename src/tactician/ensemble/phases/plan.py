"""Plan of an ensemble with phases: their tasks with who does them, and the mistakes in how they fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tactician.agents.composition import Member
from tactician.ensemble.phases.phase import Phase
from tactician.ensemble.reviews.review import ReviewPolicy
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.ensemble.tasks.task import Task
from tactician.ensemble.tasks.workflows import Workflow
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.checks import find_structure_problems
from tactician.ensemble.work.running import TaskErrorPolicy
from tactician.ensemble.work.task_reviews import ReviewSettings
from tactician.errors import Problem
from tactician.frozen import frozen

Assign: TypeAlias = Callable[[Task, tuple[Task, ...]], Assignment]
"""Function of a task and the tasks whose outputs it sees, which assigns a Runnable to the task."""


@frozen
class PlannedPhase:
    """Phase with who does its tasks.

    Attributes:
        phase: the phase.
        path: its place in the ensemble, for messages.
        workflow: the order of its tasks.
        jobs: its tasks.
        reviewer: the task that decides on it; `None` without a review, and for a person.
        predecessors: the names of all phases that run before it.
    """

    phase: Phase
    path: str
    workflow: Workflow
    jobs: tuple[Assignment, ...]
    reviewer: Assignment | None
    predecessors: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the phase."""
        return self.phase.name

    @property
    def direct_predecessors(self) -> tuple[str, ...]:
        """The names of the phases that it names itself."""
        return tuple(phase.name for phase in self.phase.after)

    def list_from_first_to_last(self) -> list[Task]:
        """Return its tasks, those at the end whose outputs it ends with."""
        last = self.workflow.find_last_tasks(self.phase.own_tasks)
        return [*(task for task in self.phase.own_tasks if task not in last), *last]

    def list_jobs(self) -> Iterator[tuple[str, Assignment]]:
        """Yield its tasks and the task that reviews them, with their places in the ensemble."""
        for number, job in enumerate(self.jobs):
            yield f"{self.path}.tasks[{number}]", job
        if self.reviewer is not None:
            yield f"{self.path}.review.reviewer", self.reviewer


class PhasePlan:
    """Phases of an ensemble with who does their tasks. It holds no state of a run.

    Args:
        phases: the phases.
        workflow: the order of the tasks of phases without a workflow.
        assign: function that finds who does a task.
        max_parallel: number of tasks that may run at once; no limit, when `None`.
        on_error: the effect of a failed task on others of its phase.
        reviews: the settings of the ensemble for reviews of tasks.
    """

    def __init__(
        self,
        phases: Sequence[Phase],
        workflow: Workflow | None,
        assign: Assign,
        max_parallel: int | None,
        on_error: TaskErrorPolicy,
        reviews: ReviewSettings,
    ) -> None:
        self._reviews = reviews
        self.max_parallel = max_parallel
        self.on_error = on_error
        self.phases = tuple(_plan(phase, f"phases[{number}]", workflow, assign) for number, phase in enumerate(phases))

    @property
    def last(self) -> PlannedPhase:
        """The phase that gives the ensemble its output: the last in the list that no other phase follows."""
        followed = {phase.name for planned in self.phases for phase in planned.phase.after}
        return next(planned for planned in reversed(self.phases) if planned.name not in followed)

    @property
    def by_name(self) -> Mapping[str, PlannedPhase]:
        """The phases, by name."""
        return {planned.name: planned for planned in self.phases}

    @property
    def reviewer(self) -> Reviewer | None:
        """The reviewer of the ensemble, which also answers for people who review phases."""
        return self._reviews.reviewer

    def find_reviews(self, planned: PlannedPhase) -> ReviewSettings:
        """Return the settings for reviews of the tasks of a phase: the last task of all is in the last phase."""
        if planned is self.phases[-1] or self._reviews.policy is not ReviewPolicy.AFTER_LAST_TASK:
            return self._reviews
        return replace(self._reviews, policy=ReviewPolicy.NEVER)

    def list_jobs(self) -> Iterator[tuple[str, Assignment]]:
        """Yield all tasks, those that review phases too, with their places in the ensemble."""
        for planned in self.phases:
            yield from planned.list_jobs()

    def list_members(self) -> Iterator[Member]:
        """Yield who does the tasks, with the names of these as roles."""
        for _, job in self.list_jobs():
            yield Member(job.task.label, job.runnable)

    def find_first_ids(self) -> frozenset[str]:
        """Return the ids of the tasks that begin the work: the first ones of the phases that come after no other."""
        first = (planned for planned in self.phases if not planned.phase.after)
        return frozenset(
            task.id for planned in first for task in planned.workflow.find_first_tasks(planned.phase.own_tasks)
        )

    def find_arrows(self) -> Iterator[tuple[str, str]]:
        """Yield the ids of tasks of which the second comes after the first, or reads its output."""
        for planned in self.phases:
            yield from planned.workflow.find_arrows(planned.phase.own_tasks, [job.context for job in planned.jobs])

    def find_problems(self, agents: Sequence[object] | None) -> Iterator[Problem]:
        """Yield the mistakes in how the phases and their tasks fit together."""
        yield from self._find_duplicates()
        phase_ids = {id(planned.phase) for planned in self.phases}
        for planned in self.phases:
            for number, other in enumerate(planned.phase.after):
                if id(other) not in phase_ids:
                    message = f"the phase {other.name!r} is not in the ensemble: add it to the phases"
                    yield Problem(f"{planned.path}.after[{number}]", message)
            yield from _find_task_problems(planned, agents)

    def _find_duplicates(self) -> Iterator[Problem]:
        names = Counter(planned.name for planned in self.phases)
        places = [(path, job.task) for path, job in self.list_jobs() if ".tasks[" in path]
        ids = Counter(task.id for _, task in places)
        for planned in self.phases:
            if names[planned.name] > 1:
                message = f"{names[planned.name]} phases have the name {planned.name!r}: give each a name of its own"
                yield Problem(f"{planned.path}.name", message)
        for path, task in places:
            if ids[task.id] > 1:
                message = f"{ids[task.id]} tasks have the id {task.label!r}: give each an id of its own"
                yield Problem(f"{path}.id", message)


def _plan(phase: Phase, path: str, default: Workflow | None, assign: Assign) -> PlannedPhase:
    workflow = phase.choose_workflow(default)
    contexts = (_find_context(phase, number, workflow, default) for number in range(len(phase.own_tasks)))
    jobs = tuple(assign(task, context) for task, context in zip(phase.own_tasks, contexts, strict=True))
    review = None if phase.review is None else phase.review.create_task(phase.name, tuple(phase.own_tasks))
    reviewer = None if review is None else assign(review, review.named_context)
    return PlannedPhase(
        phase, path, workflow, jobs, reviewer, tuple(before.name for before in phase.list_predecessors())
    )


def _find_context(phase: Phase, number: int, workflow: Workflow, default: Workflow | None) -> tuple[Task, ...]:
    """Return the tasks whose outputs a task sees: of the phases before, if it names none and begins the phase."""
    context = workflow.find_context(phase.own_tasks, number)
    if context or phase.own_tasks[number].context is not None:
        return context
    before = (other.choose_workflow(default).find_last_tasks(other.own_tasks) for other in phase.after)
    return tuple(dict.fromkeys(task for tasks in before for task in tasks))


def _find_task_problems(planned: PlannedPhase, agents: Sequence[object] | None) -> Iterator[Problem]:
    earlier = {task.id for phase in planned.phase.list_predecessors() for task in phase.own_tasks}
    problems = find_structure_problems(planned.phase.own_tasks, agents, planned.workflow, earlier)
    yield from (Problem(f"{planned.path}.{problem.path}", problem.message) for problem in problems)
    if planned.reviewer is not None:
        visible = earlier | {task.id for task in planned.phase.own_tasks}
        place = f"{planned.path}.review.reviewer"
        for problem in find_structure_problems([planned.reviewer.task], None, Workflow.PARALLEL, visible):
            yield Problem(_move(problem.path, place), problem.message)


def _move(path: str, place: str) -> str:
    """Return the path of the only task of a list, for the same task at another place."""
    return path.replace("tasks[0]", place, 1)
