"""Ensembles, agents and tools as services: nodes offer their work, and callers ask for it."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.mesh.calls import MeshCallOptions as MeshCallOptions
    from tactician.mesh.calls import RemoteTaskRunnable as RemoteTaskRunnable
    from tactician.mesh.calls import RemoteTools as RemoteTools
    from tactician.mesh.calls import Ticket as Ticket
    from tactician.mesh.directory import Directory as Directory
    from tactician.mesh.events import RequestAccepted as RequestAccepted
    from tactician.mesh.events import RequestCompleted as RequestCompleted
    from tactician.mesh.events import RequestRejected as RequestRejected
    from tactician.mesh.events import RequestSent as RequestSent
    from tactician.mesh.mesh import Mesh as Mesh
    from tactician.mesh.messages import Delivery as Delivery
    from tactician.mesh.messages import NodeCard as NodeCard
    from tactician.mesh.messages import Priority as Priority
    from tactician.mesh.messages import create_asyncapi as create_asyncapi
    from tactician.mesh.nodes import Node as Node
    from tactician.mesh.nodes import NodeState as NodeState
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.mesh.calls": "MeshCallOptions RemoteTaskRunnable RemoteTools Ticket",
            "tactician.mesh.directory": "Directory",
            "tactician.mesh.events": "RequestAccepted RequestCompleted RequestRejected RequestSent",
            "tactician.mesh.mesh": "Mesh",
            "tactician.mesh.messages": "Delivery NodeCard Priority create_asyncapi",
            "tactician.mesh.nodes": "Node NodeState",
        },
    )
