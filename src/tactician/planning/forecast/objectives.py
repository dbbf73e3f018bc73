"""Objectives, which weigh what actions are expected to take into a cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar, Final

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.planning.estimates import RunEstimate
from tactician.planning.model import Action
from tactician.planning.world import WorldState


@frozen
class Objective:
    """Objective of a plan: weights of the declared costs, the seconds and the dollars of its actions.

    An action costs its weighted sum, times the number of runs until one succeeds. `Objective.COST`, `Objective.TIME`
    and `Objective.DOLLARS` save a single thing.

    Attributes:
        cost: weight of the costs that the actions declare.
        seconds: weight of a second. With several actions at once it counts the seconds of the whole plan.
        dollars: weight of a US dollar.

    Raises:
        ConfigurationError: when a weight is negative, or all are 0.
    """

    cost: float = 0.0
    seconds: float = 0.0
    dollars: float = 0.0

    COST: ClassVar[Objective]
    TIME: ClassVar[Objective]
    DOLLARS: ClassVar[Objective]

    def __post_init__(self) -> None:
        weights = {name: getattr(self, name) for name in ("cost", "seconds", "dollars")}
        for name, weight in weights.items():
            need_amount(f"Objective.{name}", weight)
        if not any(weights.values()):
            raise ConfigurationError("Objective() weighs nothing; write Objective.TIME or Objective(cost=1, dollars=5)")

    @staticmethod
    def of(data: object) -> Objective:
        """Return the objective of a name such as `"time"`, or of weights by their names.

        Raises:
            ConfigurationError: when it is neither.
        """
        if isinstance(data, Objective):
            return data
        named = {"cost": Objective.COST, "time": Objective.TIME, "dollars": Objective.DOLLARS}
        if isinstance(data, str) and data in named:
            return named[data]
        if isinstance(data, Mapping) and data.keys() <= {"cost", "seconds", "dollars"}:
            return Objective(**data)
        raise ConfigurationError(
            f"the objective is {data!r}; write cost, time, dollars, or weights such as {{'cost': 1, 'dollars': 5}}"
        )

    def to_data(self) -> dict[str, float]:
        """Return the weights by their names."""
        return {"cost": self.cost, "seconds": self.seconds, "dollars": self.dollars}

    def price(self, action: Action, estimate: RunEstimate) -> Action:
        """Return the action with its expected cost, and its estimate."""
        spent = self.seconds * estimate.seconds + self.dollars * estimate.dollars
        cost = action.cost
        if callable(cost):
            return replace(action, cost=_weigh(cost, self.cost, spent, estimate.attempts), estimate=estimate)
        return replace(action, cost=(self.cost * cost + spent) * estimate.attempts, estimate=estimate)


Objective.COST = Objective(cost=1.0)
Objective.TIME = Objective(seconds=1.0)
Objective.DOLLARS = Objective(dollars=1.0)

MEASURED_OBJECTIVE: Final = Objective(cost=1.0, seconds=0.01, dollars=1.0)
"""What actions with a measured cost save when a process has no objective: a dollar counts as much as 100 seconds."""


def _weigh(
    cost: Callable[[WorldState], float], weight: float, spent: float, attempts: float
) -> Callable[[WorldState], float]:
    return lambda world: (weight * cost(world) + spent) * attempts
