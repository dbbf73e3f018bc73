"""The values a planner works on: actions, goals and plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tactician.frozen import frozen
from tactician.planning.estimates import RunEstimate
from tactician.planning.world import WorldState

if TYPE_CHECKING:
    from tactician.diagrams.diagram import Diagram
    from tactician.planning.forecast.expectation import PlanExpectation

MEASURED: Final[Literal["measured"]] = "measured"
"""The cost of an action that costs what its earlier runs took."""
Amount: TypeAlias = float | Callable[[WorldState], float]
"""A number, or a function of the world state the plan starts from."""


@frozen
class Action:
    """Something that can be done when `pre` holds, and that makes `effects` hold.

    Args:
        name: name for people and explanations
        pre: the conditions that must be true or false before it runs; none by default
        effects: the conditions it makes true or false; none by default
        cost: finite and not negative, in any unit (the same for all actions); 0 by default. A function is
            evaluated at most once per call of the planner, on the world state the plan starts from
        value: worth of running it in units of cost, finite; 0 by default. A function is treated like a cost
        estimate: what a run is expected to take, for `Plan.expected`

    Raises:
        ValueError: when there is no name, or the cost or the value is not valid; the message names the action
        TypeError: something is of the wrong type, such as a condition with a value other than True and False
    """

    name: str
    pre: Mapping[str, bool] = field(default_factory=dict, hash=False)
    effects: Mapping[str, bool] = field(default_factory=dict, hash=False)
    cost: Amount = 0.0
    value: Amount = 0.0
    estimate: RunEstimate | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_name(self)
        object.__setattr__(self, "pre", _frozen(self.pre, self, "pre"))
        object.__setattr__(self, "effects", _frozen(self.effects, self, "effects"))
        if not callable(self.cost):
            _check_cost(self.cost, self)
        if not callable(self.value):
            _check_value(self.value, self)

    def cost_in(self, world: WorldState) -> float:
        """Return the cost when starting from this world.

        Raises:
            ValueError: the cost function returned a number that is negative or not finite
        """
        return _check_cost(self.cost(world), self) if callable(self.cost) else self.cost

    def value_in(self, world: WorldState) -> float:
        """Return the value when starting from this world.

        Raises:
            ValueError: the value function returned a number that is not finite
        """
        return _check_value(self.value(world), self) if callable(self.value) else self.value

    def is_runnable_in(self, world: WorldState) -> bool:
        """Return True if every precondition holds."""
        return world.satisfies(self.pre)

    def is_independent_of(self, other: Action) -> bool:
        """Return True if neither action changes what the other needs, or changes otherwise: both may run at once."""
        if self.effects.keys() & other.pre.keys() or other.effects.keys() & self.pre.keys():
            return False
        return all(self.effects[name] == other.effects[name] for name in self.effects.keys() & other.effects.keys())


@frozen
class Goal:
    """Conditions worth reaching.

    Args:
        name: name for people and explanations
        conditions: conditions that must be true or false at the end
        value: worth of reaching it in units of cost, finite; 0 by default. A function is evaluated at most once
            per call of the planner, on the world state the plan starts from

    Raises:
        ValueError: when there is no name, or the value is not valid; the message names the goal
        TypeError: something is of the wrong type, such as a condition with a value other than True and False
    """

    name: str
    conditions: Mapping[str, bool] = field(hash=False)
    value: Amount = 0.0

    def __post_init__(self) -> None:
        _check_name(self)
        object.__setattr__(self, "conditions", _frozen(self.conditions, self, "conditions"))
        if not callable(self.value):
            _check_value(self.value, self)

    def value_in(self, world: WorldState) -> float:
        """Return the value when starting from this world.

        Raises:
            ValueError: the value function returned a number that is not finite
        """
        return _check_value(self.value(world), self) if callable(self.value) else self.value

    def is_reached_in(self, world: WorldState) -> bool:
        """Return True if every condition holds."""
        return world.satisfies(self.conditions)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Plan:
    """Actions which, run in this order, reach a goal; none if it is reached already. For `NIRVANA`: the best action.

    Attributes:
        goal: the goal that it reaches
        actions: the actions to run, in this order
        costs: a number per action, as estimated when the plan was made
        value: the goal's value plus the value of every action
        possible_saving: the most that another plan for the goal could cost less; 0 for a plan that is known to be the
            cheapest
        penalty: the price of the preferences that it breaks
        max_parallel: number of actions that may run at once
        keeps_order: True when no action starts before an earlier one has started, so that the plan ends sooner
    """

    goal: Goal
    actions: tuple[Action, ...]
    costs: tuple[float, ...]
    value: float
    possible_saving: float = 0.0
    penalty: float = 0.0
    max_parallel: int = 1
    keeps_order: bool = False

    @property
    def expected(self) -> PlanExpectation:
        """The expectation of the plan: seconds, dollars, the chance of success, the makespan and a timeline."""
        from tactician.planning.forecast.expectation import expect

        return expect(self.actions, self.max_parallel, keeps_order=self.keeps_order)

    @property
    def cost(self) -> float:
        """The sum of the costs of the actions and of the penalties."""
        return math.fsum((*self.costs, self.penalty)) if self.penalty else math.fsum(self.costs)

    @property
    def net_value(self) -> float:
        """Value of the goal and the actions, less the cost."""
        return self.value - self.cost

    @property
    def optimal(self) -> bool:
        """True if it is known that no plan for the goal costs less."""
        return not round_amount(self.possible_saving)

    @property
    def bound(self) -> float:
        """The least that a plan for the goal can cost, as far as is known."""
        return self.cost - self.possible_saving

    @property
    def gap(self) -> float | None:
        """By which part of the least possible cost this plan may be dearer: 0.04 for 4 %; None if that cost is 0."""
        if self.optimal:
            return 0.0
        return self.possible_saving / self.bound if round_amount(self.bound) > 0 else None

    @property
    def quality(self) -> str:
        """Quality of the plan as text: `optimal`, `within 4 %`, or `not known how good`."""
        if self.optimal:
            return "optimal"
        return "not known how good" if self.gap is None else f"within {_percent(self.gap)}"

    def without_first(self) -> Plan:
        """Return the rest of the plan, once its first action has run. The value of that action is a number."""
        first = self.actions[0]
        value = self.value if callable(first.value) else self.value - first.value
        return replace(self, actions=self.actions[1:], costs=self.costs[1:], value=value)

    def diagram(self) -> Diagram:
        """Return a drawing of the plan: its steps, and its goal."""
        from tactician.diagrams.diagram import Diagram, DiagramEdge, DiagramNode

        steps = zip(self.actions, self.costs, strict=True)
        nodes = [DiagramNode(f"step_{n}", (step.name, f"cost {cost:g}")) for n, (step, cost) in enumerate(steps)]
        nodes.append(DiagramNode("goal", (self.goal.name,), "double"))
        edges = (DiagramEdge(node.id, following.id) for node, following in pairwise(nodes))
        return Diagram(tuple(nodes), tuple(edges))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return what a notebook shows."""
        from tactician.diagrams.html import render_mimebundle

        facts = {"cost": f"{self.cost:g}", "net value": f"{self.net_value:g}", "quality": self.quality}
        return render_mimebundle(repr(self), f"Plan for {self.goal.name}", facts, self.diagram())

    def __str__(self) -> str:
        return " -> ".join(action.name for action in self.actions) or "nothing to do"


def _percent(part: float) -> str:
    """Write a part so that it is not rounded down: 0.0401 as `5 %`."""
    percent = part * 100
    return f"{math.ceil(percent)} %" if percent > 1 else f"{math.ceil(percent * 100) / 100:g} %"


def round_amount(amount: float) -> float:
    """Round an amount to billionths, as amounts are compared: 0.1 + 0.2 equals 0.3."""
    return round(amount, 9)


def _check_name(owner: Action | Goal) -> None:
    kind, name = type(owner).__name__, owner.name
    if not isinstance(name, str):
        raise TypeError(f"{kind}: name must be a text, not {name!r}")
    if not name.strip():
        raise ValueError(f"{kind}: name must not be empty, as people and explanations call it by that")


def _frozen(conditions: Mapping[str, bool], owner: Action | Goal, field_name: str) -> Mapping[str, bool]:
    if not isinstance(conditions, Mapping):
        raise TypeError(f"{_label(owner)}: {field_name} must be a mapping, as {{'a': True}}, not {conditions!r}")
    for name, value in conditions.items():
        if not isinstance(name, str):
            raise TypeError(f"{_label(owner)}: the conditions in {field_name} must have texts as names, not {name!r}")
        if not isinstance(value, bool):
            raise TypeError(f"{_label(owner)}: condition {name!r} in {field_name} must be True or False, not {value!r}")
    return MappingProxyType(dict(conditions))


def _check_cost(cost: float, owner: Action) -> float:
    if not (_is_finite(cost, owner, "cost") and cost >= 0):
        raise ValueError(f"{_label(owner)}: cost must be finite and not negative, not {cost!r}")
    return cost


def _check_value(value: float, owner: Action | Goal) -> float:
    if not _is_finite(value, owner, "value"):
        raise ValueError(f"{_label(owner)}: value must be finite, not {value!r}")
    return value


def _is_finite(amount: float, owner: Action | Goal, field_name: str) -> bool:
    try:
        return math.isfinite(amount)
    except TypeError:
        raise TypeError(
            f"{_label(owner)}: {field_name} must be a number, or a function that returns a number, not {amount!r}"
        ) from None


def _label(owner: Action | Goal) -> str:
    return f"{type(owner).__name__.lower()} {owner.name!r}"


NIRVANA: Final = Goal("nirvana", {"nirvana": True})
"""The goal of those who have none: it is never reached, but there may be an action that is worth while."""
