"""Agents and conversations over HTTP."""

from __future__ import annotations

import base64
import json

from tests.serve.api.serving import create_platform, read_events, served


async def test_agents_say_what_they_take() -> None:
    async with served(create_platform()) as client:
        agents = (await client.get("/api/agents")).json()["agents"]
        shop = (await client.get("/api/agents/shop")).json()
        unknown = await client.get("/api/agents/nobody")

    assert [agent["id"] for agent in agents] == ["talker", "shop", "cashier", "slow", "newsroom"]
    assert (shop["takes_text"], [kind["type"] for kind in shop["inputs"]]) == (False, ["Order"])
    assert unknown.status_code == 404


async def test_agents_are_drawn() -> None:
    async with served(create_platform()) as client:
        drawn = (await client.get("/api/agents/shop/diagram")).json()

    assert "flowchart" in drawn["mermaid"]
    assert drawn["svg"].startswith("<svg")
    names = {node["id"]: node["lines"][0] for node in drawn["nodes"]}
    assert ("Order", "ask") in {(names[edge["source"]], names[edge["target"]]) for edge in drawn["edges"]}


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


async def test_a_message_with_pictures() -> None:
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    body = {"agent": "talker", "message": "Look", "pictures": [png, "https://example.org/a.png"]}
    async with served(create_platform()) as client:
        done = await client.post("/api/conversations/c/messages", json=body)
        messages = (await client.get("/api/conversations/c")).json()["messages"]
        refused = await client.post("/api/conversations/c/messages", json={**body, "pictures": ["nothing"]})
        many = await client.post("/api/conversations/c/messages", json={**body, "pictures": [png] * 21})

    assert done.json()["text"] == "Hello."
    assert [part["kind"] for part in messages[0]["content"]] == ["text", "image", "image"]
    assert (refused.status_code, many.status_code) == (400, 422)
    assert "pictures: " in refused.json()["error"]["message"]


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
