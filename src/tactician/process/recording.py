"""What an action's output does to the blackboard."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from tactician.errors import Rejected
from tactician.process.blackboard import DEFAULT_BINDING, GAVE_NOTHING, Blackboard, Rejection
from tactician.process.phases import state_of
from tactician.process.some_of import parts_of
from tactician.process.spec import ActionSpec, PlannedAgentSpec


def record(
    blackboard: Blackboard, agent: PlannedAgentSpec, action: ActionSpec, output: object, set_by_hand: Mapping[str, bool]
) -> tuple[str, ...]:
    """Puts onto the blackboard what an action gave, and that it has run; the names of the types that it gave.

    Of the conditions that it declares, those that it set itself stay as it set them.

    Raises:
        TypeError: when it is not of a type that the action declares.
    """
    output = _as_declared(output, action)
    if output is None and action.output_types:
        record_nothing(blackboard, action)
        return ()
    parts = parts_of(output)
    _make_room(blackboard, agent, action, (output, *parts))
    for name in action.sets:
        blackboard.set_condition(name, set_by_hand.get(name, True))
    if output is None:
        blackboard.set_condition(GAVE_NOTHING, True)
        return ()
    blackboard.add(output, action.output_binding)
    for part in parts:
        blackboard.add(part, DEFAULT_BINDING)
    return tuple(type(value).__name__ for value in (output, *parts))


def record_nothing(blackboard: Blackboard, action: ActionSpec) -> None:
    """Puts onto the blackboard that an action has run, if it should have given something, and that it gave nothing."""
    if action.output_types:
        blackboard.set_condition(action.condition_ran, True)
    blackboard.set_condition(GAVE_NOTHING, True)


def _as_declared(output: object, action: ActionSpec) -> object:
    """The output; a `Box` that fits as the `Box[Story]` that was declared.

    Raises:
        TypeError: when it is not of a declared type.
    """
    if output is None or isinstance(output, action.output_types):
        return output
    expected = " or ".join(kind.__name__ for kind in action.output_types) or "None"
    mismatch = f"it declares {expected} and returned {type(output).__name__}"
    for kind in action.output_types:
        if issubclass(kind, BaseModel) and kind.__pydantic_generic_metadata__["origin"] is type(output):
            try:
                return kind.model_validate(output)
            except ValidationError as error:
                mismatch = f"{mismatch}, which is no {kind.__name__}: {error}"
    raise TypeError(mismatch)


def record_rejection(blackboard: Blackboard, action: ActionSpec, rejected: Rejected) -> tuple[str, ...]:
    """Puts onto the blackboard that an action has run, and that what it asked was rejected; the name of the type."""
    blackboard.set_condition(action.condition_ran, True)
    blackboard.add(Rejection(action.name, rejected.prompt, rejected.reason))
    return (Rejection.__name__,)


def _make_room(blackboard: Blackboard, agent: PlannedAgentSpec, action: ActionSpec, given: tuple[object, ...]) -> None:
    """Takes away what a new state, or an action that clears the blackboard, leaves behind."""
    entered = [declared for value in given if (declared := state_of(type(value))) is not None]
    clears = action.clear_blackboard or any(not state.preserve for state in entered)
    if clears:
        _clear(blackboard, agent)
    elif entered:
        _leave_states(blackboard, agent)
    runs_again = bool(action.input_types) if clears else action.state is not None
    if not (entered and runs_again):
        blackboard.set_condition(action.condition_ran, True)


def _clear(blackboard: Blackboard, agent: PlannedAgentSpec) -> None:
    """Takes all away, and that actions have run: not of those that need nothing, as they could always run again."""
    ran = [action.condition_ran for action in agent.actions if not action.input_types]
    kept = [name for name in ran if blackboard.condition(name)]
    blackboard.clear()
    for name in kept:
        blackboard.set_condition(name, True)


def _leave_states(blackboard: Blackboard, agent: PlannedAgentSpec) -> None:
    """Takes the states away, and that their actions have run."""
    for value in blackboard.objects:
        if state_of(type(value)) is not None:
            blackboard.hide(value)
    for action in agent.actions:
        if action.state is not None:
            blackboard.set_condition(action.condition_ran, False)
