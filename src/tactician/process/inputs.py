"""What a process begins with: text, messages, objects, and objects under names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tactician.errors import ConfigurationError
from tactician.llm import AssistantMessage, SystemMessage, ToolResult, UserMessage, text_of
from tactician.process.blackboard import DEFAULT_BINDING, Blackboard, UserInput
from tactician.process.names import type_name
from tactician.process.spec import PlannedAgentSpec
from tactician.runs import is_conversation, messages_of

_MESSAGES = (UserMessage, AssistantMessage, SystemMessage, ToolResult)

Named: TypeAlias = Mapping[str, object]
"""Objects by the names under which they go onto a blackboard."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An object, and the name under which it goes onto the blackboard."""

    value: object
    binding: str


def with_named(objects: Iterable[object], named: Named | None) -> tuple[object, ...]:
    """What a process begins with: objects, and then those that have names.

    Raises:
        ConfigurationError: when one of the names is none.
    """
    known = named or {}
    for name in known:
        if not _is_name(name):
            raise ConfigurationError(f"{name!r} is no name for an object: use the name of a parameter")
    return (*objects, *(Bound(value, name) for name, value in known.items()))


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name != DEFAULT_BINDING


def add_inputs(board: Blackboard, objects: Sequence[object], agent: PlannedAgentSpec) -> None:
    """Add what a process of an agent begins with to its blackboard.

    Text becomes a `UserInput`, and so do messages, unless the agent takes messages: then text becomes one, if it takes
    no `UserInput`. Named objects are added as they are.
    """
    for given in objects:
        if isinstance(given, Bound):
            board.add(given.value, given.binding)
            continue
        for value in _as_objects(given, agent):
            board.add(value)


def _as_objects(value: object, agent: PlannedAgentSpec) -> Sequence[object]:
    """Return text as what it is to the agent. Messages stay messages only for an agent that takes them."""
    if isinstance(value, str):
        return [_as_input(value, agent)]
    if not isinstance(value, _MESSAGES) and not is_conversation(value):
        return [value]
    messages = messages_of(value)
    taken = [message for message in messages if type_name(type(message)) in agent.types]
    return taken if taken and taken[-1] is messages[-1] else [_as_input(text_of(messages), agent)]


def _as_input(text: str, agent: PlannedAgentSpec) -> UserInput | UserMessage:
    """Return text as a `UserInput`; as a message for an agent whose actions take messages, and no `UserInput`."""
    taken = {kind for one in agent.actions for kind in (*one.input_types, *one.optional_types, one.trigger) if kind}
    takes_messages = UserMessage in taken and not any(issubclass(UserInput, kind) for kind in taken)
    return UserMessage(text) if takes_messages else UserInput(text)
