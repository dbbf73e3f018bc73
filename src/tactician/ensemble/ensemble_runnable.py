"""`EnsembleRunnable`: base of what runs tasks by itself: ensembles, and loops, graphs and map-reduces."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import override

from tactician.agents import BaseRunnable
from tactician.conversation import Conversation
from tactician.ensemble.inputs import EnsembleInput
from tactician.ensemble.results import EnsembleResult
from tactician.runs import Budget, Input, Response, RunContext, run_blocking


class EnsembleRunnable(BaseRunnable[object]):
    """Runnable whose input has values for the templates of tasks, and whose result is an `EnsembleResult`."""

    budget: Budget | None = None
    """The budget of each run that names no other budget."""

    @override
    async def run(
        self,
        input: Input = None,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
    ) -> EnsembleResult:
        """Run the tasks.

        Args:
            input: values for templates by their names, or text, or any object, which becomes text.
            context: the context; by default that of the running code, and outside of runs the default services.
            budget: the budget of the run; that of the ensemble by default.
            conversation: the conversation so far. It gets the input and the output.

        Returns:
            The result. Its status is `WAITING` when a task needs an answer from outside first: see `resume`.

        Raises:
            EnsembleDefinitionError: with all mistakes in the ensemble and in the input; then no task has run.
            TaskFailedError: when a task fails; it has the outputs of all that were completed.
        """
        plain = EnsembleInput.create(input).to_plain()
        limit = self.budget if budget is None else budget
        return EnsembleResult.of(await self._start(plain, context, limit, conversation), self.name)

    @override
    async def resume(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        context: RunContext | None = None,
        conversation: Conversation | None = None,
    ) -> EnsembleResult:
        """Continue a waiting run, in this or another process; see `BaseRunnable.resume`."""
        result = await super().resume(run_id, responses, context=context, conversation=conversation)
        return EnsembleResult.of(result, self.name)

    @override
    def run_sync(self, input: Input = None, *, conversation: Conversation | None = None) -> EnsembleResult:
        """Run from a program without an event loop; see `run`.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(input, conversation=conversation))
