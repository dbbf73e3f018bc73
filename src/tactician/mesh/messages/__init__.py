"""Messages of a mesh: CloudEvents 1.0 in structured JSON, bounded, versioned and signed."""

from tactician.mesh.messages.asyncapi import create_asyncapi
from tactician.mesh.messages.bounds import JsonObject, MessageError, check_values
from tactician.mesh.messages.cards import CapabilityCard, CapabilityKind, CardQuery, NodeCard
from tactician.mesh.messages.codec import MESSAGES, Envelope, MessageCodec
from tactician.mesh.messages.directives import CommandData, DirectiveMessage, DirectiveReceipt, TopicEvent
from tactician.mesh.messages.message import MAX_BYTES, MeshMessage, ModelUsage, Priority
from tactician.mesh.messages.replies import (
    MeshReply,
    ProgressReport,
    RejectionReason,
    RequestAcceptance,
    RequestFailure,
    RequestRejection,
    StatusReport,
)
from tactician.mesh.messages.requests import (
    MAX_HOPS,
    BudgetLeft,
    Caching,
    Cancellation,
    Delivery,
    MeshRequest,
    RequestUser,
    StatusQuery,
)

__all__ = [
    "MeshMessage",
    "MessageCodec",
    "MessageError",
    "MESSAGES",
    "MAX_BYTES",
    "MAX_HOPS",
    "Envelope",
    "JsonObject",
    "Priority",
    "Delivery",
    "MeshRequest",
    "BudgetLeft",
    "Caching",
    "RequestUser",
    "Cancellation",
    "StatusQuery",
    "RequestAcceptance",
    "ProgressReport",
    "MeshReply",
    "ModelUsage",
    "RejectionReason",
    "RequestRejection",
    "RequestFailure",
    "StatusReport",
    "NodeCard",
    "CapabilityCard",
    "CapabilityKind",
    "CardQuery",
    "DirectiveMessage",
    "DirectiveReceipt",
    "CommandData",
    "TopicEvent",
    "check_values",
    "create_asyncapi",
]
