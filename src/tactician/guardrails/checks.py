"""Several guardrails on one thing: the first that objects decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from time import perf_counter
from typing import NamedTuple, TypeVar

from tactician.flow import FlowStep, Scheduler, StepCompleted
from tactician.guardrails.errors import GuardrailError
from tactician.guardrails.events import GuardrailChecked
from tactician.guardrails.guardrail import Guardrail, GuardrailKind, InputGuardrail
from tactician.guardrails.result import GuardrailResult
from tactician.runs import RunContext, RunResult

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Objection:
    """A guardrail that did not let something pass, and what it said."""

    guardrail: str
    kind: GuardrailKind
    result: GuardrailResult

    @property
    def wants_retry(self) -> bool:
        """Whether the model is to do better, and the run goes on."""
        return self.result.outcome == "retry"

    @property
    def reason(self) -> str:
        """Why it did not pass."""
        return self.result.reason

    def create_error(self, run: str, so_far: RunResult[None]) -> GuardrailError:
        """The error that ends the run of that name; what the guardrail raised is its cause."""
        error = GuardrailError(run, self.guardrail, self.kind, self.reason, so_far)
        error.__cause__ = self.result.cause
        return error


class InputGuardrails(NamedTuple):
    """The input guardrails of an agent: those to pass before the first model call, and those to run beside it."""

    immediate: tuple[InputGuardrail, ...] = ()
    concurrent: tuple[InputGuardrail, ...] = ()

    @classmethod
    def of(cls, guardrails: Iterable[InputGuardrail]) -> InputGuardrails:
        """The guardrails in two parts, each in order."""
        every = tuple(guardrails)
        return cls(tuple(g for g in every if not g.concurrent), tuple(g for g in every if g.concurrent))

    @property
    def all(self) -> tuple[InputGuardrail, ...]:
        """All of them, those to pass first before the others."""
        return (*self.immediate, *self.concurrent)


async def find_first_objection(guardrails: Iterable[Guardrail[V]], value: V, context: RunContext) -> Objection | None:
    """Checks one after the other, up to the first that does not pass. Guardrails of other tools are left out."""
    for guardrail in guardrails:
        if guardrail.applies_to(value) and (objection := await _run_check(guardrail, value, context)) is not None:
            return objection
    return None


async def find_any_objection(guardrails: Sequence[Guardrail[V]], value: V, context: RunContext) -> Objection | None:
    """Checks all at once; the first to object decides, and the others are cancelled."""

    def check(number: int, guardrail: Guardrail[V]) -> FlowStep[Objection | None]:
        return FlowStep(f"{guardrail.name} {number}", lambda _: find_first_objection([guardrail], value, context))

    async with Scheduler[Objection | None]() as scheduler:
        scheduler.add(*map(check, count(1), guardrails))
        async for outcome in scheduler:
            if isinstance(outcome, StepCompleted) and outcome.result is not None:
                return outcome.result
    return None


async def _run_check(guardrail: Guardrail[V], value: V, context: RunContext) -> Objection | None:
    started = perf_counter()
    result = await guardrail.check(value, context)
    context.emit(
        GuardrailChecked,
        guardrail=guardrail.name,
        kind=guardrail.kind,
        outcome=result.outcome,
        reason=result.reason,
        seconds=perf_counter() - started,
    )
    return None if result.passed else Objection(guardrail.name, guardrail.kind, result)
