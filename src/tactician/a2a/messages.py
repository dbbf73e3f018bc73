"""Messages between the agents of different programs, in types of no protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Literal, TypeAlias, cast

from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.llm import Document, Image, Text, UserMessage
from tactician.llm.messages import UserPart, join_text
from tactician.runs import Input
from tactician.runs.runnable import is_conversation


@frozen
class A2aData:
    """Data in a message: any JSON."""

    value: JsonValue
    kind: Literal["data"] = "data"


A2aPart: TypeAlias = Text | Image | Document | A2aData


@frozen(kw_only=True)
class A2aMessage:
    """Message of an agent of another program, or to it.

    A published Runnable, or a goal, whose input is declared as this type gets the whole message. If its output is
    such a message, it replies without a task.

    Attributes:
        parts: texts, images, files and data.
        message_id: id that the sender has chosen.
        context_id: id of the conversation that it belongs to.
        metadata: what the sender adds, as JSON.
    """

    parts: tuple[A2aPart, ...]
    message_id: str = field(default_factory=new_id)
    context_id: str = ""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The texts, a line for each."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def data(self) -> JsonValue:
        """The first data, or `None`."""
        return next((part.value for part in self.parts if isinstance(part, A2aData)), None)

    @property
    def has_data(self) -> bool:
        """True when a part is data."""
        return any(isinstance(part, A2aData) for part in self.parts)

    def to_input(self) -> Input:
        """Return the message as the input of a Runnable: text, data, or a message with files."""
        if all(isinstance(part, Text) for part in self.parts):
            return self.text
        if len(self.parts) == 1 and self.has_data:
            return self.data
        return UserMessage(self.as_user_parts())

    def as_user_parts(self) -> tuple[UserPart, ...]:
        """Return the parts for a message to a model: data as JSON."""
        return tuple(map(_as_user_part, self.parts))


def create_parts(value: object) -> tuple[A2aPart, ...]:
    """Return any value as parts of a message: text as text, files as files, and any other object as data."""
    match value:
        case None:
            return ()
        case A2aMessage():
            return value.parts
        case str():
            return (Text(value),)
        case Text() | Image() | Document() | A2aData():
            return (value,)
        case UserMessage():
            return value.parts
        case list() | tuple() if value and all(isinstance(part, Text | Image | Document | A2aData) for part in value):
            return tuple(cast("Iterable[A2aPart]", value))
    if is_conversation(value):
        return (Text(join_text(value)),)
    return (A2aData(cast("JsonValue", to_jsonable_python(value, fallback=str))),)


def get_value(parts: Iterable[A2aPart]) -> object:
    """Return the parts of an answer as a program takes it: text, data, a file, or all parts."""
    all_parts = tuple(parts)
    if all(isinstance(part, Text) for part in all_parts):
        return "\n".join(part.text for part in all_parts if isinstance(part, Text))
    if len(all_parts) > 1:
        return all_parts
    return all_parts[0].value if isinstance(all_parts[0], A2aData) else all_parts[0]


def _as_user_part(part: A2aPart) -> UserPart:
    return Text(to_json(part.value).decode()) if isinstance(part, A2aData) else part
