"""Runs over HTTP: started, looked at, answered, cancelled, and followed by their events."""

from __future__ import annotations

import json

import pytest

from tactician import Agent, Platform
from tactician.errors import ConfigurationError
from tactician.serve import app
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.api.serving import Gate, create_platform, find, read_events, served, start


async def test_a_run_is_started_and_has_its_result() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "talker", "Hi")
        shown = await find(client, run_id, "completed")

    assert (shown["job_status"], shown["result"], shown["agent"]) == ("completed", "Hello.", "Talker")
    assert shown["usage"]["output_tokens"] > 0


async def test_a_form_is_shown_with_its_schema_and_answered() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "shop", {"number": 7})
        waiting = await find(client, run_id, "waiting")
        (request,) = waiting["pending"]
        assert waiting["job_status"] == "waiting"
        assert request["prompt"] == "Where does order 7 go?"
        assert request["form"]["required"] == ["city"]

        place = f"/api/runs/{run_id}/answers"
        refused = await client.post(place, json={"request": request["id"], "response": {"town": "Rome"}})
        assert refused.status_code == 422
        assert (await find(client, run_id, "waiting"))["pending"][0]["id"] == request["id"]

        answer = {"request": request["id"], "response": {"city": "Rome"}}
        assert (await client.post(place, json=answer)).status_code == 200
        shown = await find(client, run_id, "completed")
        assert shown["result"] == {"label": "7 to Rome"}
        assert (await client.post(place, json=answer)).status_code == 409


async def test_a_tool_is_approved_with_other_arguments() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "cashier", "Pay")
        (request,) = (await find(client, run_id, "waiting"))["pending"]
        assert (request["kind"], request["tool"]) == ("approval", "pay")

        answer = {"request": request["id"], "response": True, "arguments": {"amount": 3}}
        assert (await client.post(f"/api/runs/{run_id}/answers", json=answer)).status_code == 200
        await find(client, run_id, "completed")
        details = (await client.get(f"/api/runs/{run_id}/details")).text

    assert "paid 3" in details


async def test_a_run_is_cancelled_once() -> None:
    gate = Gate()
    async with served(create_platform(gate)) as client:
        run_id = await start(client, "slow", "Go")
        await gate.reached.wait()
        cancelled = await client.delete(f"/api/runs/{run_id}")
        again = await client.delete(f"/api/runs/{run_id}")

    assert (cancelled.status_code, cancelled.json()["job_status"]) == (200, "cancelled")
    assert cancelled.json()["failure"] == "cancelled by local"
    assert (again.status_code, again.json()["error"]["message"]) == (409, f"The run {run_id} has ended already.")


async def test_an_idempotency_key_starts_a_single_run() -> None:
    async with served(create_platform()) as client:
        first = await start(client, "talker", "Hi", idempotency_key="order-7")
        second = await start(client, "talker", "Hi", idempotency_key="order-7")

    assert first == second


async def test_a_run_ends_with_its_time() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "shop", {"number": 7}, seconds=0.05)
        shown = await find(client, run_id, "terminated")

    assert shown["job_status"] == "failed"


async def test_the_list_has_the_newest_first_and_filters() -> None:
    async with served(create_platform()) as client:
        first = await start(client, "talker", "Hi")
        await find(client, first, "completed")
        second = await start(client, "shop", {"number": 1})
        await find(client, second, "waiting")
        every = (await client.get("/api/runs")).json()["runs"]
        waiting = (await client.get("/api/runs?status=waiting")).json()["runs"]
        of_talker = (await client.get("/api/runs?agent=Talker&limit=5")).json()["runs"]
        queue = (await client.get("/api/waiting")).json()["runs"]

    assert [run["id"] for run in every] == [second, first]
    assert [run["id"] for run in waiting] == [run["id"] for run in queue] == [second]
    assert [run["id"] for run in of_talker] == [first]


async def test_details_and_steps() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "shop", {"number": 7})
        await find(client, run_id, "waiting")
        details = (await client.get(f"/api/runs/{run_id}/details")).json()
        steps = (await client.get(f"/api/runs/{run_id}/steps")).json()["steps"]

    assert details["run"]["id"] == run_id
    assert [entry["value"] for entry in details["objects"]][:1] == [{"number": 7}]
    assert [step["number"] for step in steps] == list(range(1, len(steps) + 1))


class TestMistakes:
    @pytest.mark.parametrize(
        ("method", "path", "body", "status", "words"),
        [
            ("POST", "/api/agents/nobody/runs", {}, 404, "no agent 'nobody'"),
            ("GET", "/api/runs/nothing", None, 404, "no run with the id 'nothing'"),
            ("DELETE", "/api/runs/nothing", None, 404, "no run with the id 'nothing'"),
            ("POST", "/api/agents/shop/runs", {"input": {"numbr": 1}}, 422, "Order.number: Field required"),
            ("POST", "/api/agents/shop/runs", {"input": {}, "type": "Car"}, 422, "takes no 'Car'"),
            ("POST", "/api/agents/shop/runs", {"inputs": 1}, 422, "inputs: Extra inputs"),
            ("GET", "/api/runs?status=odd", None, 422, "odd is none of"),
            ("GET", "/api/runs?limit=-1", None, 422, "limit must be a number"),
            ("PUT", "/api/runs", {}, 405, "Method Not Allowed"),
            ("GET", "/nowhere", None, 404, "Not Found"),
        ],
    )
    async def test_it_is_told(self, method: str, path: str, body: object, status: int, words: str) -> None:
        async with served(create_platform()) as client:
            done = await client.request(method, path, json=body)

        assert done.status_code == status
        assert words in done.json()["error"]["message"]

    async def test_a_body_that_is_no_json(self) -> None:
        async with served(create_platform()) as client:
            done = await client.post("/api/agents/talker/runs", content=b"{oops")

        assert (done.status_code, done.json()["error"]["type"]) == (422, "RequestError")

    async def test_a_run_that_fails_says_why(self) -> None:
        platform = Platform(ScriptedModel(), store=MemoryStore())
        platform.register(Agent("Talker", model=ScriptedModel(RuntimeError("it is broken"))))
        async with served(platform) as client:
            shown = await find(client, await start(client, "talker", "Hi"), "failed")

        assert shown["job_status"] == "failed"
        assert "it is broken" in shown["failure"]

    def test_a_platform_without_a_store_cannot_be_served(self) -> None:
        with pytest.raises(ConfigurationError, match="needs a platform with a store"):
            app(Platform(ScriptedModel()))


class TestEvents:
    async def test_late_readers_see_all_of_a_run_and_its_end(self) -> None:
        async with served(create_platform()) as client:
            run_id = await start(client, "talker", "Hi")
            await find(client, run_id, "completed")
            events = read_events((await client.get(f"/api/runs/{run_id}/events")).text)

        names = [name for _, name, _ in events]
        assert names[0] == "RunStarted"
        assert names[-1] == "end"
        assert "TurnCompleted" in names
        assert json.loads(events[-1][2])["result"] == "Hello."

    async def test_a_reader_continues_after_the_last_event_that_it_saw(self) -> None:
        async with served(create_platform()) as client:
            run_id = await start(client, "talker", "Hi")
            await find(client, run_id, "completed")
            every = read_events((await client.get(f"/api/runs/{run_id}/events")).text)
            seen = every[2][0]
            rest = read_events((await client.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen})).text)
            strange = read_events(
                (await client.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": "before-9"})).text
            )

        assert rest == every[3:]
        assert strange == every

    async def test_events_of_runs_inside_belong_to_the_run(self) -> None:
        helper = Agent("Helper", model=ScriptedModel("inside"))
        boss = Agent("Boss", model=ScriptedModel(("helper", {"input": "x"}), "done"), tools=[helper.as_tool()])
        platform = Platform(ScriptedModel(), store=MemoryStore()).register(boss)
        async with served(platform) as client:
            run_id = await start(client, "boss", "Hi")
            await find(client, run_id, "completed", "failed")
            events = read_events((await client.get(f"/api/runs/{run_id}/events")).text)

        paths = {tuple(json.loads(data).get("path", ())) for _, name, data in events if name != "end"}
        assert ("Boss",) in paths
