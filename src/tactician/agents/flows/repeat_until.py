"""`repeat_until` and `repeat_until_acceptable`: a step that is repeated until its result is good enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeForm, override

from tactician.agents.base import BaseRunnable
from tactician.agents.composition import Member
from tactician.agents.flows.steps import Step, StepInput, StepLike, as_step, choose_label, simplify_input
from tactician.agents.results import as_own_result, create_failed_result
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.grammar import add_article, format_count
from tactician.llm.messages import join_text
from tactician.runs import Input, RepeatLimitError, RunContext, RunResult
from tactician.runs.life.inputs import InputTypes
from tactician.runs.runnable import messages_of
from tactician.tools.signature import find_caller_namespace
from tactician.tools.tool import as_text

T = TypeVar("T")
DEFAULT_MAX_ITERATIONS = 5


class RepeatUntil(BaseRunnable[T], Generic[T]):
    """Step that is repeated until a condition holds; see `repeat_until`. All attempts are `related`."""

    def __init__(
        self,
        step: Step[T],
        until: Step[bool],
        returning: TypeForm[T],
        name: str,
        description: str,
        max_iterations: int,
    ) -> None:
        self.output_type = returning
        self.name = name
        self.description = description
        self.max_iterations = check_iterations(max_iterations, name)
        self._step = step
        self._until = until

    def __repr__(self) -> str:
        return f"RepeatUntil({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return Member("step", self._step), Member("until", self._until)

    @property
    @override
    def input_types(self) -> InputTypes:
        return InputTypes.combine((self._step.find_types(0), self._until.find_types(1)))

    async def _work(self, input: Input, context: RunContext) -> RunResult[T]:
        attempts: list[RunResult[T]] = []
        start, inside = simplify_input(input), context.as_internal()
        for _ in range(self.max_iterations):
            last = attempts[-1].output if attempts else None
            earlier = [attempt.output for attempt in attempts]
            attempt = await self._step.run(
                StepInput((start, last, earlier), describe_attempt(start, last)), context=inside
            )
            attempts.append(attempt)
            asked = StepInput((attempt.output, start), attempt.output)
            if (await self._until.run(asked, context=inside)).output:
                return as_own_result(attempt, context, attempts)
        failed = replace(create_failed_result(input, context), related=tuple(attempts))
        raise RepeatLimitError(
            f"{self.name}: not as it should be after "
            f"{format_count(self.max_iterations, 'attempt')}, the last of which gave: "
            f"{as_text(attempts[-1].output)}",
            failed,
        )


def repeat_until(
    returning: TypeForm[T],
    step: StepLike[T],
    until: StepLike[bool],
    *,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
    name: str | None = None,
    description: str | None = None,
) -> RepeatUntil[T]:
    """Repeat a step until a condition holds for its result.

    When the condition never holds, the run fails with a `RepeatLimitError`, whose `result.related` are all attempts.

    Args:
        returning: the type of the result.
        step: a function of the input, the last attempt (`None` at first) and the list of all attempts, of which it may
            leave out the last ones; or any Runnable, which reads the input and the last attempt.
        until: a function of the attempt and the input, or any Runnable, which reads the attempt.
        max_iterations: number of runs of the step at most.
        name: the name; the name of the type by default.
        description: the purpose.

    Raises:
        DeclarationError: when a function needs more than that.
    """
    label = choose_label(name, returning)
    namespace = find_caller_namespace(1)
    repeated = as_step(step, returning, "attempt", namespace, most=3)
    done = as_step(until, bool, "until", namespace, most=2)
    summary = description or f"gives {add_article(label)} as it should be"
    return RepeatUntil(repeated, done, returning, label, summary, max_iterations)


def describe_attempt(input: Input, last: object | None, objections: Sequence[str] = ()) -> Input:
    """Return the input of another attempt as text; the input itself for the first attempt."""
    if last is None:
        return input
    parts = [f"This was asked:\n{join_text(messages_of(input))}", f"The last attempt:\n{as_text(last)}", *objections]
    return "\n\n".join((*parts, "Make a better one."))


def check_iterations(max_iterations: int, name: str) -> int:
    """Return the number if it is a valid number of iterations.

    Raises:
        DeclarationError: when it is not.
    """
    if max_iterations < 1:
        raise DeclarationError(name, ["max_iterations must be at least 1"])
    return max_iterations


DEFAULT_THRESHOLD = 0.9


class Feedback(BaseModel):
    """Evaluation of an attempt. Subclasses may have more fields."""

    model_config = ConfigDict(frozen=True)
    score: Annotated[float, Field(ge=0, le=1, description="from 0 to 1; 1 is perfect")]
    comments: str = ""


@frozen
class Scored(Generic[T]):
    """Attempt with its evaluation.

    Attributes:
        value: the output of the attempt.
        feedback: the feedback of the evaluator.
        acceptable: true when its score reaches the threshold; otherwise this is the best attempt.
    """

    value: T
    feedback: Feedback
    acceptable: bool

    @property
    def score(self) -> float:
        """The score, from 0 to 1."""
        return self.feedback.score

    def __str__(self) -> str:
        return as_text(self.value)


class RepeatUntilAcceptable(BaseRunnable[Scored[T]], Generic[T]):
    """Generator with an evaluator; see `repeat_until_acceptable`. All attempts are `related`."""

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
        self.max_iterations = check_iterations(max_iterations, name)
        self.threshold = threshold
        if not 0 <= threshold <= 1:
            raise DeclarationError(name, ["threshold must be from 0 to 1"])
        self._generator = generator
        self._evaluator = evaluator

    def __repr__(self) -> str:
        return f"RepeatUntilAcceptable({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return Member("generator", self._generator), Member("evaluator", self._evaluator)

    @property
    @override
    def input_types(self) -> InputTypes:
        return InputTypes.combine((self._generator.find_types(0), self._evaluator.find_types(1)))

    async def _work(self, input: Input, context: RunContext) -> RunResult[Scored[T]]:
        attempts: list[RunResult[Scored[T]]] = []
        start, inside = simplify_input(input), context.as_internal()
        for _ in range(self.max_iterations):
            attempts.append(await self._attempt(start, attempts[-1].output if attempts else None, inside))
            if attempts[-1].output.acceptable:
                break
        best = max(attempts, key=lambda attempt: attempt.output.score)
        return as_own_result(best, context, attempts)

    async def _attempt(self, start: Input, last: Scored[T] | None, context: RunContext) -> RunResult[Scored[T]]:
        value, feedback = (None, None) if last is None else (last.value, last.feedback)
        request = describe_attempt(
            start, value, () if feedback is None else (f"What was said of it:\n{as_text(feedback)}",)
        )
        result = await self._generator.run(StepInput((start, value, feedback), request), context=context)
        asked = (
            f"This was asked:\n{as_text(start)}\n\nThis is the answer:\n{as_text(result.output)}\n\nJudge the answer."
        )
        judged = await self._evaluator.run(StepInput((result.output, start), asked), context=context)
        opinion = judged.output
        scored = Scored(result.output, opinion, opinion.score >= self.threshold)
        return RunResult(scored, result.status, result.messages, result.tally, run_id=result.run_id)


def repeat_until_acceptable(
    returning: TypeForm[T],
    generator: StepLike[T],
    evaluator: StepLike[Feedback],
    *,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
    threshold: float = DEFAULT_THRESHOLD,
    feedback: type[Feedback] = Feedback,
    name: str | None = None,
    description: str | None = None,
) -> RepeatUntilAcceptable[T]:
    """Repeat a step until an evaluator accepts its result; each attempt gets the feedback on the last.

    The result is a `Scored`: the first acceptable attempt, or else the best attempt, with `acceptable` false.

    Args:
        returning: the type of the generator's results.
        generator: a function of the input, the last attempt and the feedback to it (both `None` at first), of which it
            may leave out the last ones; or any Runnable, which reads all of that.
        evaluator: a function of the attempt and the input, or any Runnable, which reads both.
        max_iterations: number of runs of the generator at most.
        threshold: the lowest acceptable score.
        feedback: the type of the feedback, when it is a subclass of `Feedback`.
        name: the name; the name of the type by default.
        description: the purpose.

    Raises:
        DeclarationError: when a function needs more than that, or a number makes no sense.
    """
    label = choose_label(name, returning)
    namespace = find_caller_namespace(1)
    maker = as_step(generator, returning, "generator", namespace, most=3)
    judge = as_step(evaluator, feedback, "evaluator", namespace, most=2)
    summary = description or f"gives {add_article(label)} that is good enough"
    return RepeatUntilAcceptable(maker, judge, label, summary, max_iterations=max_iterations, threshold=threshold)
