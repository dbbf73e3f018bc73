"""In which order results go onto the blackboard: that of the plan, whichever action ends first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tactician.planning import Plan, WorldState
from tactician.process.blackboard import Blackboard


@dataclass(slots=True)
class Order:
    """The order in which the actions of a plan would run one after the other.

    Attributes:
        order: those that have not ended, in the order of the plan.
        places: of those whose result others have overtaken: how many entries of the blackboard come before it.
    """

    order: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def arrange(self, plan: Plan, world: WorldState) -> Plan:
        """Return a new plan, in the order of the last one when it consists of the actions that are left of that."""
        names = [action.name for action in plan.actions]
        if names == self.order or sorted(names) != sorted(self.order):
            return plan
        return _reordered(plan, self.order, world)

    def follow(self, plan: Plan) -> None:
        """Take the order of a plan over."""
        self.order = [action.name for action in plan.actions]
        self.places = {name: place for name, place in self.places.items() if name in self.order}

    def take(self, action: str, board: Blackboard, before: int) -> None:
        """An action has ended: what it has put onto the blackboard, after so many entries, gets its place there."""
        overtaken = self.order[: self.order.index(action)] if action in self.order else []
        place, size = self.places.pop(action, before), board.size
        board.move(before, place)
        for name, known in self.places.items():
            if name not in overtaken and known >= place:
                self.places[name] = known + size - before
        for name in overtaken if size > before else ():
            self.places[name] = min(place, self.places.get(name, place))
        if action in self.order:
            self.order.remove(action)


def _reordered(plan: Plan, order: Sequence[str], world: WorldState) -> Plan:
    """The plan in the order, if it can be followed in that."""
    steps = {step[0].name: step for step in zip(plan.actions, plan.costs, strict=True)}
    for name in order:
        if not steps[name][0].is_runnable_in(world):
            return plan
        world = world.apply(steps[name][0])
    if not plan.goal.is_reached_in(world):
        return plan
    actions, costs = zip(*(steps[name] for name in order), strict=True)
    return replace(plan, actions=actions, costs=costs)
