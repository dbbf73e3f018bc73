"""Better plans for what is to come, sought while an action runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Final, TypeVar

from tactician.planning import Action, Consultation, Plan, PlanningBudget, SearchLimitExceeded, WorldState
from tactician.process.deliberation import PlanningTurns
from tactician.process.selection import ActionSelector
from tactician.process.spec import ActionSpec

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
        if decision is None or plan is None or not _is_worthwhile(plan, action.plan):
            return await work
        consultation = self._consult(plan, decision.world.apply(action.plan))
        task = asyncio.create_task(_work(consultation))
        try:
            done = await work
        finally:
            task.cancel()
            await asyncio.wait([task])
        selector.improved = _finish(consultation)
        return done

    def _consult(self, plan: Plan, world: WorldState) -> Consultation:
        agent = self._selector.agent
        return agent.planner.consult(
            world, agent.plannable, [plan.goal], budget=_extend(self._selector.planning), known=plan, asks=False
        )


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


async def _work(consultation: Consultation) -> None:
    try:
        await PlanningTurns.current().advance(consultation)
    except Exception:  # the next decision finds out: nothing depends on a better plan
        return


def _finish(consultation: Consultation) -> Plan | None:
    """Return the best plan of the search so far."""
    try:
        consultation.finish()
    except SearchLimitExceeded:
        return None
    return consultation.plan
