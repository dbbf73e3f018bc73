"""Registered agents, their configuration, the choice of an agent by its result type, and views of runs."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.platform.autonomy import Autonomy as Autonomy
    from tactician.platform.conversations.request import Request as Request
    from tactician.platform.platform import Platform as Platform
    from tactician.platform.supervision import SupervisorInvocation as SupervisorInvocation
    from tactician.platform.views.reader import RunReader as RunReader
    from tactician.platform.views.replay import replay_events as replay_events
    from tactician.platform.views.runs import RunTree as RunTree
    from tactician.platform.views.runs import RunView as RunView
    from tactician.platform.worker import Worker as Worker
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.platform.autonomy": "Autonomy",
            "tactician.platform.conversations.request": "Request",
            "tactician.platform.platform": "Platform",
            "tactician.platform.supervision": "SupervisorInvocation",
            "tactician.platform.views.reader": "RunReader",
            "tactician.platform.views.replay": "replay_events",
            "tactician.platform.views.runs": "RunTree RunView",
            "tactician.platform.worker": "Worker",
        },
    )
