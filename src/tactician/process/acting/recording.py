"""Recording of the result of an action on the blackboard."""

from __future__ import annotations

from collections.abc import Mapping

import pydantic

from tactician.errors import Rejected
from tactician.model_classes import is_model_class
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.board.blackboard import GAVE_NOTHING, Blackboard
from tactician.process.objects import Rejection, get_parts, get_state_declaration


def record_output(
    blackboard: Blackboard, agent: PlannedAgentSpec, action: ActionSpec, output: object, set_by_hand: Mapping[str, bool]
) -> tuple[str, ...]:
    """Put the output of an action onto the blackboard, and that it has run; return the names of its types.

    Of the conditions that the action declares, those that it set itself stay as it set them.

    Raises:
        TypeError: when the output is not of a type that the action declares.
        StoredStateError: when the process is saved, and the output could not be read again.
    """
    output = _convert_output(output, action)
    if output is None and action.output_types:
        record_nothing(blackboard, action)
        return ()
    parts = get_parts(output)
    entries = [blackboard.prepare(part) for part in parts]
    if output is not None:
        entries.insert(0, blackboard.prepare(output, action.output_binding))
    _make_room(blackboard, agent, action, (output, *parts))
    for name in action.sets:
        blackboard.set_condition(name, set_by_hand.get(name, True))
    if output is None:
        blackboard.set_condition(GAVE_NOTHING, True)
        return ()
    for entry in entries:
        blackboard.put(entry)
    return tuple(type(value).__name__ for value in (output, *parts))


def record_nothing(blackboard: Blackboard, action: ActionSpec) -> None:
    """Note on the blackboard that an action gave nothing, and that it has run, if it declares an output."""
    if action.output_types:
        blackboard.set_condition(action.condition_ran, True)
    blackboard.set_condition(GAVE_NOTHING, True)


def _convert_output(output: object, action: ActionSpec) -> object:
    """Return the output; a `Box` that fits as the `Box[Story]` that was declared.

    Raises:
        TypeError: when the output is not of a declared type.
    """
    if output is None or isinstance(output, action.output_types):
        return output
    expected = " or ".join(kind.__name__ for kind in action.output_types) or "None"
    mismatch = f"it declares {expected} and returned {type(output).__name__}"
    for kind in action.output_types:
        if is_model_class(kind) and kind.__pydantic_generic_metadata__["origin"] is type(output):
            try:
                return kind.model_validate(output)
            except pydantic.ValidationError as error:
                mismatch = f"{mismatch}, which is not valid as {kind.__name__}: {error}"
    raise TypeError(mismatch)


def record_rejection(blackboard: Blackboard, action: ActionSpec, rejected: Rejected) -> tuple[str, ...]:
    """Put onto the blackboard that an action has run, and that what it asked was rejected."""
    blackboard.set_condition(action.condition_ran, True)
    blackboard.add(Rejection(action.name, rejected.prompt, rejected.reason))
    return (Rejection.__name__,)


def _make_room(blackboard: Blackboard, agent: PlannedAgentSpec, action: ActionSpec, values: tuple[object, ...]) -> None:
    """Remove what a new state, or an action that clears the blackboard, leaves behind."""
    entered = [declared for value in values if (declared := get_state_declaration(type(value))) is not None]
    clears = action.clear_blackboard or any(not state.preserve for state in entered)
    if clears:
        _clear(blackboard, agent)
    elif entered:
        _leave_states(blackboard, agent)
    runs_again = bool(action.input_types) if clears else action.state is not None
    if not (entered and runs_again):
        blackboard.set_condition(action.condition_ran, True)


def _clear(blackboard: Blackboard, agent: PlannedAgentSpec) -> None:
    """Remove all, and that actions have run: not of those that need nothing, as they could always run again."""
    ran = [action.condition_ran for action in agent.actions if not action.input_types]
    conditions = [name for name in ran if blackboard.condition(name)]
    blackboard.clear()
    for name in conditions:
        blackboard.set_condition(name, True)


def _leave_states(blackboard: Blackboard, agent: PlannedAgentSpec) -> None:
    """Remove the states, and that their actions have run."""
    for value in blackboard.objects:
        if get_state_declaration(type(value)) is not None:
            blackboard.hide(value)
    for action in agent.actions:
        if action.state is not None:
            blackboard.set_condition(action.condition_ran, False)
