"""Chatbots of planned agents whose actions react to messages, for those who name the agent itself."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tactician.agents.planned.specs import planned_spec
from tactician.chat.chatbot import Chatbot
from tactician.llm import UserMessage
from tactician.platform import Platform
from tactician.runs import Runnable


class ReactiveChatbots:
    """The chatbots of a platform, each made when it is first looked for."""

    def __init__(self) -> None:
        self._chatbots: WeakKeyDictionary[Runnable, Chatbot] = WeakKeyDictionary()

    def find(self, platform: Platform, agent: Runnable) -> Chatbot | None:
        """Return the chatbot of an agent: itself, or one made of a planned agent that reacts to messages; or `None`."""
        if isinstance(agent, Chatbot):
            return agent
        if not reacts_to_messages(agent):
            return None
        if (chatbot := self._chatbots.get(agent)) is None:
            chatbot = self._chatbots[agent] = Chatbot(platform, agent)
        return chatbot


def find_chatbot(platform: Platform, agent: Runnable) -> Chatbot | None:
    """Return the chatbot that talks for an agent; `None` for one that answers each message by itself.

    A planned agent whose actions have triggers has a process for each conversation, which rests between messages.
    """
    return platform.services.find(ReactiveChatbots).find(platform, agent)


def reacts_to_messages(agent: Runnable) -> bool:
    """Return whether the messages of a conversation trigger actions of an agent."""
    spec = planned_spec(agent)
    return spec is not None and any(action.trigger is UserMessage for action in spec.actions)
