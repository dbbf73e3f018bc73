"""Ensembles, agents and tools as services: nodes offer their work, and callers ask for it."""

from tactician.mesh.calls import CallOptions, RemoteTaskRunnable, RemoteTools, Ticket
from tactician.mesh.directory import Directory
from tactician.mesh.events import RequestAccepted, RequestCompleted, RequestRejected, RequestSent
from tactician.mesh.mesh import Mesh
from tactician.mesh.messages import Delivery, NodeCard, Priority
from tactician.mesh.nodes import Node, NodeState

__all__ = [
    "Mesh",
    "Node",
    "NodeState",
    "NodeCard",
    "Delivery",
    "Priority",
    "Ticket",
    "CallOptions",
    "RemoteTaskRunnable",
    "RemoteTools",
    "Directory",
    "RequestSent",
    "RequestAccepted",
    "RequestRejected",
    "RequestCompleted",
]
