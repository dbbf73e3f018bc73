"""Conversion between messages and the protobuf types of A2A, which only this layer sees."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Final, cast

from a2a.types import Message, Part, Role, TaskState
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message as ProtobufMessage
from google.protobuf.struct_pb2 import Struct, Value
from pydantic import JsonValue

from tactician.a2a.messages import A2aData, A2aMessage, A2aPart
from tactician.llm import Document, Image, Text

JsonObject = dict[str, JsonValue]
_EXACT: Final = 2**53
_BYTES: Final = "application/octet-stream"


def to_json_object(message: ProtobufMessage) -> JsonObject:
    """Return a protobuf message as JSON."""
    return cast("JsonObject", MessageToDict(message))


def to_wire_part(part: A2aPart) -> Part:
    """Return a part in its protobuf form."""
    match part:
        case Text():
            return Part(text=part.text, media_type="text/plain")
        case A2aData():
            return Part(data=_to_value(part.value), media_type="application/json")
    name = part.name if isinstance(part, Document) else ""
    if part.url is not None:
        return Part(url=part.url, media_type=part.media_type, filename=name)
    return Part(raw=base64.b64decode(part.data or ""), media_type=part.media_type, filename=name)


def from_wire_part(part: Part) -> A2aPart:
    """Return the part that a protobuf form means."""
    match part.WhichOneof("content"):
        case "text":
            return Text(part.text)
        case "data":
            return A2aData(restore_whole_numbers(MessageToDict(part.data)))
    url = part.url or None
    data = None if url else base64.b64encode(part.raw).decode()
    if part.media_type.startswith("image/"):
        return Image(url=url, data=data, media_type=part.media_type)
    return Document(url=url, data=data, media_type=part.media_type or _BYTES, name=part.filename or "document")


def to_wire_message(message: A2aMessage, role: Role, *, task_id: str = "") -> Message:
    """Return a message in its protobuf form."""
    return Message(
        message_id=message.message_id,
        context_id=message.context_id,
        task_id=task_id,
        role=role,
        parts=map(to_wire_part, message.parts),
        metadata=ParseDict(dict(message.metadata), Struct()) if message.metadata else None,
    )


def from_wire_message(message: Message) -> A2aMessage:
    """Return the message that a protobuf form means."""
    metadata = restore_whole_numbers(MessageToDict(message.metadata)) if message.HasField("metadata") else {}
    return A2aMessage(
        parts=from_wire_parts(message.parts),
        message_id=message.message_id,
        context_id=message.context_id,
        metadata=cast("Mapping[str, JsonValue]", metadata),
    )


def from_wire_parts(parts: Iterable[Part]) -> tuple[A2aPart, ...]:
    """Return the parts that protobuf forms mean."""
    return tuple(map(from_wire_part, parts))


def restore_whole_numbers(value: object) -> JsonValue:
    """Return JSON with whole numbers as integers: protobuf makes all numbers floats."""
    match value:
        case dict():
            return {str(key): restore_whole_numbers(item) for key, item in value.items()}
        case list():
            return [restore_whole_numbers(item) for item in value]
        case float() if value.is_integer() and abs(value) < _EXACT:
            return int(value)
    return cast("JsonValue", value)


def describe_state(state: TaskState) -> str:
    """Return the state of a task in words, such as `"input required"`."""
    return TaskState.Name(state).removeprefix("TASK_STATE_").lower().replace("_", " ")


def _to_value(value: JsonValue) -> Value:
    return ParseDict({"data": value}, Part()).data
