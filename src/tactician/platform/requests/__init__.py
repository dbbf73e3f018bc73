"""Requests to agents and models, alone or in conversations: each is a run."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.platform.requests.answering import Requests as Requests
    from tactician.platform.requests.conversations import Conversations as Conversations
    from tactician.platform.requests.conversations import Role as Role
    from tactician.platform.requests.conversations import create_message as create_message
    from tactician.platform.requests.open_conversation import OpenConversation as OpenConversation
    from tactician.platform.requests.pictures import Picture as Picture
    from tactician.platform.requests.pictures import read_picture as read_picture
    from tactician.platform.requests.preceding_run import PrecedingRun as PrecedingRun
    from tactician.platform.requests.request import Request as Request
    from tactician.platform.requests.request import RequestOptions as RequestOptions
    from tactician.platform.requests.request import create_model_agent as create_model_agent
    from tactician.platform.requests.request import create_request as create_request
    from tactician.platform.requests.targets import find_model_agent as find_model_agent
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.platform.requests.answering": "Requests",
            "tactician.platform.requests.conversations": "Conversations Role create_message",
            "tactician.platform.requests.open_conversation": "OpenConversation",
            "tactician.platform.requests.pictures": "Picture read_picture",
            "tactician.platform.requests.preceding_run": "PrecedingRun",
            "tactician.platform.requests.request": "Request RequestOptions create_model_agent create_request",
            "tactician.platform.requests.targets": "find_model_agent",
        },
    )
