"""Ensembles, agents and tools as services: nodes offer their work, and callers ask for it."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.mesh.calls.policies import Retries as Retries
    from tactician.mesh.calls.policies import sticky as sticky
    from tactician.mesh.events import BreakerClosed as BreakerClosed
    from tactician.mesh.events import BreakerOpened as BreakerOpened
    from tactician.mesh.events import DirectiveReceived as DirectiveReceived
    from tactician.mesh.events import FallbackUsed as FallbackUsed
    from tactician.mesh.events import NodeJoined as NodeJoined
    from tactician.mesh.events import NodeLeft as NodeLeft
    from tactician.mesh.events import NodeMeasured as NodeMeasured
    from tactician.mesh.events import ReplyReused as ReplyReused
    from tactician.mesh.events import RequestAccepted as RequestAccepted
    from tactician.mesh.events import RequestCompleted as RequestCompleted
    from tactician.mesh.events import RequestProgressed as RequestProgressed
    from tactician.mesh.events import RequestRejected as RequestRejected
    from tactician.mesh.events import RequestResent as RequestResent
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
            "tactician.mesh.calls.policies": "Retries sticky",
            "tactician.mesh.events": (
                "BreakerClosed BreakerOpened DirectiveReceived FallbackUsed NodeJoined NodeLeft NodeMeasured "
                "ReplyReused RequestAccepted RequestCompleted RequestProgressed RequestRejected RequestResent "
                "RequestSent RequestStarted ScheduleFired WorkAnswered"
            ),
            "tactician.mesh.mesh": "Mesh",
            "tactician.mesh.messages.message": "Priority",
            "tactician.mesh.messages.requests": "Delivery",
            "tactician.mesh.nodes.node": "Node",
        },
    )
