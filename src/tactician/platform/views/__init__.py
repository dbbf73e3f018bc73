"""Views of runs, for people, dashboards and other programs: runs, their steps, their events and their traces."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.platform.views.reader import RunReader as RunReader
    from tactician.platform.views.recorded_events import RecordedEvent as RecordedEvent
    from tactician.platform.views.replay import replay_events as replay_events
    from tactician.platform.views.runs import ObjectView as ObjectView
    from tactician.platform.views.runs import RunTree as RunTree
    from tactician.platform.views.runs import RunView as RunView
    from tactician.platform.views.steps import RunComparison as RunComparison
    from tactician.platform.views.steps import StepView as StepView
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.platform.views.reader": "RunReader",
            "tactician.platform.views.recorded_events": "RecordedEvent",
            "tactician.platform.views.replay": "replay_events",
            "tactician.platform.views.runs": "ObjectView RunTree RunView",
            "tactician.platform.views.steps": "RunComparison StepView",
        },
    )
