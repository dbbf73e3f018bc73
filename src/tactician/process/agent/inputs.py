"""Objects that a process of an agent begins with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tactician.clock import Clock
from tactician.llm import AssistantMessage, ToolResult, UserMessage
from tactician.llm.messages import SystemMessage, join_text
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.board.blackboard import Blackboard
from tactician.process.objects import DEFAULT_BINDING, Bound, UserInput
from tactician.process.stored_types import type_name
from tactician.runs.runnable import is_conversation, messages_of

_MESSAGES = (UserMessage, AssistantMessage, SystemMessage, ToolResult)


def add_inputs(board: Blackboard, objects: Sequence[object], agent: PlannedAgentSpec, clock: Clock) -> None:
    """Add what a process of an agent begins with to its blackboard.

    Text becomes a `UserInput`, and so do messages, unless the agent takes messages: then text becomes a message, if it
    takes no `UserInput`. Named objects are added as they are.

    The time of a `UserInput` comes from the clock.

    Raises:
        StoredStateError: when the process is saved, and an object could not be read again; then none is added.
    """
    entries = [board.prepare(*bound) for value in objects for bound in _as_bound(value, agent, clock)]
    for entry in entries:
        board.put(entry)


def _as_bound(item: object, agent: PlannedAgentSpec, clock: Clock) -> Sequence[tuple[object, str]]:
    if isinstance(item, Bound):
        return [(item.value, item.binding)]
    return [(value, DEFAULT_BINDING) for value in _as_objects(item, agent, clock)]


def _as_objects(value: object, agent: PlannedAgentSpec, clock: Clock) -> Sequence[object]:
    """Return text as what it is to the agent. Messages stay messages only for an agent that takes them."""
    if isinstance(value, str):
        return [_as_input(value, agent, clock)]
    if not isinstance(value, _MESSAGES) and not is_conversation(value):
        return [value]
    messages = messages_of(value)
    taken = [message for message in messages if type_name(type(message)) in agent.types]
    return taken if taken and taken[-1] is messages[-1] else [_as_input(join_text(messages), agent, clock)]


def _as_input(text: str, agent: PlannedAgentSpec, clock: Clock) -> UserInput | UserMessage:
    """Return text as a `UserInput`; as a message for an agent whose actions take messages, and no `UserInput`."""
    taken = {
        kind
        for action in agent.actions
        for kind in (*action.input_types, *action.optional_types, action.trigger)
        if kind
    }
    takes_messages = UserMessage in taken and not any(issubclass(UserInput, kind) for kind in taken)
    return UserMessage(text) if takes_messages else UserInput(text, datetime.fromtimestamp(clock.time(), UTC))
