"""Statuses of what callers send: a mistake of the caller is not an error of the server, over any protocol."""

from __future__ import annotations

import base64

import pytest
from ag_ui.core import RunErrorEvent

from tactician import (
    Agent,
    Department,
    Ensemble,
    HierarchicalAgents,
    ParallelAgents,
    Platform,
    RouterAgent,
    Task,
    guardrails,
)
from tactician.a2a import RemoteAgent
from tactician.errors import TacticianError
from tactician.guardrails import GuardrailResult
from tactician.serve import McpPublisher, app
from tactician.serve.api.forms.pictures import name_picture
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.ag_ui.newsroom import ask, read_stream
from tests.serve.api.serving import create_platform, find, read_events, served, start
from tests.serve.listening import listening
from tests.serve.mcp.kitchen import connect, read

MESSAGES = "/api/conversations/c/messages"


def refuse_swearing(text: str) -> GuardrailResult:
    """Refuse what people should not say."""
    return guardrails.failed("mind your language") if "damn" in text else guardrails.passed()


def create_polite_platform() -> Platform:
    polite = Agent("Polite", description="Talks", model=ScriptedModel("Hi."), input_guardrails=[refuse_swearing])
    silent = Agent("Silent", model=ScriptedModel("damn", "damn"), output_guardrails=[refuse_swearing])
    return Platform(ScriptedModel(), store=MemoryStore()).register(polite, silent)


class TestRefusedInputs:
    @pytest.mark.parametrize(("agent", "status"), [("polite", 422), ("silent", 500)])
    async def test_conversations(self, agent: str, status: int) -> None:
        async with served(create_polite_platform()) as client:
            body = {"agent": agent, "message": "damn"}
            done = await client.post(MESSAGES, json=body)
            streamed = await client.post(MESSAGES, json=body, headers={"Accept": "text/event-stream"})
        assert done.status_code == status, done.text
        assert done.json()["error"]["type"] == "GuardrailError"
        (last,) = [data for _, kind, data in read_events(streamed.text) if kind == "error"]
        assert "mind your language" in last

    async def test_ag_ui(self) -> None:
        async with served(create_polite_platform()) as client:
            done = await client.post("/agui/polite", json=ask("damn"))
        last = read_stream(done.text)[-1]
        assert done.status_code == 200
        assert isinstance(last, RunErrorEvent)
        assert "mind your language" in last.message

    async def test_mcp(self) -> None:
        platform = create_polite_platform()
        async with connect(McpPublisher(platform, platform.agents["Polite"])) as client:
            result = await client.call_tool("polite", {"request": "damn"})
        assert result.is_error
        assert "mind your language" in read(result)

    async def test_a2a_rejects_the_task(self) -> None:
        platform = create_polite_platform()
        async with platform, listening(lambda address: app(platform, url=address)) as address:
            remote = await RemoteAgent.discover(address, allow_private=True, skill="polite")
            with pytest.raises(TacticianError, match=r"rejected.*mind your language"):
                await remote.run("damn")


class TestBodies:
    @pytest.mark.parametrize(
        "path", ["/api/agents/talker/runs", MESSAGES, "/api/runs/x/answers"], ids=["run", "message", "answer"]
    )
    async def test_a_body_is_needed(self, path: str) -> None:
        async with served(create_platform()) as client:
            done = await client.post(path)
            assert (done.status_code, "body" in done.json()["error"]["message"]) == (422, True)
            assert (await client.get("/api/runs")).json()["runs"] == []

    @pytest.mark.parametrize("body", [{}, {"input": None}])
    @pytest.mark.parametrize("kind", ["agent", "router", "parallel", "hierarchy"])
    async def test_an_agent_needs_an_input(self, kind: str, body: dict[str, object]) -> None:
        worker = Agent("Worker", description="Works", model=ScriptedModel())
        agents = {
            "agent": worker,
            "router": RouterAgent("R", routes={"work": worker}),
            "parallel": ParallelAgents("P", [worker]),
            "hierarchy": HierarchicalAgents(
                executive=Agent("M", model=ScriptedModel()), departments={"d": Department(worker, [worker])}, name="H"
            ),
        }
        platform = Platform(ScriptedModel(), store=MemoryStore()).register(agents[kind])
        (agent_id,) = platform.agents_by_id
        async with served(platform) as client:
            done = await client.post(f"/api/agents/{agent_id}/runs", json=body)
        assert (done.status_code, "It is missing" in done.text) == (422, True)

    async def test_an_ensemble_without_inputs_needs_none(self) -> None:
        news = Ensemble("News", [Task("Write about frogs", id="write")], model=ScriptedModel("Frogs."))
        async with served(Platform(ScriptedModel(), store=MemoryStore()).register(news)) as client:
            await find(client, await start(client, "news", None), "completed")


@pytest.mark.parametrize("media_type", ["image/€", "image/png\r\nX-Evil: 1", "image/" + "x" * 500, "image/"])
async def test_a_picture_of_an_odd_type_is_a_file(media_type: str) -> None:
    data = base64.b64encode(b"picture").decode()

    picture = {"kind": "image", "data": data, "media_type": media_type}
    paint = Task("Paint", id="paint", handler=lambda _: picture)
    painter = Ensemble("Painter", [paint])
    async with served(Platform(ScriptedModel(), store=MemoryStore()).register(painter)) as client:
        run_id = await start(client, "painter", None)
        await find(client, run_id, "completed", "failed")
        shown = await client.get(f"/api/runs/{run_id}/pictures/{name_picture(data)}")
    assert (shown.status_code, shown.headers["content-type"]) == (200, "application/octet-stream")
    assert "x-evil" not in shown.headers


class TestOpenApi:
    async def test_queries_have_types(self) -> None:
        async with served(create_platform()) as client:
            paths = (await client.get("/api/openapi.json")).json()["paths"]
            for query in ("limit=", "outer=null"):
                assert (await client.get(f"/api/runs?{query}")).status_code == 422
        found = {entry["name"]: entry["schema"] for entry in paths["/api/runs"]["get"]["parameters"]}
        assert found["limit"] == {"type": "integer", "minimum": 0, "maximum": 1000}
        assert "completed" in found["status"]["items"]["enum"]

    async def test_an_agent_that_needs_an_input_says_so(self) -> None:
        async with served(create_platform()) as client:
            paths = (await client.get("/api/openapi.json")).json()["paths"]
        bodies = {name: paths[f"/api/agents/{name}/runs"]["post"]["requestBody"] for name in ("talker", "newsroom")}
        schemas = {name: body["content"]["application/json"]["schema"] for name, body in bodies.items()}
        for schema in schemas.values():
            assert schema["allOf"][1]["required"] == ["input"]

    @pytest.mark.parametrize(
        ("path", "methods"), [("/api/runs/x", {"GET", "HEAD", "DELETE"}), ("/api/agents", {"GET", "HEAD"})]
    )
    async def test_another_method_is_told_which_there_are(self, path: str, methods: set[str]) -> None:
        async with served(create_platform()) as client:
            refused = await client.put(path)
            assert (await client.head("/api/agents")).status_code == 200
        assert refused.status_code == 405
        assert set(refused.headers["allow"].split(", ")) == methods
