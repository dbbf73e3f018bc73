"""Conversations of a platform: requests to agents and models, alone or in one, and processes that take part in one."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.platform.conversations.answering import Requests as Requests
    from tactician.platform.conversations.conversations import Conversations as Conversations
    from tactician.platform.conversations.conversations import Role as Role
    from tactician.platform.conversations.conversations import create_message as create_message
    from tactician.platform.conversations.open_conversation import OpenConversation as OpenConversation
    from tactician.platform.conversations.pictures import Picture as Picture
    from tactician.platform.conversations.pictures import read_picture as read_picture
    from tactician.platform.conversations.preceding_run import PrecedingRun as PrecedingRun
    from tactician.platform.conversations.process_conversations import ProcessConversations as ProcessConversations
    from tactician.platform.conversations.request import Request as Request
    from tactician.platform.conversations.request import RequestOptions as RequestOptions
    from tactician.platform.conversations.request import create_model_agent as create_model_agent
    from tactician.platform.conversations.request import create_request as create_request
    from tactician.platform.conversations.targets import find_model_agent as find_model_agent
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.platform.conversations.answering": "Requests",
            "tactician.platform.conversations.conversations": "Conversations Role create_message",
            "tactician.platform.conversations.open_conversation": "OpenConversation",
            "tactician.platform.conversations.pictures": "Picture read_picture",
            "tactician.platform.conversations.preceding_run": "PrecedingRun",
            "tactician.platform.conversations.process_conversations": "ProcessConversations",
            "tactician.platform.conversations.request": "Request RequestOptions create_model_agent create_request",
            "tactician.platform.conversations.targets": "find_model_agent",
        },
    )
