"""Steps of stored runs, and two runs side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tactician.frozen import frozen
from tactician.llm import Usage
from tactician.llm.usage import UsageTally
from tactician.platform.views.runs import RunView
from tactician.runs import PendingRequest
from tactician.runs.progress.steps import RunStep


@frozen
class StepView:
    """Step of a run.

    Attributes:
        number: place of the step in the run; a fork begins `at` it.
        kind: kind of step, such as `"answer"`, `"tool"`, `"action"`, `"suspended"` or `"completed"`.
        name: name of what was done, such as the name of a tool.
        detail: beginning of the result, as text.
        path: names of the runs inside each other that lead to the step, outermost first.
        at: seconds since the epoch.
        seconds: how long the run has run so far, without the time in which it waited.
        tally: what the model calls of the run used so far.
        pending: what the run waits for after the step.
    """

    number: int
    kind: str
    name: str
    detail: str
    path: tuple[str, ...]
    at: float
    seconds: float = 0.0
    tally: UsageTally = field(default_factory=UsageTally, repr=False)
    pending: tuple[PendingRequest, ...] = ()

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls so far."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of all model calls so far; `None` when a price is not known."""
        return self.usage.cost

    def is_like(self, other: StepView) -> bool:
        """Return whether both steps did the same, with the same result."""
        return (self.kind, self.name, self.detail, self.path) == (other.kind, other.name, other.detail, other.path)


@frozen
class RunComparison:
    """Two runs side by side, such as a run and its fork.

    Attributes:
        first: the first of them.
        second: the other.
        common: the steps that both begin with, as the first run has them.
        first_steps: the further steps of the first run.
        second_steps: the further steps of the second run.
    """

    first: RunView
    second: RunView
    common: tuple[StepView, ...]
    first_steps: tuple[StepView, ...]
    second_steps: tuple[StepView, ...]


def view_steps(steps: Iterable[RunStep]) -> tuple[StepView, ...]:
    """Return the views of all steps of a run."""
    return tuple(_view_step(number, step) for number, step in enumerate(steps, start=1))


def compare_runs(
    first: RunView, first_steps: tuple[StepView, ...], second: RunView, second_steps: tuple[StepView, ...]
) -> RunComparison:
    """Return two runs side by side."""
    pairs = enumerate(zip(first_steps, second_steps, strict=False))
    shorter = min(len(first_steps), len(second_steps))
    common = next((number for number, (step, other) in pairs if not step.is_like(other)), shorter)
    return RunComparison(first, second, first_steps[:common], first_steps[common:], second_steps[common:])


def _view_step(number: int, step: RunStep) -> StepView:
    spent = step.spent
    return StepView(
        number,
        step.kind,
        step.name,
        step.detail,
        step.path,
        step.at,
        spent["seconds"],
        UsageTally.of(spent["usage"]),
        step.pending,
    )
