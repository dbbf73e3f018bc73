"""The list of conversations over HTTP."""

from __future__ import annotations

import httpx
import pytest

from tactician import Agent, Chatbot, OperationContext, Planner, Platform, UserMessage, action, planned_agent, tool
from tactician.conversation import Conversation, ConversationStore
from tactician.serve import Person
from tactician.stores import MemoryStore
from tactician.stores.document import StoredDocument
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import Json, served
from tests.support.stored import JsonStore

ANNA, BERT, CARL = "anna-has-a-secret", "bert-has-a-secret", "carl-has-a-secret"
PEOPLE = {
    ANNA: Person("anna", rights=frozenset({"start", "answer"})),
    BERT: Person("bert"),
    CARL: Person("carl", frozenset({"conversations"}), frozenset({"see"})),
}


@planned_agent(name="Echo", description="Repeats what people say", planner=Planner.UTILITY)
class Echo:
    @action(trigger=UserMessage, can_rerun=True)
    def answer(self, message: UserMessage, context: OperationContext) -> None:
        context.send(f"You said {message.text}.")


@tool(needs_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


@pytest.fixture(params=[MemoryStore, JsonStore])
def platform(request: pytest.FixtureRequest) -> Platform:
    platform = Platform(ScriptedModel(), store=request.param())
    clerk = Agent("Clerk", model=ScriptedModel(ToolCall("pay"), "Done."), tools=[pay])
    talker = Agent("Talker", model=ScriptedModel(*["Hello."] * 9))
    return platform.register(talker, clerk, Chatbot(platform, Echo(), name="Help desk"))


async def say(client: httpx.AsyncClient, token: str, agent: str, text: str, id: str, **more: str) -> Json:
    body = {"agent": agent, "message": text, **more}
    done = await client.post(f"/api/conversations/{id}/messages", json=body, headers=as_person(token))
    assert done.status_code == 200, done.text
    answer: Json = done.json()
    return answer


def as_person(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def read_list(client: httpx.AsyncClient, token: str, query: str = "") -> Json:
    done = await client.get(f"/api/conversations?{query}", headers=as_person(token))
    assert done.status_code == 200, done.text
    listed: Json = done.json()
    return listed


async def test_people_find_their_conversations_with_agent_title_and_what_waits(platform: Platform) -> None:
    async with served(platform, people=PEOPLE) as client:
        await say(client, ANNA, "talker", "Where is\n my order?", "a")
        waiting = await say(client, ANNA, "clerk", "Pay, please", "b")
        await say(client, ANNA, "help_desk", "Are you there?", "c")
        await say(client, BERT, "talker", "Hi", "d")
        own, others, all_of_them = [(await read_list(client, token))["conversations"] for token in (ANNA, BERT, CARL)]

    shown = [(entry["id"], entry["agent"], entry["title"], entry["waiting"]) for entry in own]
    assert shown == [
        ("c", "help_desk", "Are you there?", False),
        ("b", "clerk", "Pay, please", True),
        ("a", "talker", "Where is my order?", False),
    ]
    assert own[1]["run_id"] == waiting["run_id"]
    assert all(entry["changed_at"] > 0 for entry in own)
    assert [entry["id"] for entry in others] == ["d"]
    assert [entry["id"] for entry in all_of_them] == ["d", "c", "b", "a"]


async def test_the_list_has_pages_and_can_be_of_an_agent(platform: Platform) -> None:
    async with served(platform, people=PEOPLE) as client:
        for number in range(4):
            await say(client, ANNA, "talker", f"{number}", f"talk {number}")
            await say(client, ANNA, "help_desk", f"{number}", f"help {number}")
        first = await read_list(client, ANNA, "agent=talker&limit=3")
        last = await read_list(client, ANNA, f"agent=talker&limit=3&after={first['next']}")
        wrong = await client.get("/api/conversations?limit=many", headers=as_person(ANNA))

    assert [entry["title"] for entry in first["conversations"]] == ["3", "2", "1"]
    assert [entry["title"] for entry in last["conversations"]] == ["0"]
    assert (last["next"], wrong.status_code) == (None, 422)


async def test_a_conversation_of_an_earlier_version_is_in_the_list() -> None:
    store = JsonStore()
    old = Conversation([UserMessage("From long ago")], id="old")
    old.user = "anna"
    await store.save(StoredDocument(collection="conversations", id="old", body=old.to_json()))
    await store.save(StoredDocument(collection="conversations", id="broken", body="{}"))
    async with served(Platform(ScriptedModel(), store=store), people=PEOPLE) as client:
        own, others, all_of_them = [(await read_list(client, token))["conversations"] for token in (ANNA, BERT, CARL)]

    assert [(entry["title"], entry["agent"]) for entry in own] == [("From long ago", None)]
    assert others == []
    assert [entry["id"] for entry in all_of_them] == ["broken", "old"]


async def test_a_conversation_keeps_its_agent_and_title_when_it_grows() -> None:
    conversations = ConversationStore(JsonStore())
    conversation = Conversation([UserMessage("First")], id="c")
    conversation.agent = "talker"
    await conversations.save(conversation)
    conversation.insert(UserMessage("Second"))
    await conversations.save(conversation)
    (summary,) = await conversations.find_summaries()
    loaded = await conversations.load("c")
    assert (summary.title, summary.agent, summary.user) == ("First", "talker", None)
    assert loaded is not None
    assert (loaded.agent, len(loaded)) == ("talker", 2)


async def test_a_message_to_a_planned_agent_that_comes_again_with_its_key_is_one_message(platform: Platform) -> None:
    async with served(platform, people=PEOPLE) as client:
        first = await say(client, ANNA, "help_desk", "Hi", "c", idempotency_key="k")
        again = await say(client, ANNA, "help_desk", "Hi", "c", idempotency_key="k")
        other = await say(client, ANNA, "help_desk", "Hi", "c", idempotency_key="other")
        shown = await client.get("/api/conversations/c", headers=as_person(ANNA))

    assert first["text"] == again["text"] == other["text"] == "You said Hi."
    assert [message["role"] for message in shown.json()["messages"]] == ["user", "assistant"] * 2
    assert shown.json()["run_id"] == first["run_id"]
