"""Traces: the tree of all that a run did, made from its events, and its exports."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.trace.capture import Recorder as Recorder
    from tactician.trace.trace import Trace as Trace
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.trace.capture": "Recorder",
            "tactician.trace.trace": "Trace",
        },
    )
