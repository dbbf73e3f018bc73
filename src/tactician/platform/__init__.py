"""Registered agents, their configuration, the choice of an agent by its result type, and views of runs."""

from tactician.errors import Ranked
from tactician.platform.autonomy import Autonomy
from tactician.platform.event_replay import replay_events
from tactician.platform.platform import Platform
from tactician.platform.publishing import GOALS, GoalTool
from tactician.platform.read_model import RunReader
from tactician.platform.requests import (
    Conversations,
    Picture,
    Request,
    RequestOptions,
    Requests,
    Role,
    create_message,
    create_model_agent,
    create_request,
    read_picture,
)
from tactician.platform.run_views import ObjectView, RunTree, RunView
from tactician.platform.running import EnqueueOptions
from tactician.platform.starting import list_start_types
from tactician.platform.step_views import RunComparison, StepView
from tactician.platform.supervision import SupervisorInvocation
from tactician.platform.worker import Worker

__all__ = [
    "Autonomy",
    "Conversations",
    "EnqueueOptions",
    "GOALS",
    "GoalTool",
    "ObjectView",
    "Picture",
    "Platform",
    "Ranked",
    "Request",
    "RequestOptions",
    "Requests",
    "Role",
    "RunComparison",
    "RunReader",
    "RunTree",
    "RunView",
    "StepView",
    "list_start_types",
    "SupervisorInvocation",
    "Worker",
    "create_message",
    "create_model_agent",
    "create_request",
    "read_picture",
    "replay_events",
]
