"""The goals of an agent, and how they are offered to others."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.frozen import frozen
from tactician.planning import Goal


@frozen
class Export:
    """Offer of a goal to others.

    Attributes:
        remote: offered to other programs, too.
        name: name of the goal there; its own name by default.
        local: offered to the other agents of this program.
        starting_input_types: types to reach the goal from, a tuple where several objects are needed, as in
            `[UserInput, (Order, Customer)]`; by default, what leads to it: a single object where that is enough.
    """

    remote: bool = False
    name: str | None = None
    local: bool = True
    starting_input_types: Sequence[type | tuple[type, ...]] = ()


@frozen
class GoalSpec:
    """A goal, and the types of the object that reaching it gives: none when it gives no object."""

    plan: Goal
    description: str
    output_types: tuple[type, ...]
    output_binding: str
    export: Export = Export()

    @property
    def name(self) -> str:
        """The goal's name, unique in its agent."""
        return self.plan.name
