"""Directives: guidance and commands for nodes, with a time to live. And events of topics."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from tactician.mesh.messages.message import MeshMessage, MessagePart, Moment, Name, Names, Text
from tactician.mesh.messages.requests import RequestId


class CommandData(MessagePart):
    """Command to a node.

    Attributes:
        action: name of the command, such as `"SetTier"`.
        value: its argument.
    """

    action: Name
    value: JsonValue = None


class DirectiveMessage(MeshMessage):
    """Directive to a node, a capability, a tag or a realm.

    Attributes:
        id: id of the directive.
        target: `"kitchen"`, `"tag:food"`, `"capability:prepare-meal"` or `"realm:downtown"`.
        sender: the person or rule that directs.
        text: guidance for agents.
        command: command, in place of guidance.
        created_at: time of the directive.
        expires_at: time from which it no longer holds; never, when `None`.
        is_withdrawn: true when the directive no longer holds.
    """

    EVENT: ClassVar[str] = "directive"

    id: RequestId
    target: Name = Field(validation_alias="to", serialization_alias="to")
    sender: Name = Field(validation_alias="from", serialization_alias="from")
    text: Text = ""
    command: CommandData | None = None
    created_at: Moment
    expires_at: Moment | None = None
    is_withdrawn: bool = False


class DirectiveReceipt(MeshMessage):
    """Acknowledgement of a directive by a node.

    Attributes:
        directive_id: id of the directive.
        node: the node.
        status: `"applied"` or `"refused"`.
        message: the reason, when it was refused.
    """

    EVENT: ClassVar[str] = "directive-receipt"

    directive_id: RequestId
    node: Name
    status: Literal["applied", "refused"]
    message: Text = ""


class TopicEvent(MeshMessage):
    """Event of a topic.

    Attributes:
        topic: name of the topic, such as `"hotel.deliveries"`.
        sender: the node or client that publishes it.
        value: the content.
        hops: nodes that have led to it, outermost first.
    """

    EVENT: ClassVar[str] = "event"

    topic: Name
    sender: Name = Field(validation_alias="from", serialization_alias="from")
    value: JsonValue = None
    hops: Names = ()
