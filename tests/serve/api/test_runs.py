"""Runs over HTTP: started, looked at, answered, cancelled, and followed by their events."""

from __future__ import annotations

import asyncio
import json

import pytest

from tactician import Agent, Platform, tool
from tactician.errors import ConfigurationError
from tactician.serve import app
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import Depot, Gate, create_platform, find, read_events, served, start


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


async def test_the_limit_of_what_waits_is_that_of_runs_of_the_role() -> None:
    async with served(create_platform()) as client:
        await find(client, await start(client, "shop", {"number": 1}), "waiting")
        edited = await start(client, "newsroom", {"topic": "frogs"})
        await find(client, edited, "waiting")
        queue = (await client.get("/api/waiting?role=editor&limit=1")).json()["runs"]
        none = (await client.get("/api/waiting?role=editor&limit=0")).json()["runs"]

    assert ([run["id"] for run in queue], none) == ([edited], [])


async def test_details_and_steps() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "shop", {"number": 7})
        await find(client, run_id, "waiting")
        details = (await client.get(f"/api/runs/{run_id}/details")).json()
        steps = (await client.get(f"/api/runs/{run_id}/steps")).json()["steps"]

    assert details["run"]["id"] == run_id
    assert [entry["value"] for entry in details["objects"]][:1] == [{"number": 7}]
    assert [step["number"] for step in steps] == list(range(1, len(steps) + 1))


async def test_details_tell_what_each_model_used() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "talker", "Hi")
        await find(client, run_id, "completed")
        models = (await client.get(f"/api/runs/{run_id}/details")).json()["models"]

    fields = ("calls", "input_tokens", "output_tokens", "cost")
    assert [tuple(model[field] for field in fields) for model in models] == [(1, 10, 5, None)]


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

    async def test_a_reader_chooses_types_and_begins_now(self) -> None:
        async with served(create_platform()) as client:
            run_id = await start(client, "talker", "Hi")
            await find(client, run_id, "completed")
            query = {"type": ["TurnStarted", "RunEnded"]}
            chosen = read_events((await client.get(f"/api/runs/{run_id}/events", params=query)).text)
            latest = read_events((await client.get(f"/api/runs/{run_id}/events", params={"after": "latest"})).text)

        assert [name for _, name, _ in chosen] == ["TurnStarted", "RunEnded", "end"]
        assert [name for _, name, _ in latest] == ["end"]

    async def test_a_brief_reader_gets_each_message_once(self) -> None:
        tools = [tool(name="look")(lambda: "nothing")]
        seeker = Agent("Seeker", model=ScriptedModel(ToolCall("look"), ToolCall("look"), "Gone."), tools=tools)
        platform = Platform(ScriptedModel(), store=MemoryStore()).register(seeker)
        async with served(platform) as client:
            run_id = await start(client, "seeker", "Hi")
            await find(client, run_id, "completed")
            query = {"type": "TurnStarted", "brief": "true"}
            turns = read_events((await client.get(f"/api/runs/{run_id}/events", params=query)).text)[:-1]

        requests = [json.loads(data)["request"] for _, _, data in turns]
        roles = [[message["role"] for message in request["messages"]] for request in requests]
        assert roles == [["user"], ["tool"], ["tool"]]
        assert [len(request["tools"]) for request in requests] == [1, 0, 0]

    async def test_a_run_that_was_waiting_ends_for_its_readers(self) -> None:
        platform = create_platform()
        async with served(platform) as client:
            run_id = await start(client, "shop", {"number": 7})
            await find(client, run_id, "waiting")
            await (await platform.process(run_id)).wait()  # its event follows the status in the store
            reading = asyncio.create_task(client.get(f"/api/runs/{run_id}/events"))
            await asyncio.sleep(0)
            await client.delete(f"/api/runs/{run_id}")
            events = read_events((await asyncio.wait_for(reading, 30)).text)

        ends = [json.loads(data)["status"] for _, name, data in events if name in {"ProcessEnded", "RunEnded", "end"}]
        assert ends == ["waiting", "killed", "killed"]

    async def test_a_run_inside_another_has_its_own_events(self) -> None:
        platform = Platform(ScriptedModel(), store=MemoryStore()).register(Depot())
        async with served(platform) as client:
            run_id = await start(client, "depot", {"number": 7})
            await find(client, run_id, "completed")
            (inside,) = (await client.get(f"/api/runs/{run_id}/details")).json()["children"]
            inner_id = inside["run"]["id"]
            events = read_events((await client.get(f"/api/runs/{inner_id}/events")).text)
            details = (await client.get(f"/api/runs/{inner_id}/details")).json()
            outer = read_events((await client.get(f"/api/runs/{run_id}/events")).text)

        assert (details["run"]["agent"], details["run"]["parent_id"]) == ("Van", run_id)
        assert inner_id in {json.loads(data)["run_id"] for _, name, data in outer if name != "end"}
        assert events[-1][1] == "end"
        assert {json.loads(data)["run_id"] for _, name, data in events[:-1]} == {inner_id}
        assert {"ProcessStarted", "ProcessEnded"} < {name for _, name, _ in events}

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


async def test_the_end_of_a_run_that_waited_is_an_event() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "cashier", "Pay")
        await find(client, run_id, "waiting")
        await client.delete(f"/api/runs/{run_id}")
        events = read_events((await client.get(f"/api/runs/{run_id}/events")).text)

    ended = [json.loads(data) for _, kind, data in events if kind == "RunEnded"]
    assert (ended[-1]["status"], ended[-1]["error"]) == ("killed", "cancelled by local")
