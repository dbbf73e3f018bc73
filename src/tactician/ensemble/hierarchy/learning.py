"""Learning of a hierarchy: its manager reads what earlier runs have left for all tasks, and its answer is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tactician.ensemble.learning.outbox import LearningOutbox
from tactician.ensemble.learning.recollection import Recollection
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.template import fill_template
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.task_learning import TaskLearning
from tactician.llm import ModelLike
from tactician.runs import RunContext


class HierarchyLearning:
    """Learning of a manager in a run. Its answer is the output of the last task.

    Args:
        jobs: the tasks.
        input: the input of the run.
        model: the model that reflects, the model of the manager.
        context: the context of the run.
        outbox: the outbox for what the answer leaves.
    """

    __slots__ = ("_inputs", "_learnings")

    def __init__(
        self,
        jobs: Sequence[Assignment],
        input: EnsembleInput,
        model: ModelLike | None,
        context: RunContext,
        outbox: LearningOutbox,
    ) -> None:
        place = context.at("tasks")
        self._learnings = [TaskLearning(job.task, job.stores, model, place.at(job.key), outbox) for job in jobs]
        self._inputs = [_create_input(job, input) for job in jobs]

    async def load(self) -> Recollection:
        """Return what earlier runs have left for any of the tasks."""
        pairs = zip(self._learnings, self._inputs, strict=True)
        self._inputs = [await learning.load(task) for learning, task in pairs]
        memory = {scope: entries for task in self._inputs for scope, entries in task.memory.items()}
        return Recollection(memory, tuple(reflection for task in self._inputs for reflection in task.reflections))

    async def keep(self, answer: TaskOutput) -> None:
        """Keep the answer of the manager as the output of the last task."""
        await self._learnings[-1].keep(self._inputs[-1], answer)


def find_reflection_mistakes(jobs: Sequence[Assignment]) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each reflection on a task of a hierarchy that has no output of its own."""
    for number, job in enumerate(jobs[:-1]):
        if job.task.reflection is not None:
            problem = "in a hierarchy only the last task has an output, the answer of the manager"
            yield f"tasks[{number}].reflect", f"{problem}: reflect on that one"


def _create_input(job: Assignment, input: EnsembleInput) -> TaskInput:
    task, values = job.task, input.values
    description, expected = (fill_template(text, values) for text in (task.description, task.expected_output))
    return TaskInput(task.id, description, expected, values=values)
