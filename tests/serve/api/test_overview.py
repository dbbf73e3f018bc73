"""The server as a whole: who calls, what waits for people, the models and their use, the store and its workers."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tactician import Agent, Platform
from tactician.llm import Deployment, ModelRouter
from tactician.platform.host.meter import ModelMeter
from tactician.serve import Person
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.api.serving import Gate, Json, create_platform, find, served, start

TOKEN = "a-token-of-sixteen-characters"


async def fetch(client: httpx.AsyncClient, path: str) -> Json:
    done = await client.get(path)
    assert done.status_code == 200, done.text
    shown: Json = done.json()
    return shown


async def test_a_person_sees_its_roles_and_rights() -> None:
    people = {TOKEN: Person("Bert", frozenset({"editor"}), frozenset({"see"}))}
    async with served(create_platform(), people=people, token=TOKEN) as client:
        shown = await fetch(client, "/api/me")
        stranger = await client.get("/api/me", headers={"Authorization": "Bearer nothing-of-this-kind"})

    assert shown == {"name": "Bert", "roles": ["editor"], "rights": ["see"], "has_every_role": False}
    assert stranger.status_code == 401


class TestOpenRequests:
    async def test_each_has_its_run_and_its_form(self) -> None:
        async with served(create_platform()) as client:
            shop = await start(client, "shop", {"number": 7})
            cashier = await start(client, "cashier", "Pay")
            await find(client, shop, "waiting")
            await find(client, cashier, "waiting")
            every = (await fetch(client, "/api/requests"))["requests"]
            approvals = (await fetch(client, "/api/requests?kind=approval"))["requests"]
            of_shop = (await fetch(client, "/api/requests?agent=Shop"))["requests"]
            none = (await fetch(client, "/api/requests?role=editor"))["requests"]

        assert {(one["run_id"], one["agent"]) for one in every} == {(shop, "Shop"), (cashier, "Cashier")}
        assert [(one["run_id"], one["request"]["arguments"]) for one in approvals] == [(cashier, '{"amount":5}')]
        assert [one["request"]["form"]["required"] for one in of_shop] == [["city"]]
        assert none == []

    async def test_the_next_deadline_comes_first_and_roles_are_listed(self) -> None:
        async with served(create_platform()) as client:
            shop = await start(client, "shop", {"number": 7})
            await find(client, shop, "waiting")
            review = await start(client, "newsroom", {"topic": "frogs"})
            await find(client, review, "waiting")
            shown = await fetch(client, "/api/requests")
            of_editors = await fetch(client, "/api/requests?role=editor&role=")
            limited = await fetch(client, "/api/requests?limit=1")

        assert [one["run_id"] for one in shown["requests"]] == [review, shop]
        assert shown["requests"][0]["request"]["default"] is not None
        assert shown["roles"] == ["editor"]
        assert len(of_editors["requests"]) == 2
        assert len(limited["requests"]) == 1


class TestModels:
    async def test_a_router_shows_its_deployments_and_what_they_were_used_for(self) -> None:
        poet = Deployment("here", "poet", ScriptedModel("Roses.", name="poet"), requests_per_second=2.5)
        router = ModelRouter([poet], max_concurrency=7)
        platform = Platform(router, store=MemoryStore()).register(Agent("Talker", model="poet"))
        async with served(platform) as client:
            await find(client, await start(client, "talker", "Hi"), "completed")
            shown = await fetch(client, "/api/models")

        (deployment,) = shown["deployments"]
        assert (deployment["instance"], deployment["model"], deployment["circuit"]) == ("here", "poet", "closed")
        assert (deployment["answers"], deployment["failures"], deployment["waiting"]) == (1, 0, 0)
        assert (deployment["requests_per_second"], deployment["max_concurrency"]) == (2.5, 7)
        (use,) = shown["use"]
        (point,) = use["points"]
        assert "poet" in use["model"]
        assert (point["calls"], point["errors"]) == (1, 0)
        assert point["output_tokens"] > 0

    async def test_errors_are_counted_without_a_router(self) -> None:
        model = ScriptedModel()
        platform = Platform(ScriptedModel(), store=MemoryStore()).register(Agent("Talker", model=model))
        async with served(platform) as client:
            await find(client, await start(client, "talker", "Hi"), "failed")
            shown = await fetch(client, "/api/models")

        assert shown["deployments"] == []
        assert [point["errors"] for use in shown["use"] for point in use["points"]] == [1]

    def test_a_meter_without_calls_has_no_points(self) -> None:
        assert ModelMeter().points == {}


async def test_the_store_shows_who_holds_a_run() -> None:
    gate = Gate()
    async with served(create_platform(gate)) as client:
        done = await start(client, "talker", "Hi")
        await find(client, done, "completed")
        run_id = await start(client, "slow", "Go")
        await gate.reached.wait()
        shown = await fetch(client, "/api/store")
        held = await fetch(client, f"/api/runs/{run_id}")
        gate.open.set()
        await find(client, run_id, "completed")
        after = await fetch(client, "/api/store")

    assert (shown["kind"], shown["runs"]) == ("MemoryStore", {"completed": 1, "running": 1})
    (worker,) = shown["workers"]
    assert worker["is_this_server"]
    assert [(run["run_id"], run["agent"]) for run in worker["runs"]] == [(run_id, "Slow")]
    assert worker["runs"][0]["lease_ends_at"] > shown["now"]
    assert held["worker"] == worker["name"]
    assert [one["runs"] for one in after["workers"]] == [[]]


class TestRuns:
    async def test_pages_and_words(self) -> None:
        async with served(create_platform()) as client:
            ids = [await start(client, "talker", "Hi") for _ in range(5)]
            for run_id in ids:
                await find(client, run_id, "completed")
            first = await fetch(client, "/api/runs?limit=2")
            second = await fetch(client, f"/api/runs?limit=2&after={first['next']}")
            last = await fetch(client, f"/api/runs?limit=2&after={second['next']}")
            found = await fetch(client, f"/api/runs?search=HELLO%20{ids[1]}&outer=true")
            nothing = await fetch(client, "/api/runs?search=elephants")

        assert [run["id"] for run in first["runs"]] == [ids[4], ids[3]]
        assert (second["next"] is None, last["next"]) == (False, None)
        assert [run["id"] for run in last["runs"]] == [ids[0]]
        assert [run["id"] for run in found["runs"]] == [ids[1]]
        assert nothing["runs"] == []

    async def test_plans_say_why(self) -> None:
        async with served(create_platform()) as client:
            run_id = await start(client, "shop", {"number": 7})
            await find(client, run_id, "waiting")
            shown = await fetch(client, f"/api/runs/{run_id}/plans")

        (plan,) = shown["plans"]
        assert [step["name"] for step in plan["steps"]] == ["ask", "send"]
        assert plan["goal"] == "send"
        assert plan["why"].startswith("The best plan for 'send' is 'ask'")
        assert shown["failure"] is None

    async def test_a_trace_has_the_tools_and_what_they_gave(self) -> None:
        async with served(create_platform()) as client:
            run_id = await start(client, "cashier", "Pay")
            (request,) = (await find(client, run_id, "waiting"))["pending"]
            await client.post(f"/api/runs/{run_id}/answers", json={"request": request["id"], "response": True})
            await find(client, run_id, "completed")
            await asyncio.sleep(0)
            nodes = (await fetch(client, f"/api/runs/{run_id}/trace"))["nodes"]

        tools = [node for node in nodes if node["kind"] == "tool"]
        assert tools[-1]["content"]["result"] == "paid 5"
        assert nodes[0]["parent"] is None


@pytest.mark.parametrize("place", ["plans", "trace"])
async def test_an_unknown_run_is_not_found(place: str) -> None:
    async with served(create_platform()) as client:
        assert (await client.get(f"/api/runs/nobody/{place}")).status_code == 404
