"""`EnsembleRunnable`: base of what runs tasks by itself: ensembles, and loops, graphs and map-reduces."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Coroutine, Iterator, Mapping

from typing_extensions import TypeVar, override

from tactician.agents import BaseRunnable
from tactician.conversation import Conversation
from tactician.ensemble.values.inputs import TEXT_NAME, EnsembleInput, create_arguments_type
from tactician.ensemble.values.results import EnsembleResult
from tactician.errors import Problem
from tactician.runs import Budget, Input, RunContext
from tactician.runs.context.threads import run_blocking
from tactician.runs.outcomes.suspension import Response
from tactician.suggestions import suggest_options

T_co = TypeVar("T_co", covariant=True, default=object)


class EnsembleRunnable(BaseRunnable[T_co]):
    """Runnable whose input has values for the templates of tasks, and whose result is an `EnsembleResult`."""

    @property
    @abstractmethod
    def structure_problems(self) -> tuple[Problem, ...]:
        """The mistakes in how the tasks and agents fit together."""

    @property
    @abstractmethod
    def value_names(self) -> tuple[str, ...]:
        """The names for which its templates need values, each once."""

    @property
    def tool_arguments(self) -> type[object] | None:
        """The type of its arguments as a tool: a text for each value that the templates need; `None` for one text."""
        names = self.value_names
        return None if set(names) <= {TEXT_NAME} else create_arguments_type(names)

    @abstractmethod
    def find_model_problems(self, context: RunContext) -> Iterator[Problem]:
        """Yield a problem for each model that cannot be used."""

    @abstractmethod
    def run_inside(self, input: EnsembleInput, context: RunContext) -> Coroutine[object, object, EnsembleResult[T_co]]:
        """Check the tasks and the input, and run the tasks inside a run.

        Args:
            input: the input of the run.
            context: the context of the run.

        Raises:
            EnsembleDefinitionError: with all mistakes; then no task has run.
            TaskFailedError: when a task fails.
        """

    @override
    def _work(self, input: Input, context: RunContext) -> Coroutine[object, object, EnsembleResult[T_co]]:
        return self.run_inside(EnsembleInput.create(input), context)

    @override
    @suggest_options
    async def run(
        self,
        input: Input = None,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
    ) -> EnsembleResult[T_co]:
        """Run the tasks.

        Args:
            input: values for templates by their names, or text, or any object, which becomes text.
            context: the context; by default the context of the running code, and outside of runs the default services.
            budget: the budget of the run; the budget of the ensemble by default.
            conversation: the conversation so far. It gets the input and the output.

        Returns:
            The result. Its status is `WAITING` when a task needs an answer from outside first: see `resume`.

        Raises:
            EnsembleDefinitionError: with all mistakes in the ensemble and in the input; then no task has run.
            TaskFailedError: when a task fails; it has the outputs of all that were completed.
        """
        checked = EnsembleInput.create(input)

        def work(_: Input, inside: RunContext) -> Awaitable[EnsembleResult[T_co]]:
            return self.run_inside(checked, inside)

        result = await self._start(checked.to_plain(), context, budget, conversation, work)
        return result if isinstance(result, EnsembleResult) else EnsembleResult.of(result, self.name)

    @override
    async def resume(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        context: RunContext | None = None,
        conversation: Conversation | None = None,
    ) -> EnsembleResult[T_co]:
        """Continue a waiting run, in this or another process; see `BaseRunnable.resume`."""
        result = await super().resume(run_id, responses, context=context, conversation=conversation)
        return EnsembleResult.of(result, self.name)

    @override
    @suggest_options
    def run_sync(
        self,
        input: Input = None,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
    ) -> EnsembleResult[T_co]:
        """Run from a program without an event loop; see `run`.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(input, context=context, budget=budget, conversation=conversation))
