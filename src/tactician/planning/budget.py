"""Limits of planning, the count of what a decision has used, and the error of a search that met a limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.planning.model import Action, Goal

Limit: TypeAlias = Literal["time", "expansions", "memory"]
Clock: TypeAlias = Callable[[], float]
_MEGABYTE: Final = 1_000_000


@frozen(kw_only=True)
class PlanningBudget:
    """Limits of a decision. At a limit, the best plan so far counts.

    Attributes:
        time: seconds of processor time, in which nobody else had the event loop or the processor; `None` for no
            limit. How far a search gets in a time differs from call to call.
        expansions: number of states that a search may explore; `None` for no limit. With `time=None`, the same
            arguments always give the same plan.
        memory: megabytes that a search may hold, as estimated; `None` for no limit.

    Raises:
        ValueError: a limit is not a number from 0 up
        TypeError: a limit is not a number
    """

    time: float | None = 1.0
    expansions: int | None = 250_000
    memory: float | None = 300.0

    def __post_init__(self) -> None:
        for name in ("time", "expansions", "memory"):
            _check(name, getattr(self, name))


def _check(name: str, limit: object) -> None:
    if limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int | float) or (name == "expansions" and limit != int(limit)):
        kind = "a whole number" if name == "expansions" else "a number"
        raise TypeError(f"PlanningBudget.{name} must be {kind}, or None for no limit, not {limit!r}")
    if not limit >= 0 or math.isinf(limit):
        raise ValueError(f"PlanningBudget.{name} must be finite and not negative, or None for no limit, not {limit!r}")


DEFAULT_PLANNING: Final = PlanningBudget()


class PlanningMeter:
    """Count of what a decision has used of its budget. Time counts between `start` and `stop`."""

    __slots__ = ("_clock", "_is_used_up", "_most_bytes", "_since", "_spent", "_until", "budget", "expansions")

    def __init__(self, budget: PlanningBudget, clock: Clock = time.thread_time) -> None:
        """Start to count."""
        self.budget = budget
        self.expansions = 0
        self._clock = clock
        self._most_bytes = math.inf if budget.memory is None else budget.memory * _MEGABYTE
        self._since: float | None = clock()
        self._spent = 0.0
        self._is_used_up = False
        self._until = math.inf if budget.time is None else budget.time

    @property
    def seconds(self) -> float:
        """Seconds that were spent so far."""
        return self._spent + (0.0 if self._since is None else self._clock() - self._since)

    def start(self) -> None:
        """Count time from now on."""
        if self._since is None:
            self._since = self._clock()

    def stop(self) -> None:
        """Count no time from now on."""
        self._spent, self._since = self.seconds, None

    def use_up(self) -> None:
        """Leave no more time."""
        self._until = 0.0
        self._is_used_up = True

    def begin_search(self, rivals: int) -> None:
        """Give the search that begins its share of the time, when so many others may follow it."""
        self.expansions = 0
        if self.budget.time is not None and not self._is_used_up:
            spent = self.seconds
            self._until = spent + max(0.0, self.budget.time - spent) / (1 + rivals)

    def is_short(self, held: int) -> bool:
        """Return True when a quarter of a limit is reached: too much to be still without a plan."""
        most = self.budget.expansions
        is_far = most is not None and 4 * self.expansions > most
        return is_far or 4 * held > self._most_bytes or 4 * self.seconds > self._until

    @property
    def is_time_up(self) -> bool:
        """True when the time is spent."""
        return self.seconds >= self._until

    def find_limit(self, held: int) -> Limit | None:
        """Return the limit that the search has reached while it holds so many bytes."""
        most = self.budget.expansions
        if most is not None and self.expansions >= most:
            return "expansions"
        if held > self._most_bytes:
            return "memory"
        return "time" if self.is_time_up else None


_UNITS: Final[dict[Limit, str]] = {"time": " s", "expansions": "", "memory": " MB"}


class SearchLimitExceeded(Exception):  # noqa: N818 - it is a limit, not a mistake
    """The search gave up before it knew whether there is a plan, or which is best.

    Attributes:
        goal: the goal that was to be reached
        limit: the field of the `PlanningBudget` that was used up
        expansions: number of states that were explored
        closest: the actions that lead to the explored state that looked nearest to the goal
    """

    def __init__(
        self, goal: Goal, expansions: int, closest: tuple[Action, ...], limit: Limit, budget: PlanningBudget
    ) -> None:
        """Say what was tried, and what to set."""
        self.goal = goal
        self.limit = limit
        self.expansions = expansions
        self.closest = closest
        path = " -> ".join(action.name for action in closest) or "the start itself"
        super().__init__(
            f"No answer for goal {goal.name!r} after exploring "
            f"{format_count(expansions, 'state')}: the limit of planning, {limit} ="
            f" {getattr(budget, limit)}{_UNITS[limit]}, is reached; the nearest state was reached by: {path}."
            f" Set PlanningBudget({limit}=...) higher, or `{limit}` under [planning] in tactician.toml"
        )
