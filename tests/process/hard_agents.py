"""Agents whose decisions take long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from tactician import UserInput, achieves_goal, action, planned_agent
from tactician.planning import PlanningBudget


async def take_a_moment() -> None:
    await asyncio.sleep(0)


def build_gatherer(
    sources: int = 200,
    wanted: int = 16,
    *,
    planning: PlanningBudget | None = None,
    act: Callable[[], Awaitable[None]] = take_a_moment,
) -> object:
    """Build an agent that gathers facts, from sources of different price that give several of them each.

    Args:
        sources: number of actions that give facts
        wanted: number of facts
        planning: the agent's limits of planning
        act: what each action does
    """
    draw, facts = Random(7), [f"fact_{n}" for n in range(wanted)]
    methods: dict[str, object] = {}
    for n in range(sources):

        @action(post=draw.sample(facts, draw.randint(2, 5)), cost=draw.randint(10, 30) / 30)
        async def source(self: object, topic: UserInput) -> None:
            await act()

        source.__name__ = f"source_{n}"
        methods[source.__name__] = source

    @achieves_goal("All facts are there")
    @action(pre=facts)
    def finish(self: object, topic: UserInput) -> str:
        return "done"

    built = type("Gatherer", (), {**methods, "finish": finish})
    agent: object = planned_agent(description="Gathers facts", planning=planning)(built)()
    return agent
