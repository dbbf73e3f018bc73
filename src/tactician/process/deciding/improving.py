"""Better plans for what is to come, sought while an action runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

from tactician.planning import Action, Plan, PlanningBudget, WorldState
from tactician.planning.consultation import Consultation
from tactician.process.agent.spec import ActionSpec
from tactician.process.deciding.deliberation import PlanningTurns
from tactician.process.deciding.selection import ActionSelector

T = TypeVar("T")
_WORTHWHILE: Final = 0.01
"""The gap above which a plan is worth improving."""
_FEWEST_ACTIONS: Final = 3
_PATIENCE: Final = 4
"""How many times as much as a decision an improvement may use, while the action runs."""


class PlanImprover:
    """Improver of the plan of a process.

    The plan that a decision had no time to improve is begun with all the same. While its first action runs, a better
    way is sought from the world that the action is expected to lead to. The next decision begins with the result.
    """

    def __init__(self, selector: ActionSelector) -> None:
        self._selector = selector

    async def improve_beside(self, action: ActionSpec, work: Awaitable[T]) -> T:
        """Wait for the work of the first action of the plan, and improve the plan meanwhile, if that is worthwhile."""
        selector = self._selector
        decision, selector.improved = selector.decision, None
        plan = None if decision is None else decision.plan
        if decision is None or plan is None or decision.ruling or not _is_worthwhile(plan, action.plan):
            return await work
        search = _Search()
        task = asyncio.create_task(search.run(lambda: self._consult(plan, decision.world.apply(action.plan))))
        try:
            done = await work
        finally:
            task.cancel()
            await asyncio.wait([task])
        selector.improved = search.finish()
        return done

    def _consult(self, plan: Plan, world: WorldState) -> Consultation:
        agent = self._selector.agent
        return agent.planner.consult(
            world, agent.plannable, [plan.goal], budget=_extend(self._selector.planning), known=plan, asks=False
        )


class _Search:
    """Search for a better plan. Nothing depends on it: where it fails, the next decision finds out."""

    def __init__(self) -> None:
        self._consultation: Consultation | None = None

    async def run(self, consult: Callable[[], Consultation]) -> None:
        """Search until the end, or a cancellation."""
        with suppress(Exception):
            self._consultation = consult()
            await PlanningTurns.current().advance(self._consultation)

    def finish(self) -> Plan | None:
        """Return the best plan of the search so far."""
        if self._consultation is None:
            return None
        try:
            self._consultation.finish()
        except Exception:
            return None
        return self._consultation.plan


def _extend(budget: PlanningBudget) -> PlanningBudget:
    """Return the limits of a search that nobody waits for."""
    time, expansions = budget.time, budget.expansions
    return replace(
        budget,
        time=None if time is None else time * _PATIENCE,
        expansions=None if expansions is None else expansions * _PATIENCE,
    )


def _is_worthwhile(plan: Plan, action: Action) -> bool:
    gap = plan.gap
    is_first = plan.actions[:1] == (action,)
    return is_first and len(plan.actions) >= _FEWEST_ACTIONS and (gap is None or gap > _WORTHWHILE)
