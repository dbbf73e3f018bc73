"""Checks of several guardrails: the first objection decides, and may stop the run with an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple, TypeVar

from typing_extensions import override

from tactician.flow.scheduler import Scheduler
from tactician.flow.steps import FlowStep, StepCompleted
from tactician.frozen import frozen
from tactician.guardrails.events import GuardrailChecked
from tactician.guardrails.guardrail import Guardrail, GuardrailKind, InputGuardrail, describe_guardrail
from tactician.guardrails.result import GuardrailResult
from tactician.runs import RunContext, RunError, RunResult, RunStatus
from tactician.runs.outcomes.errors import get_end_status

V = TypeVar("V")


@frozen
class Objection:
    """Guardrail that objected, with its result."""

    guardrail: str
    kind: GuardrailKind
    result: GuardrailResult

    @property
    def wants_retry(self) -> bool:
        """`True` when the run continues and the model tries again."""
        return self.result.outcome == "retry"

    @property
    def reason(self) -> str:
        """The reason of the objection."""
        return self.result.reason

    def create_error(self, run: str, so_far: RunResult[None]) -> GuardrailError:
        """Return the error that ends the run; an exception of the guardrail is its cause."""
        cause = self.result.cause
        status = None if cause is None else get_end_status(cause)  # a budget that a guardrail uses up ends the run
        error = GuardrailError(run, self.guardrail, self.kind, self.reason, so_far, status)
        error.__cause__ = cause
        return error


class InputGuardrails(NamedTuple):
    """Input guardrails of an agent: those before the first model call, and those beside it."""

    immediate: tuple[InputGuardrail, ...] = ()
    concurrent: tuple[InputGuardrail, ...] = ()

    @classmethod
    def of(cls, guardrails: Iterable[InputGuardrail]) -> InputGuardrails:
        """Return the guardrails in two groups, each in order."""
        every = tuple(guardrails)
        return cls(tuple(g for g in every if not g.concurrent), tuple(g for g in every if g.concurrent))

    @property
    def all(self) -> tuple[InputGuardrail, ...]:
        """All guardrails, the immediate ones first."""
        return (*self.immediate, *self.concurrent)


async def find_first_objection(guardrails: Iterable[Guardrail[V]], value: V, context: RunContext) -> Objection | None:
    """Check guardrails in sequence, and return the first objection. Guardrails of other tools are skipped."""
    for guardrail in guardrails:
        if guardrail.applies_to(value):
            started = context.clock.monotonic()
            result = await guardrail.check(value, context)
            context.emit(
                GuardrailChecked,
                guardrail=guardrail.name,
                kind=guardrail.kind,
                outcome=result.outcome,
                reason=result.reason,
                seconds=context.clock.monotonic() - started,
            )
            if not result.passed:
                return Objection(guardrail.name, guardrail.kind, result)
    return None


async def find_any_objection(guardrails: Sequence[Guardrail[V]], value: V, context: RunContext) -> Objection | None:
    """Check all guardrails concurrently; the first objection cancels the others."""

    def check(number: int, guardrail: Guardrail[V]) -> FlowStep[Objection | None]:
        return FlowStep(f"{guardrail.name} {number}", lambda _: find_first_objection([guardrail], value, context))

    async with Scheduler[Objection | None]() as scheduler:
        scheduler.add(*map(check, count(1), guardrails))
        async for outcome in scheduler:
            if isinstance(outcome, StepCompleted) and outcome.result is not None:
                return outcome.result
    return None


class GuardrailError(RunError):
    """Error of a run that a guardrail stopped. An exception of the guardrail is its cause.

    Attributes:
        guardrail: the name of the guardrail.
        kind: `"input"`, `"output"`, `"tool_input"` or `"tool_output"`.
        reason: the reason.
    """

    def __init__(
        self,
        run: str,
        guardrail: str,
        kind: GuardrailKind,
        reason: str,
        result: RunResult[None],
        status: RunStatus | None = None,
    ) -> None:
        label = describe_guardrail(kind, guardrail)
        super().__init__(f"{run}: the {label} stopped the run: {reason}", result, status)
        self.guardrail = guardrail
        self.kind = kind
        self.reason = reason

    @classmethod
    def restore(cls, failure: str, result: RunResult[None]) -> GuardrailError:
        """Return the error of a stored run whose input a guardrail refused.

        Args:
            failure: why the run failed, as its record has it.
            result: the result of the run.
        """
        message = failure.removeprefix(f"{cls.__name__}: ")
        error = cls("", "", "input", message, result)
        error.args = (message,)
        return error

    @property
    @override
    def refuses_input(self) -> bool:
        """True when a guardrail has refused the input; false when the guardrail itself has failed."""
        return self.kind == "input" and self.__cause__ is None
