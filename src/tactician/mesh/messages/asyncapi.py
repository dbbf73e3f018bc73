"""AsyncAPI 3 document of the messages (https://www.asyncapi.com)."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue
from pydantic.json_schema import models_json_schema

from tactician.mesh.messages.bounds import JsonObject
from tactician.mesh.messages.codec import MESSAGES, VERSION
from tactician.mesh.messages.message import MAX_BYTES, MeshMessage

_CHANNELS: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "work": ("{node}", "Queue of a node: requests, and what concerns them.", ("request", "cancel", "query")),
    "replies": ("{caller}", "Queue of a caller.", ("accepted", "progress", "reply", "status", "directive-receipt")),
    "cards": ("tactician.cards", "Topic of the cards of all nodes.", ("card", "who")),
    "directives": ("tactician.directives", "Topic of the directives.", ("directive",)),
    "events": ("{topic}", "Topic that programs choose.", ("event",)),
}
_ENVELOPE: Final[JsonObject] = {
    "specversion": {"const": "1.0"},
    "id": {"type": "string", "minLength": 1, "maxLength": 300},
    "source": {"type": "string", "description": "The node or client that sends, as `/tactician/kitchen`."},
    "time": {"type": "string", "format": "date-time"},
    "expirytime": {"type": "string", "format": "date-time"},
    "datacontenttype": {"const": "application/json"},
    "traceparent": {"type": "string", "description": "W3C trace context."},
    "tracestate": {"type": "string"},
    "keyid": {"type": "string", "description": "Name of the key of the signature."},
    "signature": {
        "type": "string",
        "description": "HMAC-SHA256, in hexadecimal digits, of all other attributes as JSON with its names in order, "
        "without spaces, in UTF-8.",
    },
}


def create_asyncapi() -> JsonObject:
    """Return the AsyncAPI 3 document of all messages and channels."""
    _, schemas = models_json_schema(
        [(kind, "validation") for kind in MESSAGES.values()], by_alias=True, ref_template="#/components/schemas/{model}"
    )
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tactician mesh",
            "version": VERSION.removeprefix("v") + ".0.0",
            "description": f"Messages are CloudEvents 1.0 in structured JSON, of at most {MAX_BYTES:,} bytes.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/cloudevents+json",
        "channels": {name: _describe_channel(*channel) for name, channel in _CHANNELS.items()},
        "operations": _describe_operations(),
        "components": {
            "messages": {kind.EVENT: _describe_message(kind) for kind in MESSAGES.values()},
            "schemas": schemas["$defs"],
        },
    }


def _describe_channel(address: str, description: str, names: tuple[str, ...]) -> JsonValue:
    channel: JsonObject = {
        "address": address,
        "description": description,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
    }
    if address.startswith("{"):
        channel["parameters"] = {address[1:-1]: {"description": f"Name of the {address[1:-1]}."}}
    return channel


def _describe_operations() -> JsonObject:
    operations: JsonObject = {}
    for channel, (_, _, names) in _CHANNELS.items():
        for name in names:
            operations[f"send-{name}"] = {
                "action": "send",
                "channel": {"$ref": f"#/channels/{channel}"},
                "messages": [{"$ref": f"#/channels/{channel}/messages/{name}"}],
            }
    return operations


def _describe_message(kind: type[MeshMessage]) -> JsonValue:
    properties = _ENVELOPE | {
        "type": {"const": f"tactician.{kind.EVENT}.{VERSION}"},
        "data": {"$ref": f"#/components/schemas/{kind.__name__}"},
    }
    return {
        "name": kind.EVENT,
        "contentType": "application/cloudevents+json",
        "summary": (kind.__doc__ or "").partition("\n")[0],
        "payload": {
            "type": "object",
            "required": ["specversion", "id", "source", "type", "time", "data"],
            "properties": properties,
        },
    }
