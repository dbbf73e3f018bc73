"""Runs that may fail without failing the run that they are in."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from tactician.agents.constellations.results import failure
from tactician.errors import BudgetError, RunError
from tactician.runs import Input, RunContext, Runnable, RunResult, RunStatus


class Attempts:
    """The runs inside a run that may fail. After a pause those that failed are not run again: it is known why.

    Args:
        context: that of the run they are in.

    Attributes:
        last_error: what the last one raised that failed; `None` when none has since the last pause.
    """

    def __init__(self, context: RunContext) -> None:
        assert context.frame is not None
        self.last_error: Exception | None = None
        self._context = context
        self._frame = context.frame
        known = self._frame.saved if isinstance(self._frame.saved, dict) else {}
        self._reasons = {key: str(reason) for key, reason in known.items()}
        self._frame.progress = self

    async def run(self, key: str, runnable: Runnable, input: Input) -> RunResult[object]:
        """The result of a run; where it fails, one with the status `FAILED` whose output is `[ERROR: ...]`.

        Raises:
            BudgetError: when the budget of the run around it is used up.
        """
        if key not in self._reasons:
            try:
                return await runnable.run(input, context=self._context.at(key))
            except Exception as error:
                if isinstance(error, BudgetError) and self._budget_is_used_up():
                    raise
                self.last_error = error
                self._fail(key, f"{type(error).__name__}: {error}")
        return RunResult(f"[ERROR: {self._reasons[key]}]", RunStatus.FAILED)

    def give_up(self, keys: Iterable[str], reason: str) -> None:
        """Counts runs that are no longer needed as failed, so that they are not run again either."""
        for key in keys:
            if key not in self._reasons:
                self._fail(key, reason)

    def all_failed(self, name: str, input: Input, contributions: Iterable[str]) -> RunError:
        """The error of a run in which nobody has succeeded."""
        why = "; ".join(contributions)
        return RunError(f"{name}: nobody succeeded: {why}", failure(input, self._context))

    def saved(self) -> JsonValue:
        """Why those failed that did, as JSON."""
        return {**self._reasons}

    def _fail(self, key: str, reason: str) -> None:
        self._reasons[key] = reason
        self._frame.forget(key)

    def _budget_is_used_up(self) -> bool:
        return self._context.meter is not None and self._context.meter.exceeded() is not None
