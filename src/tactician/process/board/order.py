"""The order in which results go onto the blackboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final

from tactician.planning import Plan, WorldState
from tactician.process.board.blackboard import Blackboard


@dataclass(slots=True)
class Order:
    """The order in which results go onto the blackboard: as in the plan, whichever action ends first.

    Attributes:
        order: the actions that have not ended, in the order of the plan.
        places: for actions that others have overtaken: the number of entries of the blackboard before their result.
    """

    order: tuple[str, ...] = ()
    places: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Order:
        """Return an equal order, which changes by itself."""
        return Order(self.order, dict(self.places))

    def arrange(self, plan: Plan, world: WorldState) -> Plan:
        """Return a new plan, in the order of the last plan when it consists of the actions that are left of that."""
        names = _names(plan)
        if names == self.order or sorted(names) != sorted(self.order):
            return plan
        return _reorder(plan, self.order, world)

    def follow(self, plan: Plan) -> bool:
        """Take the order of a plan over; return whether it differs from the last plan's."""
        names = _names(plan)
        if names == self.order:
            return False
        self.order = names
        self.places = {name: place for name, place in self.places.items() if name in names}
        return True

    def take(self, action: str, board: Blackboard, before: int) -> None:
        """Move what an action that has ended put onto the blackboard, after so many entries, to its place there."""
        overtaken = self.order[: self.order.index(action)] if action in self.order else []
        place, size = self.places.pop(action, before), board.size
        board.move(before, place)
        for name, placed_name in self.places.items():
            if name not in overtaken and placed_name >= place:
                self.places[name] = placed_name + size - before
        for name in overtaken if size > before else ():
            self.places[name] = min(place, self.places.get(name, place))
        self.order = tuple([name for name in self.order if name != action])


def _names(plan: Plan) -> tuple[str, ...]:
    return tuple(map(_get_name, plan.actions))


_get_name: Final = attrgetter("name")


def _reorder(plan: Plan, order: Sequence[str], world: WorldState) -> Plan:
    """Return the plan in the order, if it can be followed in that order."""
    steps = {step[0].name: step for step in zip(plan.actions, plan.costs, strict=True)}
    for name in order:
        if not steps[name][0].is_runnable_in(world):
            return plan
        world = world.apply(steps[name][0])
    if not plan.goal.is_reached_in(world):
        return plan
    actions, costs = zip(*(steps[name] for name in order), strict=True)
    return replace(plan, actions=actions, costs=costs)
