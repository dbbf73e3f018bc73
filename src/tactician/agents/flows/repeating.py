"""`repeat_until`: a step again and again, until its result is as it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from tactician.agents.base import BaseRunnable
from tactician.agents.constellations.results import as_own, failure
from tactician.agents.flows.steps import Given, Step, StepLike, label_of, step_of
from tactician.agents.flows.values import plain
from tactician.errors import DeclarationError, RepeatLimitError
from tactician.llm import text_of
from tactician.runs import Input, RunContext, RunResult, messages_of
from tactician.tools import as_text, caller_namespace

T = TypeVar("T")
DEFAULT_MAX_ITERATIONS = 5


class RepeatUntil(BaseRunnable[T], Generic[T]):
    """A step that is repeated until a condition holds. Made by `repeat_until`. All attempts are `related`."""

    def __init__(
        self,
        step: Step[T],
        until: Step[bool],
        returning: type[T],
        name: str,
        description: str,
        max_iterations: int,
    ) -> None:
        self.output_type = returning
        self.name = name
        self.description = description
        self.max_iterations = positive(max_iterations, name)
        self._step = step
        self._until = until

    def __repr__(self) -> str:
        return f"RepeatUntil({self.name!r})"

    async def _work(self, input: Input, context: RunContext) -> RunResult[T]:
        attempts: list[RunResult[T]] = []
        given = plain(input)
        for _ in range(self.max_iterations):
            last = attempts[-1].output if attempts else None
            earlier = [attempt.output for attempt in attempts]
            attempt = await self._step.run(Given((given, last, earlier), again(given, last)), context=context)
            attempts.append(attempt)
            asked = Given((attempt.output, given), attempt.output)
            if (await self._until.run(asked, context=context)).output:
                return as_own(attempt, context, attempts)
        failed = replace(failure(input, context), related=tuple(attempts))
        raise RepeatLimitError(
            f"{self.name}: not as it should be after {self.max_iterations} attempts, the last of which gave: "
            f"{as_text(attempts[-1].output)}",
            failed,
        )


def repeat_until(
    returning: type[T],
    step: StepLike[T],
    until: StepLike[bool],
    *,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
    name: str | None = None,
    description: str | None = None,
) -> RepeatUntil[T]:
    """Repeats a step until a condition holds for what it gives.

    When the condition never holds, the run fails with a `RepeatLimitError`, whose `result.related` are all attempts.

    Args:
        returning: what it gives.
        step: a function of the input, the last attempt (`None` at first) and the list of all attempts, of which it may
            leave out the last ones; or any Runnable, which reads the input and the last attempt.
        until: a function of the attempt and the input, or any Runnable, which reads the attempt.
        max_iterations: how often the step may be run.
        name: how others call it; that of the type by default.
        description: what it is for.

    Raises:
        DeclarationError: when a function needs more than that.
    """
    label = label_of(name, returning)
    namespace = caller_namespace(1)
    repeated = step_of(step, returning, "attempt", namespace, most=3)
    done = step_of(until, bool, "until", namespace, most=2)
    told = description or f"gives a {label} as it should be"
    return RepeatUntil(repeated, done, returning, label, told, max_iterations)


def again(input: Input, last: object | None, objections: Sequence[str] = ()) -> Input:
    """The input for another attempt, in words; the input itself for the first."""
    if last is None:
        return input
    parts = [f"This was asked:\n{text_of(messages_of(input))}", f"The last attempt:\n{as_text(last)}", *objections]
    return "\n\n".join((*parts, "Make a better one."))


def positive(max_iterations: int, name: str) -> int:
    """The number, which has to be one that makes sense.

    Raises:
        DeclarationError: when it is not.
    """
    if max_iterations < 1:
        raise DeclarationError(name, ["max_iterations has to be at least 1"])
    return max_iterations
