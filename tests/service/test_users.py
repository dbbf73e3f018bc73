"""Users of requests: their conversations are theirs, and whoever continues their runs knows them."""

from __future__ import annotations

import pytest

from tactician import Agent, AgentService, Platform, RunContext, approve, tool
from tactician.conversation import ChatUser
from tactician.errors import ConversationNotFoundError
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore

ALICE = ChatUser("alice", attributes={"language": "en"})


@tool(needs_approval=True)
def who(context: RunContext) -> str:
    """Say who asks."""
    user = context.find(ChatUser)
    return "nobody" if user is None else f"{user.id} {user.attributes}"


def create_service(store: MemoryStore, *script: object) -> AgentService:
    agent = Agent("Asker", model=ScriptedModel(*script), tools=[who])
    return AgentService(Platform(ScriptedModel(), store=store).register(agent))


@pytest.mark.parametrize("conversation_id", [None, "talk"])
async def test_whoever_resumes_a_request_knows_its_user(conversation_id: str | None) -> None:
    store = JsonStore()
    first, second = create_service(store, ToolCall("who")), create_service(store, "Done.")
    waiting = await first.request_agent("asker", "Who?", user=ALICE, conversation_id=conversation_id)
    result = await second.resume(waiting.run_id, {waiting.pending[0].id: approve()})

    assert "alice {'language': 'en'}" in [message.text for message in result.messages]


async def test_a_conversation_is_found_by_its_user_only() -> None:
    service = create_service(MemoryStore(), "Hi.", "Again.")
    await service.request_agent("asker", "Hello", user=ALICE, conversation_id="talk")
    with pytest.raises(ConversationNotFoundError):
        await service.request_agent("asker", "Hello", user=ChatUser("bob"), conversation_id="talk")
    assert (await service.conversation("talk")).user == "alice"
    assert (await service.request_agent("asker", "Hello", conversation_id="talk")).output == "Again."
