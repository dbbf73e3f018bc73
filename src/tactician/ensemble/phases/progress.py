"""Progress of a phase in its checkpoint: each time that its tasks run, and the decision on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cache

from pydantic import TypeAdapter

from tactician.ensemble.values.phase_decisions import PhaseAttempt, PhaseDecision, PhaseReviewRecord
from tactician.frozen import frozen
from tactician.runs import RunContext
from tactician.runs.progress.checkpoint import revive


@frozen
class PhaseExecution:
    """Execution of the tasks of a phase.

    Attributes:
        feedback: what has to change; empty for the first time, and when a phase before has run again.
        request: the decision of another phase that has asked for it.
        used: the numbers of the executions of the phases before whose outputs it sees, by name.
        raw: the output, as text, once all tasks are completed.
        seconds: how long the tasks took, waiting included.
        decision: the decision of the review.
        by: the name of the person who decided, if it is known.
        is_accepted: true when others may use the outputs.
        review_failure: why the review came to no decision; `None` when it did not fail.
    """

    feedback: str = ""
    request: str = ""
    used: Mapping[str, int] = field(default_factory=dict)
    raw: str | None = None
    seconds: float = 0.0
    decision: PhaseDecision | None = None
    by: str | None = None
    is_accepted: bool = False
    review_failure: str | None = None


class PhaseProgress:
    """Progress of a phase in a run. Executions have numbers from 1.

    Args:
        place: the context whose checkpoint keeps the progress.
    """

    __slots__ = ("_executions", "place")

    def __init__(self, place: RunContext) -> None:
        self.place = place
        self._executions = list(_restore(place))

    def __getitem__(self, number: int) -> PhaseExecution:
        """Return an execution."""
        return self._executions[number - 1]

    @property
    def count(self) -> int:
        """The number of executions that have begun."""
        return len(self._executions)

    @property
    def accepted(self) -> int | None:
        """The number of the latest execution whose outputs others may use, or `None`."""
        return max(self.list_accepted(), default=None)

    def list_accepted(self) -> list[int]:
        """Return the numbers of the executions whose outputs others may use, or could."""
        return [number for number, execution in self._enumerate() if execution.is_accepted]

    @property
    def record(self) -> PhaseReviewRecord:
        """The attempts and the decisions on them."""
        attempts = (
            PhaseAttempt(number, execution.raw or "", execution.decision, execution.by)
            for number, execution in self._enumerate()
            if execution.decision is not None
        )
        return PhaseReviewRecord(tuple(attempts))

    def find_request(self, request: str) -> int | None:
        """Return the number of the execution that a decision of another phase has asked for."""
        return next((number for number, execution in self._enumerate() if execution.request == request), None)

    def find_last(self, start: int) -> int:
        """Return the number of the last execution that follows from `start` by reviews of the phase alone."""
        later = (number for number, execution in self._enumerate() if number > start and execution.request)
        return next(later, self.count + 1) - 1

    def find_previous(self, number: int) -> int | None:
        """Return the number of the latest execution before `number` that had all its outputs."""
        complete = (other for other, execution in self._enumerate() if other < number and execution.raw is not None)
        return max(complete, default=None)

    def count_retries(self, number: int) -> int:
        """Return how many executions up to `number` the phase has had since it was last begun from outside."""
        count = 0
        while number > 1 and not self[number].request:
            number -= 1
            decision = self[number].decision
            if decision is None or decision.verdict != "retry":
                break
            count += 1
        return count

    def count_predecessor_retries(self, phase: str) -> int:
        """Return how often reviews of this phase have asked for another execution of a phase before it."""
        asked = (execution.decision for execution in self._executions if execution.decision is not None)
        return sum(decision.verdict == "retry_predecessor" and decision.phase == phase for decision in asked)

    def begin(self, execution: PhaseExecution) -> int:
        """Begin an execution, and return its number."""
        self._executions.append(execution)
        self._keep(self.count)
        return self.count

    def complete(self, number: int, raw: str, seconds: float) -> None:
        """Note the output of an execution all of whose tasks are completed, and how long they took."""
        if self[number].raw is None:
            self._change(number, replace(self[number], raw=raw, seconds=seconds))

    def decide(self, number: int, decision: PhaseDecision, by: str | None = None) -> None:
        """Note the decision on an execution, and the person who decided."""
        self._change(number, replace(self[number], decision=decision, by=by))

    def note_failed_review(self, number: int, reason: str) -> None:
        """Note why the review of an execution came to no decision."""
        self._change(number, replace(self[number], review_failure=reason))

    def accept(self, number: int) -> None:
        """Let others use the outputs of an execution."""
        self._change(number, replace(self[number], is_accepted=True))

    def at(self, number: int) -> RunContext:
        """Return the context of an execution."""
        return self.place.at(str(number))

    def _enumerate(self) -> Iterator[tuple[int, PhaseExecution]]:
        return enumerate(self._executions, start=1)

    def _change(self, number: int, execution: PhaseExecution) -> None:
        self._executions[number - 1] = execution
        self._keep(number)

    def _keep(self, number: int) -> None:
        assert self.place.checkpoint is not None
        place = self.place.checkpoint
        place.at(str(number)).set(execution=_adapter().dump_python(self[number], mode="json"))
        place.set(executions=self.count)


def _restore(place: RunContext) -> Iterator[PhaseExecution]:
    assert place.checkpoint is not None
    count = place.checkpoint.data.get("executions")
    for number in range(1, count + 1) if isinstance(count, int) else ():
        saved = place.checkpoint.at(str(number)).data.get("execution")
        yield revive(saved, _adapter().validate_python)


@cache
def _adapter() -> TypeAdapter[PhaseExecution]:
    return TypeAdapter(PhaseExecution)
