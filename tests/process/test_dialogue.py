"""Messages of a process in its conversation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from typing_extensions import override

from tactician import (
    OperationContext,
    Platform,
    ProcessOptions,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.conversation import ConversationStore
from tactician.stores import MemoryStore
from tactician.stores.document import Body, StoredDocument
from tactician.testing import ScriptedModel


@dataclass
class News:
    text: str


@dataclass
class Weather:
    text: str


@dataclass
class Report:
    text: str


class SlowStore(MemoryStore):
    """Store that begins to save the first answer, and ends once another answer was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.is_armed = False
        self.is_saving, self.may_save = asyncio.Event(), asyncio.Event()

    @override
    async def add_step(self, document: StoredDocument, body: Body) -> StoredDocument:
        if self.is_armed:
            self.is_saving.set()
            await self.may_save.wait()
        return await super().add_step(document, body)


@planned_agent(description="reports")
class Reporter:
    def __init__(self, store: SlowStore) -> None:
        self._store = store

    @action
    async def read_news(self, topic: UserInput, context: OperationContext) -> News:
        context.send("news")
        self._store.is_armed = True
        return News(topic.content)

    @action
    async def read_weather(self, topic: UserInput, context: OperationContext) -> Weather:
        await self._store.is_saving.wait()
        context.send("weather")
        self._store.may_save.set()
        return Weather(topic.content)

    @achieves_goal("reported")
    @action
    async def report(self, news: News, weather: Weather) -> Report:
        return Report(f"{news.text} {weather.text}")


async def test_a_message_that_is_sent_while_another_is_saved_is_saved_too() -> None:
    store = SlowStore()
    platform = Platform(ScriptedModel(), store=store)
    options = ProcessOptions(conversation_id="c", max_parallel=2)
    async with asyncio.timeout(30):
        await platform.start(Reporter(store), "today", options=options)
    conversation = await ConversationStore(store).load("c")
    assert conversation is not None
    assert [message.text for message in conversation.messages] == ["today", "news", "weather"]
