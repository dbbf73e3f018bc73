"""Costs and values that change: found out once a tick, and given to the planner along with the world."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from math import isfinite
from typing import TYPE_CHECKING

from tactician.planning import ConditionValue, WorldState

if TYPE_CHECKING:
    from tactician.process.context import OperationContext
    from tactician.process.spec import PlannedAgentSpec


class PricedWorld(WorldState):
    """A world in which prices hold."""

    __slots__ = ("prices",)

    def __init__(self, conditions: Mapping[str, ConditionValue], prices: Mapping[str, float]) -> None:
        super().__init__(conditions)
        self.prices = prices


def price_in(name: str, otherwise: float) -> Callable[[WorldState], float]:
    """A cost or a value for the planner: the price of that name; `otherwise` in a world without prices."""

    def price(world: WorldState) -> float:
        return world.prices.get(name, otherwise) if isinstance(world, PricedWorld) else otherwise

    return price


async def priced(world: WorldState, agent: PlannedAgentSpec, context: OperationContext) -> WorldState:
    """The world with the prices of now; the same world when the agent has none.

    Raises:
        ValueError: when a price is no number from 0 up.
    """
    if not agent.prices:
        return world
    prices: dict[str, float] = {}
    for name, find in agent.prices.items():
        try:
            found = find(context)
            price: object = await found if isinstance(found, Awaitable) else found
        except Exception as error:
            error.add_note(f"in the cost {name!r}")
            raise
        if not isinstance(price, int | float) or not isfinite(price) or price < 0:
            raise ValueError(f"the cost {name!r} gave {price!r}; it has to be a number from 0 up")
        prices[name] = float(price)
    return PricedWorld(world, prices)
