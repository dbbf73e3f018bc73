"""Requests to agents and models, alone or in conversations: each is a run."""

from tactician.platform.requests.answering import RUN_NAME, Requests
from tactician.platform.requests.conversations import Conversations, Role, create_message
from tactician.platform.requests.pictures import Picture, read_picture
from tactician.platform.requests.request import Request, RequestOptions, create_model_agent, create_request
from tactician.platform.requests.targets import find_model_agent

__all__ = [
    "Conversations",
    "Picture",
    "RUN_NAME",
    "Request",
    "RequestOptions",
    "Requests",
    "Role",
    "create_message",
    "create_model_agent",
    "create_request",
    "find_model_agent",
    "read_picture",
]
