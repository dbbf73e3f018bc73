"""What goes onto the blackboard of what a planned agent is run with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tactician.llm import AssistantMessage, SystemMessage, ToolResult, UserMessage, text_of
from tactician.process import Blackboard, UserInput, type_name
from tactician.process.inputs import Bound
from tactician.runs import Input, is_conversation, messages_of

_MESSAGES = (UserMessage, AssistantMessage, SystemMessage, ToolResult)


def objects_of(input: Input) -> tuple[object, ...]:
    """The objects of an input: a tuple is several, if it is no conversation."""
    several = type(input) is tuple and not is_conversation(input)  # a NamedTuple is one object
    return cast("tuple[object, ...]", input) if several else (input,)


def put_onto(board: Blackboard, objects: Sequence[object], types: Mapping[str, type]) -> None:
    """Adds objects to the blackboard of an agent that knows certain types. Named ones are added as they are."""
    for given in objects:
        if isinstance(given, Bound):
            board.add(given.value, given.binding)
            continue
        for value in _as_objects(given, types):
            board.add(value)


def _as_objects(value: object, types: Mapping[str, type]) -> Sequence[object]:
    """Text as a `UserInput`. Messages stay what they are only for an agent that takes such."""
    if isinstance(value, str):
        return [UserInput(value)]
    if not isinstance(value, _MESSAGES) and not is_conversation(value):
        return [value]
    messages = messages_of(value)
    taken = [message for message in messages if type_name(type(message)) in types]
    return taken if taken and taken[-1] is messages[-1] else [UserInput(text_of(messages))]
