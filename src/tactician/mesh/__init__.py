"""Ensembles, agents and tools as services: nodes offer their work, and callers ask for it."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.mesh.events import DirectiveReceived as DirectiveReceived
    from tactician.mesh.events import NodeJoined as NodeJoined
    from tactician.mesh.events import NodeLeft as NodeLeft
    from tactician.mesh.events import NodeMeasured as NodeMeasured
    from tactician.mesh.events import RequestAccepted as RequestAccepted
    from tactician.mesh.events import RequestCompleted as RequestCompleted
    from tactician.mesh.events import RequestProgressed as RequestProgressed
    from tactician.mesh.events import RequestRejected as RequestRejected
    from tactician.mesh.events import RequestSent as RequestSent
    from tactician.mesh.events import RequestStarted as RequestStarted
    from tactician.mesh.events import ScheduleFired as ScheduleFired
    from tactician.mesh.events import WorkAnswered as WorkAnswered
    from tactician.mesh.mesh import Mesh as Mesh
    from tactician.mesh.messages.message import Priority as Priority
    from tactician.mesh.messages.requests import Delivery as Delivery
    from tactician.mesh.nodes.node import Node as Node
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.mesh.events": (
                "DirectiveReceived NodeJoined NodeLeft NodeMeasured RequestAccepted RequestCompleted "
                "RequestProgressed RequestRejected RequestSent RequestStarted ScheduleFired WorkAnswered"
            ),
            "tactician.mesh.mesh": "Mesh",
            "tactician.mesh.messages.message": "Priority",
            "tactician.mesh.messages.requests": "Delivery",
            "tactician.mesh.nodes.node": "Node",
        },
    )
