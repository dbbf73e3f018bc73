"""Observation of the world of a process: what its blackboard shows, and conditions and costs, which may ask a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite

from typing_extensions import override

from tactician.errors import ConfigurationError
from tactician.loggers import get_logger
from tactician.planning import UNKNOWN, WorldState
from tactician.planning.world import ConditionValue
from tactician.process.agent.operation import OperationContext
from tactician.process.agent.spec import Negation, Observe, PlannedAgentSpec
from tactician.process.board.blackboard import Blackboard
from tactician.runs import OutputError
from tactician.runs.outcomes.suspension import Suspended, find_suspension

_logger = get_logger(__name__)


class Observer:
    """Observer of the world of a process, at a single moment: each condition is evaluated once.

    Args:
        agent: the agent.
        board: its blackboard.
        create_context: creates the context of its conditions and costs, where there are any.

    Attributes:
        board: the blackboard.
    """

    __slots__ = ("_agent", "_conditions", "_context", "_create_context", "board")

    def __init__(
        self, agent: PlannedAgentSpec, board: Blackboard, create_context: Callable[[], OperationContext]
    ) -> None:
        self.board = board
        self._agent = agent
        self._create_context = create_context
        self._context: OperationContext | None = None
        self._conditions: dict[str, bool | None] = {}

    async def look(self) -> WorldState:
        """Return what the blackboard shows, with the costs of now.

        Raises:
            ValueError: when a cost is not a number from 0 up.
        """
        seen = self._agent.look(self.board)
        return PricedWorld(seen, await self._find_prices()) if self._agent.prices else WorldState(seen)

    async def observe(self) -> WorldState:
        """Return the same with every condition evaluated.

        Raises:
            ValueError: as `look`.
        """
        values = {name: await self.find_out(name) for name in self._agent.conditions}
        world = await self.look()
        return world.with_({name: UNKNOWN if holds is None else holds for name, holds in values.items()})

    async def find_out(self, name: str) -> bool | None:
        """Evaluate a condition, or the condition that it negates, unless it is known; `None` when it is unknown."""
        observe = self._agent.conditions.get(name)
        if observe is None:
            return None
        is_negated = isinstance(observe, Negation)
        base, find = (observe.condition, observe.observe) if isinstance(observe, Negation) else (name, observe)
        if base not in self._conditions:
            self._conditions[base] = await _evaluate(base, find, self._operation)
        holds = self._conditions[base]
        return holds if holds is None or not is_negated else not holds

    async def _find_prices(self) -> dict[str, float]:
        """Return the costs and values of now."""
        prices: dict[str, float] = {}
        for name, find in self._agent.prices.items():
            price_context = self._operation.at(f"cost {name}")
            with _enter_evaluation(f"the cost {name!r}", price_context):
                result = find(price_context)
                price: object = await result if isinstance(result, Awaitable) else result
            if not isinstance(price, int | float) or not isfinite(price) or price < 0:
                raise ValueError(f"the cost {name!r} gave {price!r}; it must be a number from 0 up")
            prices[name] = float(price)
        return prices

    @property
    def _operation(self) -> OperationContext:
        if self._context is None:
            self._context = self._create_context()
        return self._context


async def _evaluate(name: str, find: Observe, context: OperationContext) -> bool | None:
    """Evaluate a condition; `None` when a model gave no valid answer, so that it is unknown."""
    condition_context = context.at(name)
    try:
        with _enter_evaluation(f"the condition {name!r}", condition_context):
            holds = find(condition_context)
            return holds if holds is None or isinstance(holds, bool) else bool(await holds)
    except OutputError as error:
        _logger.warning("%s: the condition %r is unknown: %s", context.process.name, name, error)
        return None


@contextmanager
def _enter_evaluation(place: str, context: OperationContext) -> Iterator[None]:
    """Enter the run of a condition or cost, and name it where it fails. It cannot wait."""
    try:
        with context.run.enter():
            yield
    except BaseException as error:
        if (suspended := find_suspension(error)) is not None:
            raise ConfigurationError(
                f"{_name_waiting(suspended, context)} waits for somebody, which can be waited for in an action of a "
                f"process only, and not in {place}."
            ) from error
        if isinstance(error, Exception):
            error.add_note(f"in {place}")
        raise


def _name_waiting(suspended: Suspended, context: OperationContext) -> str:
    """Return the name of what runs in the context, and has to wait."""
    path_length = len(context.run.path)
    names = dict.fromkeys(name for request in suspended.pending for name in request.path[path_length : path_length + 1])
    return " and ".join(names) or "What it runs"


class PricedWorld(WorldState):
    """World state with the costs and values of now."""

    __slots__ = ("prices",)

    def __init__(self, conditions: Mapping[str, ConditionValue], prices: Mapping[str, float]) -> None:
        super().__init__(conditions)
        self.prices = prices

    @override
    def with_(self, conditions: Mapping[str, ConditionValue] | None = None, /, **named: ConditionValue) -> PricedWorld:
        return PricedWorld(super().with_(conditions, **named), self.prices)


def lookup_price(name: str, otherwise: float) -> Callable[[WorldState], float]:
    """Return a cost or a value for the planner: the price of that name; `otherwise` in a world without prices."""

    def price(world: WorldState) -> float:
        return world.prices.get(name, otherwise) if isinstance(world, PricedWorld) else otherwise

    return price
