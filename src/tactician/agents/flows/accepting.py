"""`repeat_until_acceptable`: one makes, another one judges, until it is good enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tactician.agents.base import BaseRunnable
from tactician.agents.constellations.results import as_own
from tactician.agents.flows.repeating import DEFAULT_MAX_ITERATIONS, again, positive
from tactician.agents.flows.steps import Given, Step, StepLike, label_of, step_of
from tactician.agents.flows.values import plain
from tactician.errors import DeclarationError
from tactician.runs import Input, RunContext, RunResult
from tactician.tools import as_text, caller_namespace

T = TypeVar("T")
DEFAULT_THRESHOLD = 0.9


class Feedback(BaseModel):
    """What an evaluator thinks of an attempt. Derive from it to have it say more."""

    model_config = ConfigDict(frozen=True)
    score: Annotated[float, Field(ge=0, le=1, description="from 0 to 1; 1 is perfect")]
    comments: str = ""


@dataclass(frozen=True, slots=True)
class Scored(Generic[T]):
    """An attempt and what was thought of it.

    Attributes:
        value: the attempt.
        feedback: what the evaluator said.
        acceptable: whether its score reaches the threshold. Where it does not, this is the best there was.
    """

    value: T
    feedback: Feedback
    acceptable: bool

    @property
    def score(self) -> float:
        """From 0 to 1."""
        return self.feedback.score

    def __str__(self) -> str:
        return as_text(self.value)


class RepeatUntilAcceptable(BaseRunnable[Scored[T]], Generic[T]):
    """A generator and an evaluator. All attempts are `related`. Made by `repeat_until_acceptable`."""

    def __init__(
        self,
        generator: Step[T],
        evaluator: Step[Feedback],
        name: str,
        description: str,
        *,
        max_iterations: int,
        threshold: float,
    ) -> None:
        self.output_type = Scored
        self.name = name
        self.description = description
        self.max_iterations = positive(max_iterations, name)
        self.threshold = threshold
        if not 0 <= threshold <= 1:
            raise DeclarationError(name, ["threshold has to be from 0 to 1"])
        self._generator = generator
        self._evaluator = evaluator

    def __repr__(self) -> str:
        return f"RepeatUntilAcceptable({self.name!r})"

    async def _work(self, input: Input, context: RunContext) -> RunResult[Scored[T]]:
        attempts: list[RunResult[Scored[T]]] = []
        given = plain(input)
        for _ in range(self.max_iterations):
            attempts.append(await self._attempt(given, attempts[-1].output if attempts else None, context))
            if attempts[-1].output.acceptable:
                break
        best = max(attempts, key=lambda attempt: attempt.output.score)
        return as_own(best, context, attempts)

    async def _attempt(self, given: Input, last: Scored[T] | None, context: RunContext) -> RunResult[Scored[T]]:
        value, feedback = (None, None) if last is None else (last.value, last.feedback)
        told = again(given, value, () if feedback is None else (f"What was said of it:\n{as_text(feedback)}",))
        made = await self._generator.run(Given((given, value, feedback), told), context=context)
        asked = f"This was asked:\n{as_text(given)}\n\nThis is the answer:\n{as_text(made.output)}\n\nJudge the answer."
        judged = await self._evaluator.run(Given((made.output, given), asked), context=context)
        opinion = judged.output
        scored = Scored(made.output, opinion, opinion.score >= self.threshold)
        return RunResult(scored, made.status, made.messages, made.tally, run_id=made.run_id)


def repeat_until_acceptable(
    returning: type[T],
    generator: StepLike[T],
    evaluator: StepLike[Feedback],
    *,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
    threshold: float = DEFAULT_THRESHOLD,
    feedback: type[Feedback] = Feedback,
    name: str | None = None,
    description: str | None = None,
) -> RepeatUntilAcceptable[T]:
    """Repeats a step until an evaluator finds its result good enough; it hears what was said of the last attempt.

    The result is a `Scored`: the first attempt that is acceptable, else the best of all, which says so.

    Args:
        returning: what the generator gives.
        generator: a function of the input, the last attempt and the feedback to it (both `None` at first), of which it
            may leave out the last ones; or any Runnable, which reads all of that.
        evaluator: a function of the attempt and the input, or any Runnable, which reads both.
        max_iterations: how often the generator may be run.
        threshold: from which score on an attempt is acceptable.
        feedback: what the evaluator gives, when it is more than a `Feedback`.
        name: how others call it; that of the type by default.
        description: what it is for.

    Raises:
        DeclarationError: when a function needs more than that, or a number makes no sense.
    """
    label = label_of(name, returning)
    namespace = caller_namespace(1)
    maker = step_of(generator, returning, "generator", namespace, most=3)
    judge = step_of(evaluator, feedback, "evaluator", namespace, most=2)
    told = description or f"gives a {label} that is good enough"
    return RepeatUntilAcceptable(maker, judge, label, told, max_iterations=max_iterations, threshold=threshold)
