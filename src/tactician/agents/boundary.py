"""A typed boundary around a Runnable."""

from __future__ import annotations

from dataclasses import replace
from typing import Generic, TypeVar, cast

from tactician.agents.base import BaseRunnable
from tactician.errors import OutputError
from tactician.loop import InvalidOutput, output_type
from tactician.runs import Input, RunContext, Runnable, RunResult, RunStatus
from tactician.tools import as_text

T = TypeVar("T")


class Returns(BaseRunnable[T], Generic[T]):
    """A Runnable whose answer is of a type, whoever gives it: the Runnable itself, or one to which it handed over.

    An answer that is of the type already stays as it is, any other is read as JSON. No model is told of the type.

    Args:
        inner: who works.
        wanted: the type.
    """

    def __init__(self, inner: Runnable, wanted: type[T]) -> None:
        self.name = inner.name
        self.description = inner.description
        self.inner = inner
        self.output_type = wanted
        self._wanted = output_type(wanted)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T]:
        result = await self.inner.run(input, context=context)
        try:
            output = self._wanted.accept(result.output)
            return cast("RunResult[T]", replace(result, output=output))  # mypy takes replace to keep the type
        except InvalidOutput as error:
            text = as_text(result.output)
            failed = RunResult(None, RunStatus.FAILED, result.messages, context.tally, run_id=context.run_id)
            message = f"{self.name}: its answer is not a valid {self._wanted.name}: {error}"
            raise OutputError(message, failed, text) from error
