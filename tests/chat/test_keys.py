"""Messages to chatbots of planned agents that are sent twice with the same key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tactician import Chatbot, OperationContext, Planner, Platform, UserMessage, action, planned_agent
from tactician.chat import replies
from tactician.process import ProcessFailedError
from tactician.stores import DocumentStore, MemoryStore
from tests.support.stored import JsonStore

STORES = pytest.mark.parametrize("create_store", [MemoryStore, JsonStore])


@planned_agent(name="Counter", description="Counts what people say", planner=Planner.UTILITY)
class Counter:
    def __init__(self) -> None:
        self.heard: list[str] = []

    @action(trigger=UserMessage, can_rerun=True)
    async def answer(self, message: UserMessage, context: OperationContext) -> None:
        self.heard.append(message.text)
        await asyncio.sleep(0)
        if message.text == "fail":
            raise ValueError("the till is locked")
        context.send(f"Number {len(self.heard)}.")


def create_bot(store: DocumentStore, agent: Counter) -> Chatbot:
    platform = Platform(store=store).register(agent)
    return Chatbot(platform, "Counter")


@STORES
async def test_a_message_that_comes_again_gets_the_first_reply(create_store: Callable[[], DocumentStore]) -> None:
    agent, store = Counter(), create_store()
    session = await create_bot(store, agent).session("anna", id="s")
    first = await session.send("hi", idempotency_key="k")
    await session.send("and now?")
    restarted = await create_bot(store, agent).session("anna", id="s")
    again = await restarted.send("hi", idempotency_key="k")
    assert (first.text, again.text, agent.heard) == ("Number 1.", "Number 1.", ["hi", "and now?"])
    assert len(restarted.conversation) == 4


@STORES
async def test_the_same_message_at_the_same_moment_is_one(create_store: Callable[[], DocumentStore]) -> None:
    agent, store = Counter(), create_store()
    sessions = [await create_bot(store, agent).session("anna", id="s") for _ in range(2)]
    sent = await asyncio.gather(*[session.send("hi", idempotency_key="k") for session in sessions * 2])
    assert {reply.text for reply in sent} == {"Number 1."}
    assert agent.heard == ["hi"]


async def test_a_failure_is_repeated_and_the_message_is_not() -> None:
    agent = Counter()
    session = await create_bot(JsonStore(), agent).session("anna", id="s")
    for _ in range(2):
        with pytest.raises(ProcessFailedError, match="the till is locked"):
            await session.send("fail", idempotency_key="k")
    assert agent.heard == ["fail"]


async def test_a_reply_that_was_not_noted_before_a_crash_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, store = Counter(), JsonStore()
    session = await create_bot(store, agent).session("anna", id="s")
    complete = replies.KeyedReplies.complete

    async def die(self: replies.KeyedReplies, reply: replies.KeyedReply, **outcome: object) -> None:
        await self.leave(reply)  # as when its lease has expired
        raise ConnectionResetError

    monkeypatch.setattr(replies.KeyedReplies, "complete", die)
    with pytest.raises(ConnectionResetError):
        await session.send("hi", idempotency_key="k")
    monkeypatch.setattr(replies.KeyedReplies, "complete", complete)
    restarted = await create_bot(store, agent).session("anna", id="s")
    assert (await restarted.send("hi", idempotency_key="k")).text == "Number 1."
    assert agent.heard == ["hi"]


async def test_a_session_that_is_forgotten_takes_its_replies_along() -> None:
    agent, store = Counter(), JsonStore()
    bot = create_bot(store, agent)
    await (await bot.session("anna", id="s")).send("hi", idempotency_key="k")
    await bot.forget("s")
    assert await store.list_ids("chat replies") == []
    await (await bot.session("anna", id="s")).send("hi", idempotency_key="k")
    assert agent.heard == ["hi", "hi"]
