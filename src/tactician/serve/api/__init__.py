"""HTTP API of a platform: REST and server-sent events, with an OpenAPI document."""

from tactician.serve.api.agents import find_runnable, read_agent_input
from tactician.serve.api.application import api_routes, create_application
from tactician.serve.api.forms.visibility import sees_run
from tactician.serve.api.serving.guard import Callers, RequestLimits
from tactician.serve.api.serving.operations import ApiOperation, Call
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.api.serving.sse import COMMENT
from tactician.serve.api.serving.time_limit import lift_time_limit
from tactician.serve.problems import ApiError

__all__ = [
    "ApiServer",
    "ApiOperation",
    "ApiError",
    "Call",
    "Callers",
    "COMMENT",
    "api_routes",
    "create_application",
    "find_runnable",
    "lift_time_limit",
    "read_agent_input",
    "RequestLimits",
    "sees_run",
]
