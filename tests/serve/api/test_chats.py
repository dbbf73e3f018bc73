"""Chats with agents over HTTP."""

from __future__ import annotations

from tactician import OperationContext, Planner, Platform, UserMessage, action, planned_agent
from tactician.conversation import Conversation
from tactician.stores import MemoryStore
from tests.serve.api.serving import create_platform, served


@planned_agent(name="Concierge", description="Knows the hotel", planner=Planner.UTILITY)
class Concierge:
    @action(trigger=UserMessage, can_rerun=True)
    async def answer(self, message: UserMessage, conversation: Conversation, context: OperationContext) -> None:
        context.send(f"{len(conversation)}: {message.text}")


async def test_a_planned_agent_that_reacts_to_messages_chats() -> None:
    async with served(Platform(store=MemoryStore()).register(Concierge())) as client:
        shown = (await client.get("/api/agents/concierge")).json()
        path, body = "/api/conversations/c1/messages", {"agent": "concierge"}
        texts = [(await client.post(path, json=body | {"message": text})).json()["text"] for text in ("Hi", "Bye")]
        messages = (await client.get("/api/conversations/c1")).json()["messages"]
        await client.delete("/api/conversations/c1")
        gone = await client.get("/api/conversations/c1")

    assert (shown["chats"], shown["takes_text"], shown["inputs"]) == (True, False, [])
    assert texts == ["1: Hi", "3: Bye"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2
    assert gone.status_code == 404


async def test_agents_say_whether_they_chat() -> None:
    async with served(create_platform()) as client:
        agents = (await client.get("/api/agents")).json()["agents"]

    assert {agent["id"]: agent["chats"] for agent in agents} == {
        "talker": True,
        "shop": False,
        "cashier": True,
        "slow": True,
        "newsroom": False,
    }
