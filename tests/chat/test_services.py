"""Chatbots behind an `AgentService`, and over the restart of a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tactician import AgentService, OperationContext, Platform, ProcessStatus, UserMessage, action, component
from tactician.chat import Chatbot
from tactician.conversation import Conversation
from tactician.errors import ConversationNotFoundError
from tactician.events import Event
from tactician.process import MessageSent, ProgressReported
from tactician.runs import RunCompleted
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel


@component
class Counter:
    @action(trigger=UserMessage, can_rerun=True)
    def count(self, conversation: Conversation, context: OperationContext) -> None:
        context.report_progress("counting")
        context.send(f"{len(conversation)} messages")


def create_service(path: Path) -> AgentService:
    platform = Platform(ScriptedModel(), store=SqliteStore(path)).register(Counter())
    return AgentService(platform.register(Chatbot(platform, name="counter bot")))


async def test_a_request_goes_to_the_session_of_its_conversation(tmp_path: Path) -> None:
    service = create_service(tmp_path / "chats.db")
    async with service.platform:
        first = await service.request_agent("counter_bot", "a", conversation_id="talk")
        second = await service.request_agent("counter_bot", "b", conversation_id="talk")
        assert (first.output, second.output) == ("1 messages", "3 messages")
        assert first.run_id == second.run_id
        assert second.status is ProcessStatus.RESTING
        assert len(await service.conversation("talk")) == 4
        await service.delete_conversation("talk")
        with pytest.raises(ConversationNotFoundError):
            await service.conversation("talk")
        assert (await service.request_agent("counter_bot", "c", conversation_id="talk")).output == "1 messages"


async def test_messages_and_progress_are_streamed(tmp_path: Path) -> None:
    service = create_service(tmp_path / "chats.db")
    async with service.platform:
        events: list[Event] = [event async for event in service.stream_agent("counter_bot", "a", conversation_id="t")]
        assert [event.text for event in events if isinstance(event, ProgressReported)] == ["counting"]
        assert [event.message.text for event in events if isinstance(event, MessageSent)] == ["1 messages"]
        assert isinstance(events[-1], RunCompleted)


async def test_a_session_is_continued_after_a_restart(tmp_path: Path) -> None:
    for expected in (1, 3, 5):
        service = create_service(tmp_path / "chats.db")
        async with service.platform:
            bot = service.agents["counter_bot"]
            assert isinstance(bot, Chatbot)
            session = await bot.session("alice", id="talk")
            assert (await session.send("hi")).text == f"{expected} messages"
