"""What an action's output does to the blackboard."""

from __future__ import annotations

from tactician.process.blackboard import Blackboard
from tactician.process.spec import ActionSpec


def record(blackboard: Blackboard, action: ActionSpec, output: object) -> tuple[str, ...]:
    """Puts onto the blackboard what an action gave; the names of the types that it gave.

    Raises:
        TypeError: when it is not of a type that the action declares.
    """
    if output is not None and not isinstance(output, action.output_types):
        expected = " or ".join(kind.__name__ for kind in action.output_types) or "None"
        raise TypeError(f"it declares {expected} and returned {type(output).__name__}")
    if output is None and action.output_types:
        return ()
    for name in action.sets:
        blackboard.set_condition(name, True)
    if output is None:
        return ()
    blackboard.add(output, action.output_binding)
    return (type(output).__name__,)
