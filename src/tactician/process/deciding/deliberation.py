"""Planning beside all else: the limits of a process, and the share of an event loop that planning may take."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakKeyDictionary

from tactician.config.loading import find_settings
from tactician.planning import PlanningBudget
from tactician.planning.budget import DEFAULT_PLANNING
from tactician.planning.consultation import Consultation

if TYPE_CHECKING:
    from tactician.planning import Objective
    from tactician.process.deciding.experience import ExperienceTable
    from tactician.process.state.options import PlanReview

T = TypeVar("T")
_SLICE: Final = 0.003
"""Seconds of planning in an iteration of an event loop."""


class PlanningSettings:
    """Limits and objective of planning for all processes of a platform; by default, those in `tactician.toml`.

    Attributes:
        plan_review: terms under which a person decides on the plans of planned agents; no reviews, when `None`.
        explore: seed of the exploration of actions that have run seldom; no exploration, when `None`.
        read_experience: returns the experience with the runs of the platform that had ended at a time, in seconds since
            the epoch; `None` outside of platforms, where there is no experience.

    Raises:
        ConfigurationError: when the settings are not valid.
    """

    def __init__(
        self,
        budget: PlanningBudget | None = None,
        objective: Objective | None = None,
        plan_review: PlanReview | None = None,
    ) -> None:
        self.budget = _find_budget() if budget is None else budget
        self.objective = _find_objective() if objective is None else objective
        self.plan_review = plan_review
        self.read_experience: Callable[[float], Awaitable[ExperienceTable]] | None = None
        self.explore = None if (settings := find_settings()) is None else settings.planning.explore


class PlanningTurns:
    """Turns of the planning in an event loop, so that all of it together never holds the loop for long.

    In each iteration of the loop there is time for many small decisions, or for a slice of a large decision.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._spent = 0.0
        self._is_renewing = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @staticmethod
    def current() -> PlanningTurns:
        """Return the turns of the running event loop."""
        loop = asyncio.get_running_loop()
        turns = _turns.get(loop)
        if turns is None:
            turns = _turns[loop] = PlanningTurns(loop)
        return turns

    async def advance(self, consultation: Consultation) -> str | None:
        """Let a consultation continue to its next question or its end, and return the question."""
        while True:
            question = await self.run(lambda: consultation.advance(_SLICE))
            if question is not None or consultation.is_done:
                return question

    async def run(self, work: Callable[[], T]) -> T:
        """Do a part of the planning when it is its turn."""
        await self._wait()
        began = perf_counter()
        try:
            return work()
        finally:
            self._spend(perf_counter() - began)

    async def _wait(self) -> None:
        """Wait until the loop has time for planning: behind those that wait already."""
        while self._spent >= _SLICE:
            turn = self._loop.create_future()
            self._waiting.append(turn)
            await turn

    def _spend(self, seconds: float) -> None:
        self._spent += seconds
        self._renew_soon()

    def _renew_soon(self) -> None:
        if not self._is_renewing:
            self._is_renewing = True
            self._loop.call_soon(self._renew, context=Context())  # the caller's context would keep its process alive

    def _renew(self) -> None:
        """Begin an iteration of the loop: the next in line has a turn. Those who were cancelled have left the line."""
        self._spent, self._is_renewing = 0.0, False
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._renew_soon()
                return


def _find_budget() -> PlanningBudget:
    if (settings := find_settings()) is None:
        return DEFAULT_PLANNING
    table = settings.planning
    return PlanningBudget(time=table.time, expansions=table.expansions, memory=table.memory)


def _find_objective() -> Objective | None:
    settings = find_settings()
    if settings is None or settings.planning.objective is None:
        return None
    from tactician.planning import Objective

    return Objective.of(settings.planning.objective)


_turns: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, PlanningTurns]] = WeakKeyDictionary()
