"""Budget of a run, and its usage so far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import Final, TypeVar

import pydantic
from typing_extensions import TypedDict

from tactician.amounts import Count, need_amount
from tactician.clock import Clock
from tactician.errors import ConfigurationError, StoredStateError
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import Usage
from tactician.llm.usage import UsageTally

N = TypeVar("N", int, float)
_COUNTED = ("tokens", "turns", "actions")


@frozen(kw_only=True)
class Budget:
    """Limits of a run and everything inside it. `None` is no limit.

    They are checked before each call of a model, each action of a process and each task: what has begun is finished.

    Attributes:
        cost: US dollars that may be spent, as far as prices are known.
        tokens: tokens that may be used, input and output together.
        turns: number of calls of models.
        seconds: time that it may take; time in which it waits for a person or for the caller is not counted.
        actions: number of actions that a process may begin, with the actions of the processes inside it.

    Raises:
        ConfigurationError: when a limit is not a number from 0 up.
    """

    cost: float | None = None
    tokens: Count | None = None
    turns: Count | None = None
    seconds: float | None = None
    actions: Count | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            if (value := getattr(self, limit.name)) is not None:
                need_amount(f"Budget.{limit.name}", value, whole=limit.name in _COUNTED)

    def tighten(self, other: Budget) -> Budget:
        """Return the budget with the smaller limit of both, for each limit."""
        limits = {limit.name: (getattr(self, limit.name), getattr(other, limit.name)) for limit in fields(self)}
        smaller = {name: [value for value in values if value is not None] for name, values in limits.items()}
        return Budget(**{name: min(values, default=None) for name, values in smaller.items()})

    def find_limit(self, tally: UsageTally, *, turns: int = 0, seconds: float = 0.0, actions: int = 0) -> str | None:
        """Return a description of the limit that is reached; `None` when there is room."""
        if self.actions is not None and actions >= self.actions:
            return f"the budget of {format_count(self.actions, 'action')} is used up"
        if self.turns is not None and turns >= self.turns:
            return f"the budget of {format_count(self.turns, 'turn')} is used up"
        if self.seconds is not None and seconds >= self.seconds:
            return f"the budget of {format_count(self.seconds, 'second')} is used up"
        if not tally.by_model:
            return None
        used = tally.total
        if self.tokens is not None and used.total_tokens >= self.tokens:
            return f"the budget of {format_count(self.tokens, 'token')} is used up ({used.total_tokens:,} used)"
        if self.cost is not None and (spent := used.known_cost) >= self.cost:
            return f"the budget of ${self.cost:.2f} is used up (${spent:.4f} spent)"
        return None


UNLIMITED: Final = Budget()


def _subtract(limit: N | None, used: N) -> N | None:
    return None if limit is None else max(limit - used, type(used)(0))


class Spent(TypedDict):
    """Usage of a run so far: by model, and as its budget counts it."""

    usage: list[Usage]
    turns: int
    seconds: float
    actions: int


NOTHING_SPENT: Final = Spent(usage=[], turns=0, seconds=0.0, actions=0)


class BudgetMeter:
    """Usage of a run with a budget. The runs inside it share the budget, and each may have a tighter budget of its own.

    Args:
        tally: tokens that the run uses; its runs inside add to them.
        outer: the meter of the run around it.

    Raises:
        ConfigurationError: when the budget is not a `Budget`.
    """

    __slots__ = ("_began", "_clock", "_outer", "_running", "actions", "budget", "tally", "turns")

    def __init__(
        self,
        budget: Budget,
        tally: UsageTally,
        clock: Clock,
        outer: BudgetMeter | None = None,
    ) -> None:
        if not isinstance(budget, Budget):
            raise ConfigurationError(f"budget is {budget!r}; write budget=Budget(...)")
        self.budget = budget
        self.turns = 0
        self.actions = 0
        self._running = 0
        self.tally = tally
        self._clock = clock
        self._began = clock.monotonic()
        self._outer = outer

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._clock.monotonic() - self._began

    @property
    def actions_left(self) -> int | None:
        """Number of actions that a process may still run, here and further out; `None` when there is no limit."""
        actions = None if self.budget.actions is None else max(0, self.budget.actions - self._begun)
        outer = None if self._outer is None else self._outer.actions_left
        return outer if actions is None else actions if outer is None else min(actions, outer)

    @property
    def left(self) -> Budget:
        """The rest of the budgets here and further out, for a part of the run on another machine."""
        budget, used = self.budget, self.tally.total
        left = Budget(
            cost=_subtract(budget.cost, used.known_cost),
            tokens=_subtract(budget.tokens, used.total_tokens),
            turns=_subtract(budget.turns, self.turns),
            seconds=_subtract(budget.seconds, self.seconds),
            actions=self.actions_left,
        )
        return left if self._outer is None else left.tighten(self._outer.left)

    @property
    def _begun(self) -> int:
        return self.actions + self._running

    @property
    def spent(self) -> Spent:
        """Usage so far."""
        usage = list(self.tally.by_model.values())
        return Spent(usage=usage, turns=self.turns, seconds=self.seconds, actions=self.actions)

    def restore(self, spent: Spent) -> None:
        """Continue from what was used before, but for the usage, which is in the tally."""
        self.turns = spent["turns"]
        self.actions = spent["actions"]
        self.restart(spent["seconds"])

    def restart(self, seconds: float) -> None:
        """Continue after a pause that does not count, from the seconds that were used before."""
        self._began = self._clock.monotonic() - seconds

    def find_limit(self, *, acting: bool = False) -> str | None:
        """Return a description of the limit that is reached, here or further out; `None` when there is room.

        Args:
            acting: True if an action is about to be run: then the number of actions that have begun counts too.
        """
        actions = self._begun if acting else 0
        reason = self.budget.find_limit(self.tally, turns=self.turns, seconds=self.seconds, actions=actions)
        return reason if reason is not None or self._outer is None else self._outer.find_limit(acting=acting)

    def count_turn(self) -> None:
        """Count a call of a model."""
        self.turns += 1
        if self._outer is not None:
            self._outer.count_turn()

    def count_action(self) -> None:
        """Count an action of a process that has ended."""
        self.actions += 1
        if self._outer is not None:
            self._outer.count_action()

    @contextmanager
    def count_actions(self, actions: int) -> Iterator[None]:
        """Count actions of a process while they run: the actions inside them have so much less."""
        self.count_running(actions)
        try:
            yield
        finally:
            self.count_running(-actions)

    def count_running(self, change: int) -> None:
        """Change the number of actions of a process that run: those inside them have so much less."""
        self._running += change
        if self._outer is not None:
            self._outer.count_running(change)


def save_budget(budget: Budget) -> dict[str, float | None]:
    """Return the limits of a budget as JSON."""
    return {limit.name: getattr(budget, limit.name) for limit in fields(Budget)}


def restore_budget(saved: object) -> Budget:
    """Return the budget that was saved.

    Raises:
        StoredStateError: when it is not valid.
    """
    try:
        return _adapter().validate_python(saved)
    except (pydantic.ValidationError, ConfigurationError) as error:
        raise StoredStateError(f"The budget of the run cannot be read: {error}") from error


@cache
def _adapter() -> pydantic.TypeAdapter[Budget]:
    return pydantic.TypeAdapter(Budget)
