"""States: objects that stand for a phase of the work, and carry the actions of that phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STATE: Final = "__tactician_state__"


@dataclass(frozen=True, slots=True)
class StateDeclaration:
    """What `@state` says. With `preserve`, entering the state takes only older states away."""

    preserve: bool


def state_of(kind: type) -> StateDeclaration | None:
    """What `@state` says of the class or one of its bases; `None` when it is no state."""
    declared = getattr(kind, STATE, None)
    return declared if isinstance(declared, StateDeclaration) else None
