"""Agents and conversations over HTTP."""

from __future__ import annotations

import json

from tests.serve.api.serving import create_platform, read_events, served


async def test_agents_say_what_they_take() -> None:
    async with served(create_platform()) as client:
        agents = (await client.get("/api/agents")).json()["agents"]
        shop = (await client.get("/api/agents/shop")).json()
        unknown = await client.get("/api/agents/nobody")

    assert [agent["id"] for agent in agents] == ["talker", "shop", "cashier", "slow"]
    assert (shop["takes_text"], [kind["type"] for kind in shop["inputs"]]) == (False, ["Order"])
    assert unknown.status_code == 404


async def test_agents_are_drawn() -> None:
    async with served(create_platform()) as client:
        drawn = (await client.get("/api/agents/shop/diagram")).json()

    assert "flowchart" in drawn["mermaid"]
    assert drawn["svg"].startswith("<svg")


async def test_a_conversation_by_an_own_id() -> None:
    async with served(create_platform()) as client:
        for text in ("Hi", "Bye"):
            body = {"agent": "talker", "message": text}
            assert (await client.post("/api/conversations/anna-1/messages", json=body)).json()["text"] == "Hello."
        messages = (await client.get("/api/conversations/anna-1")).json()["messages"]
        await client.delete("/api/conversations/anna-1")
        gone = await client.get("/api/conversations/anna-1")

    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert gone.status_code == 404


async def test_an_answer_in_pieces() -> None:
    async with served(create_platform()) as client:
        done = await client.post(
            "/api/conversations/c/messages",
            json={"agent": "talker", "message": "Hi"},
            headers={"Accept": "text/event-stream"},
        )
    events = read_events(done.text)

    assert "".join(json.loads(data)["text"] for _, name, data in events if name == "text") == "Hello."
    assert json.loads(events[-1][2])["text"] == "Hello."


async def test_an_agent_that_is_not_there() -> None:
    async with served(create_platform()) as client:
        done = await client.post("/api/conversations/c/messages", json={"agent": "gpt-5", "message": "Hi"})

    assert done.status_code == 404
