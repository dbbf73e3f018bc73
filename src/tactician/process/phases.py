"""States: objects that stand for a phase of the work, and carry the actions of that phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tactician.planning import Action
    from tactician.process.blackboard import Blackboard
    from tactician.process.spec import PlannedAgentSpec

STATE: Final = "__tactician_state__"


@dataclass(frozen=True, slots=True)
class StateDeclaration:
    """What `@state` says. With `preserve`, entering the state takes only older states away."""

    preserve: bool


def state_of(kind: type) -> StateDeclaration | None:
    """What `@state` says of the class or one of its bases; `None` when it is no state."""
    declared = getattr(kind, STATE, None)
    return declared if isinstance(declared, StateDeclaration) else None


def keeps_all(kind: type) -> bool:
    """Whether a state leaves on the blackboard what is there."""
    declared = state_of(kind)
    return declared is not None and declared.preserve


def scopes(agent: PlannedAgentSpec, board: Blackboard, actions: tuple[Action, ...]) -> Iterator[tuple[Action, ...]]:
    """Those of the actions to plan with: with the next ones, where no plan is found with these.

    In a state, what it declares comes first, and what takes a state. Where that does not lead to a goal, the agent's
    own actions go on with what the state has given; those that take nothing belong to the time before it.
    """
    if not agent.states or not any(isinstance(value, agent.states) for value in board.objects):
        yield actions
        return
    specs = [agent.action(action.name) for action in actions]
    yield tuple(one.plan for one in specs if one.state is not None or any(map(state_of, one.input_types)))
    yield tuple(one.plan for one in specs if one.state is not None or one.input_types)
