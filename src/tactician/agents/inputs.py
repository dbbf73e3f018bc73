"""What goes onto the blackboard of what a planned agent is run with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tactician.llm import AssistantMessage, SystemMessage, ToolResult, UserMessage, text_of
from tactician.process import Blackboard, PlannedAgentSpec, UserInput, type_name
from tactician.process.inputs import Bound
from tactician.runs import Input, is_conversation, messages_of

_MESSAGES = (UserMessage, AssistantMessage, SystemMessage, ToolResult)


def objects_of(input: Input) -> tuple[object, ...]:
    """The objects of an input: a tuple is several, if it is no conversation."""
    several = type(input) is tuple and not is_conversation(input)  # a NamedTuple is one object
    return cast("tuple[object, ...]", input) if several else (input,)


def put_onto(board: Blackboard, objects: Sequence[object], agent: PlannedAgentSpec) -> None:
    """Adds objects to the blackboard of a process of an agent. Named ones are added as they are."""
    for given in objects:
        if isinstance(given, Bound):
            board.add(given.value, given.binding)
            continue
        for value in _as_objects(given, agent):
            board.add(value)


def _as_objects(value: object, agent: PlannedAgentSpec) -> Sequence[object]:
    """Text as what it is to the agent. Messages stay what they are only for an agent that takes such."""
    if isinstance(value, str):
        return [_said(value, agent)]
    if not isinstance(value, _MESSAGES) and not is_conversation(value):
        return [value]
    messages = messages_of(value)
    taken = [message for message in messages if type_name(type(message)) in agent.types]
    return taken if taken and taken[-1] is messages[-1] else [_said(text_of(messages), agent)]


def _said(text: str, agent: PlannedAgentSpec) -> UserInput | UserMessage:
    """Text as a `UserInput`; as a message for an agent whose actions take such, and no `UserInput`."""
    taken = {kind for one in agent.actions for kind in (*one.input_types, *one.optional_types, one.trigger) if kind}
    takes_messages = UserMessage in taken and not any(issubclass(UserInput, kind) for kind in taken)
    return UserMessage(text) if takes_messages else UserInput(text)
