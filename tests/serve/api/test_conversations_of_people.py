"""Conversations of people over HTTP: nobody finds those of others, and what works for a person knows the person."""

from __future__ import annotations

from dataclasses import dataclass

import httpx
import pytest

from tactician import (
    Agent,
    Chatbot,
    OperationContext,
    Planner,
    Platform,
    RunContext,
    UserMessage,
    action,
    planned_agent,
    tool,
)
from tactician.conversation import ChatUser
from tactician.rag import Library, RagTools, parse_markdown
from tactician.serve import Person
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import served
from tests.support.stored import JsonStore

ANNA, BERT, CARL = "anna-has-a-secret", "bert-has-a-secret", "carl-has-a-secret"
PEOPLE = {
    ANNA: Person("anna", rights=frozenset({"start", "answer"})),
    BERT: Person("bert"),
    CARL: Person("carl", frozenset({"conversations"}), frozenset({"see"})),
}


@dataclass(frozen=True)
class Favourite:
    food: str


@planned_agent(name="Waiter", description="Remembers what people like", planner=Planner.UTILITY)
class Waiter:
    @action(trigger=UserMessage, can_rerun=True)
    def note(
        self, message: UserMessage, user: ChatUser, known: Favourite | None, context: OperationContext
    ) -> Favourite:
        context.send(f"{user.id}: {known.food if known else 'nothing'}")
        return Favourite(message.text)


@tool
def who(context: RunContext) -> str:
    """Say who asks."""
    user = context.find(ChatUser)
    return "nobody" if user is None else user.id


def find_scope(context: RunContext) -> dict[str, str] | None:
    user = context.find(ChatUser)
    return None if user is None else {"reader": user.id}


def as_person(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def say(client: httpx.AsyncClient, token: str, agent: str, text: str, conversation: str = "c") -> httpx.Response:
    body = {"agent": agent, "message": text}
    return await client.post(f"/api/conversations/{conversation}/messages", json=body, headers=as_person(token))


@pytest.fixture(params=[MemoryStore, JsonStore])
def platform(request: pytest.FixtureRequest) -> Platform:
    platform = Platform(ScriptedModel(), store=request.param())
    bot = Chatbot(platform, Waiter(), name="waiter", find_memory=lambda user: f"likes of {user.id}")
    asker = Agent("asker", model=ScriptedModel(*[ToolCall("who"), "Said."] * 3), tools=[who])
    return platform.register(bot, asker, Agent("talker", model=ScriptedModel(*["Hello."] * 9)))


@pytest.mark.parametrize("agent", ["talker", "waiter"])
async def test_nobody_finds_the_conversation_of_another(platform: Platform, agent: str) -> None:
    async with served(platform, people=PEOPLE) as client:
        assert (await say(client, ANNA, agent, "Soup")).status_code == 200
        own = await client.get("/api/conversations/c", headers=as_person(ANNA))
        others = [
            await client.get("/api/conversations/c", headers=as_person(BERT)),
            await say(client, BERT, agent, "?"),
        ]
        await client.delete("/api/conversations/c", headers=as_person(BERT))
        allowed = await client.get("/api/conversations/c", headers=as_person(CARL))
        await client.delete("/api/conversations/c", headers=as_person(ANNA))
        gone = await client.get("/api/conversations/c", headers=as_person(ANNA))

    assert own.json()["messages"][0]["content"] == "Soup"
    assert [(done.status_code, done.json()["error"]["type"]) for done in others] == [
        (404, "ConversationNotFoundError")
    ] * 2
    assert (allowed.json(), gone.status_code) == (own.json(), 404)


async def test_a_conversation_of_the_program_needs_the_right_to_see(platform: Platform) -> None:
    async with platform.conversations.change("c", creates=True) as conversation:
        conversation.insert(UserMessage("Hi"))
    async with served(platform, people=PEOPLE) as client:
        codes = [
            (await client.get("/api/conversations/c", headers=as_person(token))).status_code for token in (ANNA, BERT)
        ]
        await say(client, ANNA, "talker", "Mine now")
        mine = await client.get("/api/conversations/c", headers=as_person(ANNA))
        theirs = await client.get("/api/conversations/c", headers=as_person(BERT))

    assert codes == [404, 200]
    assert (len(mine.json()["messages"]), theirs.status_code) == (3, 404)


async def test_a_session_has_the_memory_of_its_person(platform: Platform) -> None:
    async with served(platform, people=PEOPLE) as client:
        texts = [
            (await say(client, token, "waiter", food, conversation)).json()["text"]
            for token, food, conversation in [
                (ANNA, "Soup", "a"),
                (BERT, "Fish", "b"),
                (ANNA, "Rice", "later"),
                (BERT, "Rice", "soon"),
            ]
        ]

    assert texts == ["anna: nothing", "bert: nothing", "anna: Soup", "bert: Fish"]


async def test_tools_know_who_asks(platform: Platform) -> None:
    async with served(platform, people=PEOPLE) as client:
        await say(client, ANNA, "asker", "Who?")
        shown = await client.get("/api/conversations/c", headers=as_person(ANNA))

    assert [message["content"] for message in shown.json()["messages"] if message["role"] == "tool"] == ["anna"]


async def test_without_tokens_nobody_asks(platform: Platform) -> None:
    async with served(platform) as client:
        body = {"agent": "asker", "message": "Who?"}
        await client.post("/api/conversations/c/messages", json=body)
        shown = await client.get("/api/conversations/c")

    assert [message["content"] for message in shown.json()["messages"] if message["role"] == "tool"] == ["nobody"]


async def test_a_library_shows_a_person_what_the_person_may_see() -> None:
    library = Library()
    for reader, text in (("anna", "The code of the safe is 1234."), ("bert", "The code of the bike is 77.")):
        await library.add(parse_markdown(f"# Note\n\n{text}\n", f"{reader}.md", metadata={"reader": reader}))
    rag = RagTools("notes", "Notes", library, scope=find_scope)
    model = ScriptedModel(*[ToolCall("notes_text_search", query="code"), "Done."] * 2)
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(Agent("reader", model=model, references=[rag]))

    async with served(platform, people=PEOPLE) as client:
        found = []
        for token in (ANNA, BERT):
            await say(client, token, "reader", "The code?", token[:4])
            shown = (await client.get(f"/api/conversations/{token[:4]}", headers=as_person(token))).json()
            found += [message["content"] for message in shown["messages"] if message["role"] == "tool"]

    assert ["1234" in text for text in found] == [True, False]
    assert ["77" in text for text in found] == [False, True]
