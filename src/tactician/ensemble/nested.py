"""Ensembles in the place of a task of another ensemble."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Sequence
from typing import Protocol

from typing_extensions import override

from tactician.agents import BaseRunnable
from tactician.agents.composition import Member
from tactician.ensemble.learning.outbox import AT_ONCE, LearningOutbox
from tactician.ensemble.tasks.drawing import Drawing
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.results import EnsembleResult
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.work.composite import Composite, Equipment, TaskTemplate, index_outputs, select_entry
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.errors import Problem
from tactician.llm import ModelLike
from tactician.runs import Budget, Input, RunContext, Runnable


class TaskRunnable(Protocol):
    """Part of an ensemble on which a `NestedEnsemble` depends."""

    name: str
    description: str
    budget: Budget | None

    @property
    def composition(self) -> tuple[Member, ...]:
        """The Runnables inside."""
        ...

    @property
    def structure_problems(self) -> tuple[Problem, ...]:
        """The mistakes in how the tasks and agents fit together."""
        ...

    @property
    def templates(self) -> tuple[TaskTemplate, ...]:
        """The templates that need values."""
        ...

    def find_model_problems(self, context: RunContext) -> Iterator[Problem]:
        """Yield a problem for each model that cannot be used."""
        ...

    def prepare_context(self, context: RunContext | None) -> RunContext | None:
        """Return the context with the settings for all its runs."""
        ...

    def run_tasks(self, environment: TaskEnvironment, context: RunContext) -> Coroutine[object, object, EnsembleResult]:
        """Run the tasks inside a run, without another check."""
        ...


class NestedEnsemble(Composite):
    """Ensemble in the place of a task.

    It gets the values of the ensemble around it, its first tasks see what the task before it gave, and it uses the
    models of the ensemble around it where it has none. Its tools and agents are its own.

    Attributes:
        ensemble: the ensemble.
    """

    def __init__(self, ensemble: TaskRunnable) -> None:
        self.ensemble = ensemble
        self.description = ensemble.description

    @property
    @override
    def id(self) -> str:
        return self.ensemble.name

    @property
    @override
    def role(self) -> str:
        return "(ensemble)"

    @override
    def bind(self, equipment: Equipment) -> Runnable:
        return _NestedRunnable(self, self.ensemble, equipment.casting.model)

    @override
    def find_problems(self, agents: Sequence[object] | None) -> Iterable[Problem]:
        return self.ensemble.structure_problems

    @override
    def list_templates(self) -> Iterable[TaskTemplate]:
        return self.ensemble.templates


class _NestedRunnable(BaseRunnable[object]):
    def __init__(self, nested: NestedEnsemble, ensemble: TaskRunnable, synthesize: ModelLike | None) -> None:
        self.name = ensemble.name
        self.description = ensemble.description
        self.budget = ensemble.budget
        self._nested = nested
        self._ensemble = ensemble
        self._synthesize = synthesize

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return self._ensemble.composition

    @property
    @override
    def label(self) -> tuple[str, ...]:
        return self.name, "Ensemble"

    def draw(self, prefix: str) -> Drawing:
        """Return a drawing of a single node."""
        return Drawing.of_node(prefix, self.label, "double")

    def find_model_problems(self, context: RunContext) -> Iterator[Problem]:
        """Yield a problem for each model that cannot be used."""
        return self._ensemble.find_model_problems(context)

    @override
    def prepare_context(self, context: RunContext | None) -> RunContext | None:
        return self._ensemble.prepare_context(context)

    @override
    async def _work(self, input: Input, context: RunContext) -> EnsembleResult:
        assert isinstance(input, TaskInput)
        entry = select_entry(self._nested, None, input)
        outputs_by_task = index_outputs(input.context_outputs)
        ensemble_input = EnsembleInput(input.values, input.text, input.shows_text)
        environment = TaskEnvironment(
            ensemble_input,
            entry=entry,
            outcomes_by_task=outputs_by_task,
            revision=input.revision,
            synthesize=self._synthesize,
            outbox=context.find(LearningOutbox) or AT_ONCE,
        )
        return await self._ensemble.run_tasks(environment, context)
