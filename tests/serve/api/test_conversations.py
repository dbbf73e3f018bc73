"""Agents and conversations over HTTP."""

from __future__ import annotations

import base64
import json

import pytest

from tactician import Ensemble, Loop, Phase, Platform, Runnable, Task
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.api.serving import create_platform, find, read_events, served, start


async def test_agents_say_what_they_take() -> None:
    async with served(create_platform()) as client:
        agents = (await client.get("/api/agents")).json()["agents"]
        shop = (await client.get("/api/agents/shop")).json()
        unknown = await client.get("/api/agents/nobody")

    assert [agent["id"] for agent in agents] == ["talker", "shop", "cashier", "slow", "newsroom"]
    assert (shop["takes_text"], [kind["type"] for kind in shop["inputs"]]) == (False, ["Order"])
    assert unknown.status_code == 404


def create_essayists() -> dict[str, Runnable]:
    """Return all kinds of Runnables whose tasks have templates."""
    task = Task("Write about {topic} for {audience}", model=ScriptedModel(*["Frogs are nice."] * 2))
    ensemble = Ensemble("Essayist", [task])
    return {
        "ensemble": ensemble,
        "phases": Ensemble("Essayist", phases=[Phase("draft", [task])]),
        "typed": ensemble.with_output_type(str),
        "loop": Loop([task], id="Essayist", max_iterations=1),
    }


@pytest.mark.parametrize("kind", create_essayists())
async def test_an_ensemble_says_which_values_it_takes(kind: str) -> None:
    platform = Platform(store=MemoryStore()).register(create_essayists()[kind])
    async with served(platform) as client:
        (shown,) = (await client.get("/api/agents")).json()["agents"]
        runs = f"/api/agents/{shown['id']}/runs"
        document = (await client.get("/api/openapi.json")).json()
        done = await find(client, await start(client, shown["id"], {"topic": "frogs", "audience": 7}), "completed")
        (values,) = shown["inputs"]
        typed = await start(client, shown["id"], {"topic": "frogs", "audience": "all"}, type=values["type"])
        assert (await find(client, typed, "completed"))["output"] == done["output"] != ""
        refused = [await client.post(runs, json={"input": value}) for value in ("frogs", {"topic": "frogs"}, None)]

    assert shown["takes_text"] is False
    assert {name: field["type"] for name, field in values["form"]["properties"].items()} == {
        "topic": "string",
        "audience": "string",
    }
    assert '"audience"' in json.dumps(document["paths"][runs])
    assert [answer.status_code for answer in refused] == [422, 422, 422]
    said = [answer.json()["error"]["message"] for answer in refused]
    assert "needs a value for 'audience': write an object" in said[1]
    assert "needs values for 'topic' and 'audience': write an object" in said[0]
    assert said[0] == said[2]


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
