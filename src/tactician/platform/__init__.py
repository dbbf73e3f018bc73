"""Registered agents, their configuration, the choice of an agent by its result type, and views of runs."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.errors import Ranked as Ranked
    from tactician.platform.autonomy import AgentChoice as AgentChoice
    from tactician.platform.autonomy import Autonomy as Autonomy
    from tactician.platform.autonomy import Mode as Mode
    from tactician.platform.conversations import Conversations as Conversations
    from tactician.platform.conversations import Picture as Picture
    from tactician.platform.conversations import Request as Request
    from tactician.platform.conversations import RequestOptions as RequestOptions
    from tactician.platform.conversations import Requests as Requests
    from tactician.platform.conversations import Role as Role
    from tactician.platform.conversations import create_message as create_message
    from tactician.platform.conversations import create_model_agent as create_model_agent
    from tactician.platform.conversations import create_request as create_request
    from tactician.platform.conversations import read_picture as read_picture
    from tactician.platform.enqueue_options import EnqueueOptions as EnqueueOptions
    from tactician.platform.follow import RunClient as RunClient
    from tactician.platform.follow import has_rested as has_rested
    from tactician.platform.goal_tools import GoalTool as GoalTool
    from tactician.platform.host.feed import EventFeed as EventFeed
    from tactician.platform.host.feed import FeedEntry as FeedEntry
    from tactician.platform.host.host import Host as Host
    from tactician.platform.host.host import HostState as HostState
    from tactician.platform.host.meter import METER_SPAN as METER_SPAN
    from tactician.platform.host.meter import ModelMeter as ModelMeter
    from tactician.platform.host.meter import UsePoint as UsePoint
    from tactician.platform.platform import Platform as Platform
    from tactician.platform.registry import GOALS as GOALS
    from tactician.platform.start_objects import list_start_types as list_start_types
    from tactician.platform.supervision import SupervisorInvocation as SupervisorInvocation
    from tactician.platform.views import ObjectView as ObjectView
    from tactician.platform.views import RecordedEvent as RecordedEvent
    from tactician.platform.views import RunComparison as RunComparison
    from tactician.platform.views import RunReader as RunReader
    from tactician.platform.views import RunTree as RunTree
    from tactician.platform.views import RunView as RunView
    from tactician.platform.views import StepView as StepView
    from tactician.platform.views import replay_events as replay_events
    from tactician.platform.worker import Worker as Worker
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.errors": "Ranked",
            "tactician.platform.autonomy": "AgentChoice Autonomy Mode",
            "tactician.platform.enqueue_options": "EnqueueOptions",
            "tactician.platform.follow": "RunClient has_rested",
            "tactician.platform.host.feed": "EventFeed FeedEntry",
            "tactician.platform.host.meter": "METER_SPAN ModelMeter UsePoint",
            "tactician.platform.host.host": "Host HostState",
            "tactician.platform.registry": "GOALS",
            "tactician.platform.platform": "Platform",
            "tactician.platform.goal_tools": "GoalTool",
            "tactician.platform.conversations": (
                "Conversations Picture Request RequestOptions Requests Role create_message create_model_agent "
                "create_request read_picture"
            ),
            "tactician.platform.start_objects": "list_start_types",
            "tactician.platform.supervision": "SupervisorInvocation",
            "tactician.platform.views": (
                "ObjectView RecordedEvent RunComparison RunReader RunTree RunView StepView replay_events"
            ),
            "tactician.platform.worker": "Worker",
        },
    )
