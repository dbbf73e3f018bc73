"""Chatbots: sessions of many users, in which agents react to messages, and channels to these users."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.chat.channels import ChatProgress as ChatProgress
    from tactician.chat.channels import QueueChannel as QueueChannel
    from tactician.chat.chatbot import Chatbot as Chatbot
    from tactician.conversation import ChatUser as ChatUser
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.chat.channels": "ChatProgress QueueChannel",
            "tactician.chat.chatbot": "Chatbot",
            "tactician.conversation": "ChatUser",
        },
    )
