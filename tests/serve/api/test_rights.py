"""Who may do what over HTTP: a table of all operations, and what each person sees of the runs of others."""

from __future__ import annotations

import asyncio
import json
from typing import Final, NamedTuple

import httpx
import pytest

from tactician.serve import Person, app
from tactician.serve.api.application import OPERATIONS
from tests.serve.api.serving import create_platform, find, served, start, until
from tests.serve.listening import listening

SEER, ANNA, BERT, EDITOR, NOBODY = (f"{name}-has-a-secret" for name in ("seer", "anna", "bert", "edith", "nobody"))
PEOPLE = {
    SEER: Person("seer", rights=frozenset({"see"})),
    ANNA: Person("anna", rights=frozenset({"start", "answer"})),
    BERT: Person("bert", rights=frozenset({"start", "answer"})),
    EDITOR: Person("edith", frozenset({"editor"}), frozenset({"answer"})),
    NOBODY: Person("nobody", rights=frozenset()),
}
MESSAGE: Final = {"agent": "talker", "message": "Hello"}


class Case(NamedTuple):
    """Statuses of an operation for the people: one who sees, the owner of the run, another, an editor, nobody."""

    statuses: tuple[int, int, int, int, int]
    body: object = None


READERS: Final = Case((200, 200, 200, 403, 403))
"""What everybody who sees or starts runs may ask for."""
ANYBODY: Final = Case((200, 200, 200, 200, 403))
SEERS: Final = Case((200, 403, 403, 403, 403))
OWNERS: Final = Case((200, 200, 404, 403, 403))
"""What is shown of the run that Anna has started."""
EVERYBODY: Final = Case((200, 200, 200, 200, 200))
CASES: Final = {
    "GET /livez": EVERYBODY,
    "GET /readyz": EVERYBODY,
    "GET /metrics": SEERS,
    "GET /api/me": EVERYBODY,
    "GET /api/requests": ANYBODY,
    "GET /api/models": SEERS,
    "GET /api/store": SEERS,
    "GET /api/experience": SEERS,
    "GET /api/evaluations": SEERS,
    "GET /api/evaluations/{evaluation_id}": Case((404, 403, 403, 403, 403)),
    "GET /api/evaluations/{evaluation_id}/comparison": Case((404, 403, 403, 403, 403)),
    "GET /api/agents": READERS,
    "GET /api/agents/{agent_id}": READERS,
    "GET /api/agents/{agent_id}/diagram": READERS,
    "POST /api/agents/{agent_id}/runs": Case((403, 202, 202, 403, 403), {"input": "Hello"}),
    "POST /api/conversations/{conversation_id}/messages": Case((403, 200, 404, 403, 403), MESSAGE),
    "GET /api/conversations": EVERYBODY,
    "GET /api/conversations/{conversation_id}": Case((404, 200, 404, 404, 404)),
    "GET /api/conversations/{conversation_id}/pictures/{picture_id}": Case((404, 404, 404, 404, 404)),
    "DELETE /api/conversations/{conversation_id}": Case((403, 200, 200, 403, 403)),
    "POST /api/pictures": Case((403, 400, 400, 403, 403)),
    "GET /api/pictures/{picture_id}": Case((403, 404, 404, 403, 403)),
    "GET /api/runs": READERS,
    "GET /api/waiting": ANYBODY,
    "GET /api/runs/{run_id}": Case((200, 200, 404, 404, 403)),
    "GET /api/runs/{run_id}/details": OWNERS,
    "GET /api/runs/{run_id}/pictures/{picture_id}": Case((404, 404, 404, 403, 403)),
    "GET /api/runs/{run_id}/steps": OWNERS,
    "POST /api/runs/{run_id}/answers": Case((403, 409, 404, 404, 403), {"request": "x", "response": True}),
    "POST /api/runs/{run_id}/resume": Case((403, 409, 404, 403, 403)),
    "DELETE /api/runs/{run_id}": Case((403, 409, 404, 403, 403)),
    "GET /api/runs/{run_id}/events": OWNERS,
    "GET /api/events": Case((200, 200, 200, 403, 403)),
    "GET /api/runs/{run_id}/plans": OWNERS,
    "GET /api/runs/{run_id}/trace": OWNERS,
    "POST /agui/{agent_id}": Case((403, 422, 422, 422, 403)),
    "POST /mcp": Case((403, 400, 400, 403, 403), {}),
}
ENDLESS: Final = frozenset({"GET /api/events"})


def use(client: httpx.AsyncClient, token: str) -> None:
    client.headers["Authorization"] = f"Bearer {token}"


def test_the_table_has_every_operation() -> None:
    listed = {f"{operation.method} {operation.path}" for operation in OPERATIONS}
    assert listed == {case for case in CASES if not case.startswith(("POST /agui", "POST /mcp"))}


@pytest.mark.parametrize("operation", CASES)
async def test_statuses(operation: str) -> None:
    async with served(create_platform(), people=PEOPLE) as client:
        use(client, ANNA)
        run_id = await start(client, "talker", "Hello")
        await find(client, run_id, "completed")
        await client.post("/api/conversations/c/messages", json=MESSAGE)
        method, path = operation.split(" ")
        path = path.format(
            agent_id="talker", run_id=run_id, conversation_id="c", picture_id="0" * 64, evaluation_id="e"
        )
        found = []
        for token, status in zip(PEOPLE, CASES[operation].statuses, strict=True):
            if operation in ENDLESS and status == 200:
                found.append(status)
                continue
            use(client, token)
            done = await client.request(method, path, json=CASES[operation].body)
            found.append(done.status_code)

        assert tuple(found) == CASES[operation].statuses


async def test_lists_have_the_runs_of_the_person() -> None:
    async with served(create_platform(), people=PEOPLE) as client:
        started = {}
        for token in (ANNA, BERT):
            use(client, token)
            started[token] = await start(client, "talker", "Hello")
            await find(client, started[token], "completed")
        shown = {}
        for token in (SEER, ANNA, BERT):
            use(client, token)
            shown[token] = {run["id"] for run in (await client.get("/api/runs")).json()["runs"]}

        assert shown == {SEER: set(started.values()), ANNA: {started[ANNA]}, BERT: {started[BERT]}}


async def test_a_conversation_is_a_run_of_the_person() -> None:
    async with served(create_platform(), people=PEOPLE) as client:
        use(client, ANNA)
        run_id = (await client.post("/api/conversations/c/messages", json=MESSAGE)).json()["run_id"]
        assert [run["id"] for run in (await client.get("/api/runs")).json()["runs"]] == [run_id]
        assert (await client.get(f"/api/runs/{run_id}/details")).status_code == 200
        use(client, BERT)
        assert (await client.get(f"/api/runs/{run_id}/details")).status_code == 404


async def test_requests_without_a_role_are_for_those_who_see_the_run() -> None:
    async with served(create_platform(), people=PEOPLE) as client:
        use(client, ANNA)
        run_id = await start(client, "cashier", "Pay 5")
        (request,) = (await find(client, run_id, "waiting"))["pending"]
        answer = {"request": request["id"], "response": True}
        shown = {}
        for token in (SEER, ANNA, BERT, EDITOR):
            use(client, token)
            requests = (await client.get("/api/requests")).json()["requests"]
            waiting = (await client.get("/api/waiting")).json()["runs"]
            shown[token] = [entry["request"]["may_answer"] for entry in requests], [run["id"] for run in waiting]
        use(client, BERT)
        resumed = await client.post(f"/api/runs/{run_id}/resume")
        refused = await client.post(f"/api/runs/{run_id}/answers", json=answer)
        use(client, ANNA)
        taken = await client.post(f"/api/runs/{run_id}/answers", json=answer)

        assert shown == {SEER: ([False], [run_id]), ANNA: ([True], [run_id]), BERT: ([], []), EDITOR: ([], [])}
        assert (resumed.status_code, refused.status_code, taken.status_code) == (404, 404, 200)
        assert request["prompt"] not in resumed.text + refused.text


async def test_people_with_a_role_see_what_is_asked_of_it_and_no_more() -> None:
    async with served(create_platform(), people=PEOPLE) as client:
        use(client, ANNA)
        run_id = await start(client, "newsroom", {"topic": "frogs"})
        (own,) = (await find(client, run_id, "waiting"))["pending"]
        use(client, EDITOR)
        ((entry,), (waiting,)) = (
            (await client.get("/api/requests")).json()["requests"],
            (await client.get("/api/waiting")).json()["runs"],
        )
        shown = (await client.get(f"/api/runs/{run_id}")).json()
        answer = {"request": own["id"], "response": {"decision": "approve"}}
        answered = await client.post(f"/api/runs/{run_id}/answers", json=answer)
        gone = await client.get(f"/api/runs/{run_id}")
        use(client, ANNA)
        done = await find(client, run_id, "completed")

        assert own["may_answer"] is False
        assert (entry["run_id"], entry["request"]["may_answer"]) == (run_id, True)
        assert waiting == shown
        assert [request["id"] for request in shown["pending"]] == [own["id"]]
        assert (answered.status_code, gone.status_code) == (200, 404), answered.text
        concealed = answered.json()
        assert (concealed["id"], concealed["output"], concealed["result"], concealed["pending"]) == (
            run_id,
            "",
            None,
            [],
        )
        assert done["output"] == "Frogs are nice."


async def test_a_stream_of_all_events_has_those_of_the_person() -> None:
    platform = create_platform()
    async with (
        platform,
        listening(lambda _: app(platform, people=PEOPLE)) as address,
        httpx.AsyncClient(base_url=address) as client,
    ):
        use(client, ANNA)
        reading = asyncio.create_task(_read_run_ids(client))
        other = httpx.AsyncClient(base_url=address)
        async with other:
            runs = {}
            for token in (BERT, ANNA):
                use(other, token)
                runs[token] = (await other.post("/api/conversations/" + token + "/messages", json=MESSAGE)).json()
            async with asyncio.timeout(20):
                found = await reading

    assert found == {runs[ANNA]["run_id"]}


async def _read_run_ids(client: httpx.AsyncClient) -> set[str]:
    """Return the ids of the outermost runs of which events come, until such a run has ended."""
    found: set[str] = set()
    async with client.stream("GET", "/api/events") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                if len(event["path"]) == 1:
                    found.add(event["run_id"])
                    if event["type"] == "RunEnded":
                        return found
    return found


async def test_ag_ui_takes_answers_for_visible_runs_only() -> None:
    async with served(create_platform(), people=PEOPLE) as client:
        use(client, ANNA)
        run_id = await start(client, "cashier", "Pay 5")
        (request,) = (await find(client, run_id, "waiting"))["pending"]
        resume = [{"interruptId": f"{run_id}:{request['id']}", "status": "resolved", "payload": {"approved": True}}]
        body = {"threadId": "t", "runId": "r", "state": {}, "messages": [], "tools": [], "context": []}
        use(client, BERT)
        refused = await client.post("/agui/cashier", json={**body, "resume": resume})
        use(client, ANNA)
        waits = (await client.get(f"/api/runs/{run_id}")).json()
        taken = await client.post("/agui/cashier", json={**body, "resume": resume})

        assert "There is no run" in refused.text
        assert waits["status"] == "waiting"
        assert "RUN_FINISHED" in taken.text, taken.text
        await until(lambda: _find_completed(client, run_id))


async def _find_completed(client: httpx.AsyncClient, run_id: str) -> dict[str, object] | None:
    shown: dict[str, object] = (await client.get(f"/api/runs/{run_id}")).json()
    return shown if shown["status"] == "completed" else None
