"""`Phase`: tasks of an ensemble that belong together, with phases before it and a review of its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Final, Generic

from typing_extensions import TypeVar

from tactician.ensemble.phases.review import PhaseReview
from tactician.ensemble.tasks.task import Task, TaskLike, as_tasks
from tactician.ensemble.tasks.workflows import Workflow, has_manager, infer_workflow
from tactician.ensemble.values.argument_kinds import LIST, TEXT, as_list, list_problems, replace_strangers
from tactician.ensemble.values.errors import EnsembleDefinitionError
from tactician.suggestions import suggest_options

T_co = TypeVar("T_co", covariant=True, default=object)
_LONGEST_NAME: Final = 80
_KINDS: Final = {"name": TEXT, "tasks": LIST, "after": LIST}


@suggest_options
@dataclass(frozen=True, eq=False)
class Phase(Generic[T_co]):
    """Tasks of an ensemble that belong together. It starts once the phases before it are completed.

    Args:
        name: the name, unique in the ensemble.
        tasks: the tasks. The last task in the list gives the phase its output.
        after: the phases that run before.
        workflow: the order of the tasks, sequential or parallel; the ensemble's by default, else parallel when a
            task has another task of the phase as context.
        review: the review that decides whether the outputs are good enough.

    Raises:
        EnsembleDefinitionError: with all mistakes.
    """

    name: str
    tasks: Sequence[TaskLike[T_co]]
    _: KW_ONLY
    after: Sequence[Phase] = ()
    workflow: Workflow | None = None
    review: PhaseReview | None = None

    def __post_init__(self) -> None:
        set_field = partial(object.__setattr__, self)
        set_field("tasks", as_list(self.tasks))
        set_field("after", as_list(self.after))
        if problems := list_problems([*replace_strangers(self, _KINDS)], _find_mistakes(self)):
            raise EnsembleDefinitionError(f"Phase {self.name!r}", problems)

    @cached_property
    def own_tasks(self) -> tuple[Task, ...]:
        """The tasks; loops and the like as the tasks that they are."""
        return as_tasks(self.tasks)

    def choose_workflow(self, default: Workflow | None) -> Workflow:
        """Return the order of the tasks: its own, else the default, else the order that follows from their contexts."""
        phase_tasks = {id(task) for task in self.own_tasks}
        inside = [task for task in self.own_tasks if any(id(other) in phase_tasks for other in task.named_context)]
        return self.workflow or default or infer_workflow(inside)

    def list_predecessors(self) -> list[Phase]:
        """Return all phases that run before it, each once: those that it names, and those before them."""
        predecessors: dict[int, Phase] = {}
        waiting = list(self.after)
        while waiting:
            if id(phase := waiting.pop(0)) not in predecessors:
                predecessors[id(phase)] = phase
                waiting.extend(phase.after)
        return list(predecessors.values())


def _find_mistakes(phase: Phase) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each mistake that the phase shows alone."""
    if not phase.name.strip():
        yield "name", "it must not be blank"
    elif len(phase.name) > _LONGEST_NAME or any(sign in phase.name for sign in ":\n"):
        yield "name", f"{phase.name!r} is longer than {_LONGEST_NAME} characters, or has a colon or a line break"
    if not phase.own_tasks:
        yield "tasks", "a phase must have at least one task"
    for place, task in enumerate(phase.own_tasks):
        if not isinstance(task, Task):
            yield f"tasks[{place}]", f"{task!r} is not a Task"
    for place, other in enumerate(phase.after):
        if not isinstance(other, Phase):
            yield f"after[{place}]", f"{other!r} is not a Phase: pass the phase that runs before"
    if phase.workflow is not None and not isinstance(phase.workflow, Workflow):
        yield "workflow", f"{phase.workflow!r} is not a Workflow, such as Workflow.PARALLEL"
    if has_manager(phase.workflow):
        yield (
            "workflow",
            "a phase has no manager: use Workflow.SEQUENTIAL or PARALLEL, or an Ensemble as a task's agent",
        )
    if phase.review is None:
        return
    if not isinstance(phase.review, PhaseReview):
        yield "review", f"{phase.review!r} is not a PhaseReview"
        return
    for task in phase.own_tasks:
        if isinstance(reviewer := phase.review.reviewer, Task) and getattr(task, "id", None) == reviewer.id:
            yield "review.reviewer", f"it is the task {task.label!r} of the phase: a review runs after all its tasks"
