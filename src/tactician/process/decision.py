"""Decisions of a process: the plan to follow from here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import Final, NamedTuple

from typing_extensions import override

from tactician.errors import ConfigurationError
from tactician.planning import UNKNOWN, Action, ConditionValue, Plan, PlanningBudget, WorldState
from tactician.process.blackboard import Blackboard, get_state_declaration
from tactician.process.deliberation import PlanningTurns
from tactician.process.operation import OperationContext
from tactician.process.spec import Negation, Observe, PlannedAgentSpec
from tactician.process.state import ProcessState
from tactician.runs import OutputError, Suspended, find_suspension

_MOST_REPLANS: Final = 5
_logger = logging.getLogger(__name__)


class Decision(NamedTuple):
    """The plan to follow, if any, the world that it was made for, and the action that it does without."""

    plan: Plan | None
    world: WorldState
    declined: Action | None = None


class PlanningTask(NamedTuple):
    """The agent to plan for, the limits, and a plan that may still work."""

    agent: PlannedAgentSpec
    budget: PlanningBudget
    known: Plan | None = None


async def decide(task: PlanningTask, state: ProcessState, context: OperationContext) -> Decision:
    """Choose the plan to follow from here, and change nothing: a look ahead and a tick decide alike.

    Where all depends on the action that asked to plan without it, that action is planned with again.
    """
    if state.replans >= _MOST_REPLANS + state.unstickings:
        return Decision(None, await observe(task.agent, context), state.declined)
    decision = await _best_without(state.declined, task, context)
    if decision.plan is None and state.replans and state.declined is not None:
        decision = await _best_without(None, task, context)
    plan = decision.plan
    return decision if plan is None else decision._replace(plan=state.order.arrange(plan, decision.world))


async def _best_without(declined: Action | None, task: PlanningTask, context: OperationContext) -> Decision:
    """Find the best plan that does without an action.

    Conditions that can simply be seen are looked at. Others, which may ask a model, are found out only where the plan
    depends on them, each once.
    """
    agent, plan = task.agent, None
    world = await _add_prices(WorldState(_look(agent, context)), agent, context)
    for actions in iterate_scopes(agent, context.blackboard, agent.plannable_without(declined)):
        plan, world = await _best(task, world, actions, context)
        if plan is not None:
            break
    return Decision(plan, world, declined)


async def _best(
    task: PlanningTask, world: WorldState, actions: tuple[Action, ...], context: OperationContext
) -> tuple[Plan | None, WorldState]:
    """Find the best plan of these actions, and the world with the conditions that were evaluated for it."""
    agent, turns = task.agent, PlanningTurns.current()
    known: dict[str, bool | None] = {}
    goals = tuple(goal.plan for goal in agent.goals)
    consultation = await turns.run(
        lambda: agent.planner.consult(
            world, actions, goals, budget=task.budget, known=task.known, asks=bool(agent.conditions)
        )
    )
    while (question := await turns.advance(consultation)) is not None:
        consultation.answer(await _find_out(question, agent, context, known))
    return consultation.plan, consultation.world


async def observe(agent: PlannedAgentSpec, context: OperationContext) -> WorldState:
    """Evaluate every condition."""
    known: dict[str, bool | None] = {}
    values = {name: await _find_out(name, agent, context, known) for name in agent.conditions}
    seen = {name: UNKNOWN if holds is None else holds for name, holds in values.items()}
    return await _add_prices(WorldState({**_look(agent, context), **seen}), agent, context)


def _look(agent: PlannedAgentSpec, context: OperationContext) -> dict[str, ConditionValue]:
    blackboard = context.blackboard
    return {name: look(blackboard) for name, look in agent.observations.items()}


async def _find_out(
    name: str, agent: PlannedAgentSpec, context: OperationContext, known: dict[str, bool | None]
) -> bool | None:
    """Evaluate a condition, or that of which it is the negation, unless it is known; `None` when it is unknown."""
    observe = agent.conditions.get(name)
    if observe is None:
        return None
    is_negated = isinstance(observe, Negation)
    base, look = (observe.condition, observe.observe) if isinstance(observe, Negation) else (name, observe)
    if base not in known:
        known[base] = await _evaluate(base, look, context)
    holds = known[base]
    return holds if holds is None or not is_negated else not holds


async def _evaluate(name: str, look: Observe, context: OperationContext) -> bool | None:
    """Evaluate a condition; `None` when a model gave no valid answer, so that it is unknown."""
    own = context.at(name)
    try:
        with _finding_out(f"the condition {name!r}", own):
            holds = look(own)
            return holds if isinstance(holds, bool) else bool(await holds)
    except OutputError as error:
        _logger.warning("%s: the condition %r is unknown: %s", context.process.name, name, error)
        return None


@contextmanager
def _finding_out(place: str, context: OperationContext) -> Iterator[None]:
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
    own = len(context.run.path)
    names = dict.fromkeys(name for request in suspended.pending for name in request.path[own : own + 1])
    return " and ".join(names) or "What it runs"


def iterate_scopes(
    agent: PlannedAgentSpec, board: Blackboard, actions: tuple[Action, ...]
) -> Iterator[tuple[Action, ...]]:
    """Yield the actions to plan with: those of the next scope, where no plan is found with these.

    In a state, what it declares comes first, and what takes a state. Where that does not lead to a goal, the agent's
    own actions continue with the objects of the state; those that take nothing belong to the time before it.
    """
    if not agent.states or not any(isinstance(value, agent.states) for value in board.objects):
        yield actions
        return
    specs = [agent.action(action.name) for action in actions]
    yield tuple(
        spec.plan for spec in specs if spec.state is not None or any(map(get_state_declaration, spec.input_types))
    )
    yield tuple(spec.plan for spec in specs if spec.state is not None or spec.input_types)


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


async def _add_prices(world: WorldState, agent: PlannedAgentSpec, context: OperationContext) -> WorldState:
    """Return the world with the prices of now, each computed once; the same world when the agent has no prices.

    Raises:
        ValueError: when a price is not a number from 0 up.
    """
    if not agent.prices:
        return world
    prices: dict[str, float] = {}
    for name, find in agent.prices.items():
        own = context.at(f"cost {name}")
        with _finding_out(f"the cost {name!r}", own):
            result = find(own)
            price: object = await result if isinstance(result, Awaitable) else result
        if not isinstance(price, int | float) or not isfinite(price) or price < 0:
            raise ValueError(f"the cost {name!r} gave {price!r}; it must be a number from 0 up")
        prices[name] = float(price)
    return PricedWorld(world, prices)
