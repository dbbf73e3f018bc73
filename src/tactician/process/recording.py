"""What an action's output does to the blackboard."""

from __future__ import annotations

from tactician.process.blackboard import DEFAULT_BINDING, GAVE_NOTHING, Blackboard
from tactician.process.phases import state_of
from tactician.process.some_of import parts_of
from tactician.process.spec import ActionSpec, AgentSpec


def record(blackboard: Blackboard, agent: AgentSpec, action: ActionSpec, output: object) -> tuple[str, ...]:
    """Puts onto the blackboard what an action gave, and that it has run; the names of the types that it gave.

    Raises:
        TypeError: when it is not of a type that the action declares.
    """
    if output is not None and not isinstance(output, action.output_types):
        expected = " or ".join(kind.__name__ for kind in action.output_types) or "None"
        raise TypeError(f"it declares {expected} and returned {type(output).__name__}")
    if output is None and action.output_types:
        blackboard.set_condition(action.condition_ran, True)
        blackboard.set_condition(GAVE_NOTHING, True)
        return ()
    parts = parts_of(output)
    _make_room(blackboard, agent, action, (output, *parts))
    for name in action.sets:
        blackboard.set_condition(name, True)
    if output is None:
        blackboard.set_condition(GAVE_NOTHING, True)
        return ()
    blackboard.add(output, action.output_binding)
    for part in parts:
        blackboard.add(part, DEFAULT_BINDING)
    return tuple(type(value).__name__ for value in (output, *parts))


def _make_room(blackboard: Blackboard, agent: AgentSpec, action: ActionSpec, given: tuple[object, ...]) -> None:
    """Takes away what a new state, or an action that clears the blackboard, leaves behind."""
    entered = [declared for value in given if (declared := state_of(type(value))) is not None]
    clears = action.clear_blackboard or any(not state.preserve for state in entered)
    if clears:
        _clear(blackboard, agent)
    elif entered:
        _leave_states(blackboard, agent)
        for value in given:
            blackboard.show(value)
    runs_again = bool(action.input_types) if clears else action.state is not None
    if not (entered and runs_again):
        blackboard.set_condition(action.condition_ran, True)


def _clear(blackboard: Blackboard, agent: AgentSpec) -> None:
    """Takes all away, and that actions have run: not of those that need nothing, as they could always run again."""
    ran = [action.condition_ran for action in agent.actions if not action.input_types]
    kept = [name for name in ran if blackboard.condition(name)]
    blackboard.clear()
    for name in kept:
        blackboard.set_condition(name, True)


def _leave_states(blackboard: Blackboard, agent: AgentSpec) -> None:
    """Takes the states away, and that their actions have run."""
    for value in blackboard.objects:
        if state_of(type(value)) is not None:
            blackboard.hide(value)
    for action in agent.actions:
        if action.state is not None:
            blackboard.set_condition(action.condition_ran, False)
