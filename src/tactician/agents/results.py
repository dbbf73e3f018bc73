"""Results of nested runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from tactician.llm.messages import join_text
from tactician.runs import Input, RunContext, RunError, Runnable, RunResult, RunStatus
from tactician.runs.outcomes.errors import is_limit
from tactician.runs.runnable import messages_of
from tactician.tools.tool import as_text

T = TypeVar("T")


def as_own_result(
    result: RunResult[T], context: RunContext, related: Sequence[RunResult[object]] | None = None
) -> RunResult[T]:
    """Return the result of a nested run as its parent's, with the usage of all nested runs."""
    others = result.related if related is None else tuple(related)
    return replace(result, tally=context.tally, run_id=context.run_id, related=others)


def create_failed_result(input: Input, context: RunContext) -> RunResult[None]:
    """Return the result of a failed run, with the messages so far."""
    return RunResult(None, RunStatus.FAILED, tuple(messages_of(input)), context.tally, run_id=context.run_id)


def format_contribution(who: Runnable, result: RunResult[object]) -> str:
    """Return an answer with the name of its author, for other agents."""
    return f"[{who.name}]: {as_text(result.output)}"


def format_briefing(input: Input, contributions: Iterable[str]) -> str:
    """Return the input and all contributions as text, for a synthesizer."""
    text = "\n\n".join(contributions)
    return f"This was asked:\n{join_text(messages_of(input))}\n\nThis was said:\n{text}\n\nMake one answer of it."


class Attempts:
    """Nested runs that may fail. After a resume, failed runs are not repeated.

    Args:
        context: the context of the parent run.

    Attributes:
        last_error: the exception of the last failed attempt; `None` when none has failed since the run was resumed.
    """

    def __init__(self, context: RunContext) -> None:
        assert context.checkpoint is not None
        self.last_error: Exception | None = None
        self._context = context
        self._answering = context.with_held_text()  # it may fail, and another answer counts
        self._inside = context.as_internal()
        self._checkpoint = context.checkpoint
        saved_failures = self._checkpoint.data.get("failed")
        self._reasons = (
            {key: str(reason) for key, reason in saved_failures.items()} if isinstance(saved_failures, dict) else {}
        )

    async def run(self, key: str, runnable: Runnable, input: Input, *, answers: bool = False) -> RunResult[object]:
        """Return the result of a nested run; a failed run has the status `FAILED` and the error as output.

        Args:
            key: the key of the run.
            runnable: the Runnable.
            input: its input.
            answers: True when its answer is expected to become the parent's.

        Raises:
            Exception: the error of a nested run that ended because the budget of the run around it is used up.
        """
        if key not in self._reasons:
            try:
                return await runnable.run(input, context=(self._answering if answers else self._inside).at(key))
            except Exception as error:
                if is_limit(error) and self._budget_is_used_up():
                    raise
                self.last_error = error
                self._fail(key, f"{type(error).__name__}: {error}")
                await self._context.save_step("failure", runnable.name, self._reasons[key])
        return RunResult(f"[ERROR: {self._reasons[key]}]", RunStatus.FAILED)

    def give_up(self, keys: Iterable[str], reason: str) -> None:
        """Record unneeded runs as failed, so that they are not repeated either."""
        for key in keys:
            if key not in self._reasons:
                self._fail(key, reason)

    def create_error(self, name: str, input: Input, contributions: Iterable[str]) -> RunError:
        """Return the error of a run in which every attempt failed."""
        why = "; ".join(contributions)
        return RunError(f"{name}: no attempt succeeded: {why}", create_failed_result(input, self._context))

    def _fail(self, key: str, reason: str) -> None:
        self._reasons[key] = reason
        self._checkpoint.drop(key)
        self._checkpoint.set(failed=dict(self._reasons))

    def _budget_is_used_up(self) -> bool:
        return self._context.find_limit() is not None
