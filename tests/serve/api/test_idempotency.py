"""Idempotency keys: each is a person's own, and a message that is sent twice stands once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from tactician import (
    Agent,
    Chatbot,
    OperationContext,
    Planner,
    Platform,
    UserMessage,
    action,
    guardrails,
    planned_agent,
    tool,
)
from tactician.conversation import ChatUser
from tactician.errors import RunConflictError
from tactician.guardrails import GuardrailResult
from tactician.serve import Person, RequestLimits
from tactician.service import AgentService
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import Gate, Json, create_platform, find, read_events, served, start

ANNA, BERT = "anna-has-a-secret", "bert-has-a-secret"
PEOPLE = {ANNA: Person("anna"), BERT: Person("bert", rights=frozenset({"start", "answer"}))}
STREAM = {"Accept": "text/event-stream"}


def use(client: httpx.AsyncClient, token: str) -> None:
    client.headers["Authorization"] = f"Bearer {token}"


@planned_agent(name="Greeter", description="Greets people", planner=Planner.UTILITY)
class Greeter:
    @action(trigger=UserMessage, can_rerun=True)
    def answer(self, message: UserMessage, context: OperationContext) -> None:
        context.send("Welcome.")


async def say(client: httpx.AsyncClient, key: str | None, *, conversation: str = "c", agent: str = "talker") -> Json:
    body = {"agent": agent, "message": "Hello", "idempotency_key": key}
    done = await client.post(f"/api/conversations/{conversation}/messages", json=body)
    assert done.status_code == 200, done.text
    answer: Json = done.json()
    return answer


async def list_messages(client: httpx.AsyncClient, conversation: str = "c") -> list[str]:
    messages = (await client.get(f"/api/conversations/{conversation}")).json()["messages"]
    return [message["role"] for message in messages]


async def test_two_people_with_the_same_key_start_two_runs() -> None:
    async with served(create_platform(), people=PEOPLE) as client:
        use(client, ANNA)
        first = await start(client, "talker", "My salary is 17", idempotency_key="order-1")
        assert await start(client, "talker", "My salary is 17", idempotency_key="order-1") == first
        use(client, BERT)
        assert await start(client, "talker", "My salary is 18", idempotency_key="order-1") != first


async def test_without_tokens_a_key_is_that_of_the_program() -> None:
    platform = create_platform()
    run_id = await platform.enqueue("Talker", "Hello", idempotency_key="order-1")
    async with served(platform) as client:
        assert await start(client, "talker", "Hello", idempotency_key="order-1") == run_id


async def test_a_message_that_is_sent_twice_stands_once() -> None:
    async with served(create_platform(), people=PEOPLE) as client:
        use(client, ANNA)
        first, again = await say(client, "m1"), await say(client, "m1")
        stood = await list_messages(client)
        other = await say(client, "m2")
        elsewhere = await say(client, "m1", conversation="d")
        use(client, BERT)
        of_bert = await say(client, "m1", conversation="e")

    assert first == again
    assert stood == ["user", "assistant"]
    assert len({answer["run_id"] for answer in (first, other, elsewhere, of_bert)}) == 4


async def test_a_message_that_is_sent_twice_as_a_stream_ends_with_the_answer() -> None:
    async with served(create_platform()) as client:
        body = {"agent": "talker", "message": "Hello", "idempotency_key": "m1"}
        path = "/api/conversations/c/messages"
        streams = [read_events((await client.post(path, json=body, headers=STREAM)).text) for _ in range(2)]

        assert streams[0][-1][1:] == streams[1][-1][1:]
        assert json.loads(streams[1][-1][2])["text"] == "Hello."
        assert await list_messages(client) == ["user", "assistant"]


async def test_a_message_that_is_being_answered_is_waited_for() -> None:
    gate = Gate()
    async with served(create_platform(gate)) as client:
        first = asyncio.create_task(say(client, "m1", agent="slow"))
        await gate.reached.wait()
        again = asyncio.create_task(say(client, "m1", agent="slow"))
        await asyncio.sleep(0)
        gate.open.set()
        assert await first == await again
        assert (await list_messages(client)).count("user") == 1


async def test_a_message_is_sent_again_after_a_crash(tmp_path: Path) -> None:
    asked = asyncio.Event()

    @tool
    async def look() -> str:
        """Look."""
        asked.set()
        await asyncio.Event().wait()
        return ""

    @tool(name="look")
    def look_again() -> str:
        """Look."""
        return "seen"

    path, limits = tmp_path / "runs.db", RequestLimits(lease=0.2)
    stuck = Agent("Looker", model=ScriptedModel(ToolCall("look")), tools=[look])
    async with served(Platform(ScriptedModel(), store=SqliteStore(path)).register(stuck), limits=limits) as client:
        lost = asyncio.create_task(say(client, "m1", agent="looker"))
        await asked.wait()
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)
    well = Agent("Looker", model=ScriptedModel("Seen."), tools=[look_again])
    async with served(Platform(ScriptedModel(), store=SqliteStore(path)).register(well), limits=limits) as client:
        answer = await say(client, "m1", agent="looker")
        assert answer["text"] == "Seen."
        assert (await find(client, answer["run_id"], "completed"))["status"] == "completed"
        assert await list_messages(client) == ["user", "assistant", "tool", "assistant"]


def create_bot_platform(store: DocumentStore, desk: Agent) -> Platform:
    platform = Platform(ScriptedModel(), store=store)
    return platform.register(desk, Chatbot(platform, desk, name="Bot"))


async def test_a_chatbot_answers_a_message_with_a_key_once(tmp_path: Path) -> None:
    path, model = tmp_path / "runs.db", ScriptedModel("Hi.", "Hi again.")
    desk = Agent("Desk", model=model)
    async with served(create_bot_platform(SqliteStore(path), desk)) as client:
        first, again = await say(client, "m1", agent="bot"), await say(client, "m1", agent="bot")
        assert (await say(client, "m2", agent="bot"))["text"] == "Hi again."
    async with served(create_bot_platform(SqliteStore(path), desk)) as client:
        later = await say(client, "m1", agent="bot")
        body = {"agent": "bot", "message": "Hello", "idempotency_key": "m1"}
        streamed = await client.post("/api/conversations/c/messages", json=body, headers=STREAM)
        assert await list_messages(client) == ["user", "assistant"] * 2

    assert first == again == later
    assert first["text"] == "Hi."
    assert read_events(streamed.text)[-1][1] == "end"
    assert len(model.calls) == 2


async def test_a_chatbot_whose_server_died_answers_the_message_once(tmp_path: Path) -> None:
    asked = asyncio.Event()

    @tool
    async def look() -> str:
        """Look."""
        asked.set()
        await asyncio.Event().wait()
        return ""

    @tool(name="look")
    def look_again() -> str:
        """Look."""
        return "seen"

    path, limits = tmp_path / "runs.db", RequestLimits(lease=0.2)
    stuck = Agent("Desk", model=ScriptedModel(ToolCall("look")), tools=[look])
    async with served(create_bot_platform(SqliteStore(path), stuck), limits=limits) as client:
        lost = asyncio.create_task(say(client, "m1", agent="bot"))
        await asked.wait()
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)
    well = Agent("Desk", model=ScriptedModel("Seen."), tools=[look_again])
    async with served(create_bot_platform(SqliteStore(path), well), limits=limits) as client:
        assert (await say(client, "m1", agent="bot"))["text"] == "Seen."
        assert await list_messages(client) == ["user", "assistant", "tool", "assistant"]


async def test_a_message_that_a_chatbot_has_refused_can_be_sent_again_with_its_key() -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore())
    platform.register(Chatbot(platform, name="Bot"))
    async with served(platform) as client:
        body = {"agent": "bot", "message": "Hello", "idempotency_key": "m1"}
        refused = await client.post("/api/conversations/c/messages", json=body)
        platform.register(Greeter())
        answers = [await client.post("/api/conversations/c/messages", json=body) for _ in range(2)]
    assert refused.status_code == 422
    assert "no planned agent or component is registered" in refused.text
    assert [answer.json()["text"] for answer in answers] == ["Welcome."] * 2


def refuse_greetings(text: str) -> GuardrailResult:
    """Refuse greetings."""
    return guardrails.failed("say what you want") if "Hello" in text else guardrails.passed()


@pytest.mark.parametrize("agent", ["polite", "bot"])
async def test_a_refused_message_is_refused_again_with_the_same_answer(agent: str, tmp_path: Path) -> None:
    body = {"agent": agent, "message": "Hello", "idempotency_key": "m1"}
    path = "/api/conversations/c/messages"
    answers: list[tuple[int, object]] = []
    for _ in range(2):  # the second server has restarted
        polite = Agent("Polite", model=ScriptedModel(), input_guardrails=[refuse_greetings])
        async with served(create_bot_platform(SqliteStore(tmp_path / "runs.db"), polite)) as client:
            for _ in range(2):
                done = await client.post(path, json=body)
                answers.append((done.status_code, done.json()))
            streamed = await client.post(path, json=body, headers=STREAM)
            assert "say what you want" in streamed.text
    assert answers == [answers[0]] * 4
    assert answers[0][0] == 422


async def test_a_service_answers_a_key_once() -> None:
    service = AgentService(Platform(ScriptedModel("Hi."), store=MemoryStore())).register(Agent("a"))
    await service.request_agent("a", "Hello", user=ChatUser("anna"), idempotency_key="m1")
    with pytest.raises(RunConflictError):
        await service.request_agent("a", "Hello", user=ChatUser("anna"), idempotency_key="m1")
