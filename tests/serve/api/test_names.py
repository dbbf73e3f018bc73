"""Names of runs: a conversation has the name of its agent wherever it is shown, and a query takes its id as well."""

from __future__ import annotations

import httpx
import pytest

from tactician import Agent, Chatbot, Platform, approve
from tactician.platform.conversations.request import create_request
from tactician.runs import RunStatus
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import create_platform, find, pay, served, start


async def say(client: httpx.AsyncClient, agent: str) -> str:
    done = await client.post("/api/conversations/c/messages", json={"agent": agent, "message": "Pay 5"})
    assert done.status_code == 200, done.text
    run_id: str = done.json()["run_id"]
    return run_id


@pytest.mark.parametrize("asked", ["cashier", "Cashier"])
async def test_a_conversation_has_the_name_of_its_agent(asked: str) -> None:
    async with served(create_platform()) as client:
        run_id = await say(client, "cashier")
        runs = (await client.get("/api/runs", params={"agent": asked})).json()["runs"]
        requests = (await client.get("/api/requests", params={"agent": asked})).json()["requests"]
        waiting = (await client.get("/api/waiting")).json()["runs"]
        others = (await client.get("/api/runs", params={"agent": "talker"})).json()["runs"]
        trace = (await client.get(f"/api/runs/{run_id}/trace")).json()

    assert [(run["id"], run["agent"]) for run in (*runs, *waiting)] == [(run_id, "Cashier")] * 2
    assert [(request["run_id"], request["agent"]) for request in requests] == [(run_id, "Cashier")]
    assert others == []
    assert trace["nodes"][0]["name"] == "Cashier"


@pytest.mark.parametrize("name", ["Desk", "Help"])
@pytest.mark.parametrize("asked", ["agent", "bot"])
async def test_a_chatbot_has_the_runs_of_who_answers(name: str, asked: str) -> None:
    cashier = Agent("Desk", model=ScriptedModel(ToolCall("pay", amount=5)), tools=[pay])
    platform = Platform(ScriptedModel(), store=MemoryStore())
    platform.register(Chatbot(platform, cashier, name=name))
    bot_id = name.lower()
    async with served(platform) as client:
        run_id = await say(client, bot_id)
        query = {"agent": bot_id if asked == "bot" else "Desk"}
        runs = (await client.get("/api/runs", params=query)).json()["runs"]

    assert [(run["id"], run["agent"]) for run in runs] == [(run_id, "Desk")]


async def test_runs_of_earlier_versions_continue() -> None:
    platform = create_platform()
    request = create_request("cashier", "Pay 5", {"conversation_id": "c"})
    agent, context = platform.agents["Cashier"], platform.context()
    result = await platform.requests.answer(request, agent, context, name="service")
    async with served(platform) as client:
        (run,) = (await client.get("/api/runs", params={"agent": "service"})).json()["runs"]
        answer = {"request": run["pending"][0]["id"], "response": True}
        assert (await client.post(f"/api/runs/{run['id']}/answers", json=answer)).status_code == 200
        done = await find(client, result.run_id, "completed")

    assert (run["id"], run["agent"], done["output"]) == (result.run_id, "service", "Paid.")


async def test_a_run_and_a_conversation_of_an_agent_are_told_apart() -> None:
    """Both have the name of the agent, and only a request has a conversation."""
    model = ScriptedModel(ToolCall("pay", amount=5), ToolCall("pay", amount=6), "Paid.", "Paid as well.")
    cashier = Agent("Cashier", model=model, tools=[pay])
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(cashier)
    async with served(platform) as client:
        plain = await start(client, "cashier", "Pay 5")
        (first,) = (await find(client, plain, "waiting"))["pending"]
        asked = await say(client, "cashier")
        (second,) = (await find(client, asked, "waiting"))["pending"]
        by_request = await platform.respond(asked, second["id"], approve())
        by_run = await platform.respond(plain, first["id"], approve())

    assert (by_request.status, by_run.status) == (RunStatus.COMPLETED, RunStatus.COMPLETED)
