"""Traces: the tree of all that a run did, made from its events, and its exports."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.secrets import Masking as Masking
    from tactician.trace.capture import CaptureMode as CaptureMode
    from tactician.trace.capture import Recorder as Recorder
    from tactician.trace.event_forms import CONTENT_NAME as CONTENT_NAME
    from tactician.trace.event_forms import name_content as name_content
    from tactician.trace.event_forms import write_event as write_event
    from tactician.trace.node import ModelUse as ModelUse
    from tactician.trace.node import TraceNode as TraceNode
    from tactician.trace.node import TraceNote as TraceNote
    from tactician.trace.node import TracePause as TracePause
    from tactician.trace.node import merge_uses as merge_uses
    from tactician.trace.sharing import mask_nodes as mask_nodes
    from tactician.trace.trace import Trace as Trace
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.trace.capture": "CaptureMode Recorder",
            "tactician.trace.event_forms": "CONTENT_NAME name_content write_event",
            "tactician.secrets": "Masking",
            "tactician.trace.node": "ModelUse TraceNode TraceNote TracePause merge_uses",
            "tactician.trace.sharing": "mask_nodes",
            "tactician.trace.trace": "Trace",
        },
    )
