"""What a plan is expected to take, and when each of its actions runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Protocol, Self

from tactician.frozen import frozen
from tactician.grammar import write_number
from tactician.planning.estimates import RunEstimate
from tactician.planning.forecast.scheduling import PlanScheduler

NO_ESTIMATE: Final = RunEstimate()


class EstimatedAction(Protocol):
    """Action of a plan, as far as its time matters."""

    @property
    def name(self) -> str:
        """The name of the action."""

    @property
    def estimate(self) -> RunEstimate | None:
        """The estimate of a run."""

    def is_independent_of(self, other: Self, /) -> bool:
        """Return True if both may run at once."""


@frozen
class Slot:
    """Time of an action in a plan or a run.

    Attributes:
        action: name of the action.
        start: seconds after the first action starts.
        seconds: duration.
    """

    action: str
    start: float
    seconds: float

    @property
    def end(self) -> float:
        """Seconds after the first action starts."""
        return self.start + self.seconds


@frozen
class PlanExpectation:
    """Expectation of a plan, with a second run wherever an action fails.

    Attributes:
        seconds: duration of all actions, one after the other.
        dollars: US dollars.
        success: the chance that each action succeeds at its first run.
        timeline: when each action runs, in the order of their starts.
        runs: number of measured runs of the action that was measured least; 0 when an action is a guess.
    """

    seconds: float
    dollars: float
    success: float
    timeline: tuple[Slot, ...]
    runs: int

    @property
    def makespan(self) -> float:
        """Seconds from the start of the first action to the end of the last, with several at once."""
        return max((slot.end for slot in self.timeline), default=0.0)

    def __str__(self) -> str:
        makespan = f"{write_number(self.makespan, '.3g')} s"
        return f"${self.dollars:.4f}, {makespan}, {self.success:.0%} sure"


def expect(actions: Sequence[EstimatedAction], places: int, *, keeps_order: bool) -> PlanExpectation:
    """Return what actions in this order are expected to take.

    An action without an estimate takes nothing and always succeeds.

    Args:
        actions: the actions.
        places: number of actions that may run at once.
        keeps_order: True when none starts before an earlier one has started.
    """
    estimates = [get_estimate(action) for action in actions]
    seconds = [estimate.seconds * estimate.attempts for estimate in estimates]
    order, starts = create_scheduler(actions, places).follow(range(len(seconds)), keeps_order=keeps_order)
    return PlanExpectation(
        math.fsum(seconds),
        math.fsum(estimate.dollars * estimate.attempts for estimate in estimates),
        math.prod(estimate.success for estimate in estimates),
        tuple(Slot(actions[step].name, starts[step], seconds[step]) for step in order),
        min((estimate.runs for estimate in estimates), default=0),
    )


def get_estimate(action: EstimatedAction) -> RunEstimate:
    """Return the estimate of an action; nothing, when it has none."""
    return NO_ESTIMATE if action.estimate is None else action.estimate


def create_scheduler(actions: Sequence[EstimatedAction], places: int) -> PlanScheduler:
    """Return the scheduler of a plan: actions keep their order where one touches what the other needs or changes."""
    estimates = [get_estimate(action) for action in actions]
    before = [
        [earlier for earlier in range(later) if not actions[earlier].is_independent_of(actions[later])]
        for later in range(len(actions))
    ]
    alone = [number for number, estimate in enumerate(estimates) if estimate.runs_alone]
    return PlanScheduler([estimate.seconds * estimate.attempts for estimate in estimates], before, places, alone)
