"""Dependency graph of a flow: steps that can start, and steps that never will. Knows no tasks and no time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Generic, TypeVar

from tactician.errors import DeclarationError
from tactician.flow.steps import (
    FlowStep,
    StepCompleted,
    StepFailed,
    StepOutcome,
    StepSkipped,
    StepSuspended,
    create_skip,
)
from tactician.suggestions import did_you_mean

T = TypeVar("T")


class StepGraph(Generic[T]):
    """Steps and their outcomes. A step is ready once all steps that it depends on are completed."""

    __slots__ = ("_cause", "_dependents", "_missing", "_numbers", "_outcomes", "_ready", "_steps", "_suspended")

    def __init__(self) -> None:
        self._steps: list[FlowStep[T]] = []
        self._numbers: dict[str, int] = {}
        self._missing: dict[str, int] = {}
        self._dependents: dict[str, list[FlowStep[T]]] = {}
        self._ready: list[int] = []
        self._outcomes: dict[str, StepOutcome[T]] = {}
        self._suspended: list[StepSuspended] = []
        self._cause: StepFailed | None = None

    @property
    def outcomes(self) -> dict[str, StepOutcome[T]]:
        """The outcomes so far, in the order in which the steps were added."""
        outcomes = self._outcomes
        return {key: outcomes[key] for key in self._numbers if key in outcomes}

    @property
    def suspended(self) -> list[StepSuspended]:
        """The steps that wait for an answer, in the order in which they were added."""
        return sorted(self._suspended, key=lambda outcome: self._numbers[outcome.key])

    def add(self, steps: Sequence[FlowStep[T]]) -> list[StepSkipped]:
        """Add steps, which may depend on each other and on earlier ones; return those that never start.

        Raises:
            DeclarationError: when a key is used twice, a dependency is unknown, or steps depend on each other in a
                cycle; then nothing was added.
        """
        if not self._is_in_order(steps) and (problems := list(self._find_problems(steps))):
            # Before anything is added: a caller that catches the error has the graph as it was.
            raise DeclarationError("A flow", problems)
        for step in steps:
            self._numbers[step.key] = len(self._steps)
            self._steps.append(step)
        # After `close`, steps that a caller still adds are skipped too: a drained flow must end.
        if self._cause is not None:
            return self._skip(list(steps), self._cause)
        skipped: list[StepSkipped] = []
        for step in steps:
            self._link(step, skipped)
        return skipped

    @property
    def has_ready(self) -> bool:
        """True when a step can start."""
        return bool(self._ready)

    def pop_ready(self) -> FlowStep[T] | None:
        """Remove and return the next step to start: the first ready step in the order of addition."""
        return self._steps[heappop(self._ready)] if self._ready else None

    def collect_results(self, step: FlowStep[T]) -> dict[str, T]:
        """Return the results of the dependencies of a step that is ready."""
        results: dict[str, T] = {}
        for key in step.depends_on:
            if isinstance(outcome := self._outcomes[key], StepCompleted):
                results[key] = outcome.result
        return results

    def record(self, outcome: StepOutcome[T]) -> list[StepSkipped]:
        """Record the outcome of a step that has run; return the steps that never start because of it."""
        self._outcomes[outcome.key] = outcome
        if isinstance(outcome, StepSuspended):
            self._suspended.append(outcome)
            return []
        # After the check for a suspension: the dependents of a waiting step keep waiting, and are not skipped.
        dependents = self._dependents.pop(outcome.key, [])
        if isinstance(outcome, StepFailed):
            return self._skip(dependents, outcome)
        for step in dependents:
            self._missing[step.key] -= 1
            if not self._missing[step.key]:
                heappush(self._ready, self._numbers[step.key])
        return []

    def close(self, cause: StepFailed) -> list[StepSkipped]:
        """Skip all steps that have not started because a step failed, and all that are added later."""
        self._cause = cause
        ready = [self._steps[number] for number in sorted(self._ready)]
        self._ready.clear()
        waiting = [step for step in self._steps if self._missing.get(step.key)]
        # Steps that run have no dependents now: the waiting steps get their outcome here.
        self._dependents.clear()
        return self._skip([*ready, *waiting], cause)

    def _link(self, step: FlowStep[T], skipped: list[StepSkipped]) -> None:
        """Let the step wait for its dependencies. Skip it if any of these has failed already."""
        missing = [key for key in step.depends_on if not isinstance(self._outcomes.get(key), StepCompleted)]
        if not missing:
            heappush(self._ready, self._numbers[step.key])
            return
        self._missing[step.key] = len(missing)
        for key in missing:
            self._dependents.setdefault(key, []).append(step)
        for key in missing:
            if isinstance(cause := self._outcomes.get(key), StepFailed | StepSkipped):
                skipped += self._skip([step], cause)

    def _skip(self, steps: list[FlowStep[T]], cause: StepFailed | StepSkipped) -> list[StepSkipped]:
        """Skip the steps, and all that depend on them."""
        skipped: list[StepSkipped] = []
        for step in steps:  # grows as it goes
            # A step with two failed dependencies is reached twice, and skipped once.
            if step.key not in self._outcomes:
                outcome = self._outcomes[step.key] = create_skip(step.key, cause)
                skipped.append(outcome)
                steps += self._dependents.pop(step.key, ())
        return skipped

    def _find_problems(self, steps: Sequence[FlowStep[T]]) -> Iterator[str]:
        """Yield a sentence for each mistake in steps that are about to be added."""
        added: set[str] = set()
        for step in steps:
            if step.key in added or step.key in self._numbers:
                yield f"two steps have the key {step.key!r}: give each a key of its own"
            added.add(step.key)
        for step in steps:
            for key in step.depends_on:
                if key not in added and key not in self._numbers:
                    hint = did_you_mean(key, (*self._numbers, *added))
                    yield f"the step {step.key!r} depends on {key!r}, which is not a step of the flow.{hint}"
        yield from _find_cycle(steps)

    def _is_in_order(self, steps: Sequence[FlowStep[T]]) -> bool:
        """Return whether each step has a key of its own, and depends on steps before it only: then all is well."""
        before = set(self._numbers)
        for step in steps:
            if step.key in before or not before.issuperset(step.depends_on):
                return False
            before.add(step.key)
        return True


def _find_cycle(steps: Sequence[FlowStep[T]]) -> Iterator[str]:
    try:
        TopologicalSorter({step.key: step.depends_on for step in steps}).prepare()
    except CycleError as error:
        cycle = " -> ".join(map(repr, reversed(error.args[1])))
        yield f"steps depend on each other in a cycle: {cycle}. Remove any of these dependencies."
