"""Directives for a mesh over HTTP: who may give, read and withdraw them, and the tasks that follow them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tactician import Agent, MemoryStore, Platform
from tactician.mesh import Mesh, Node
from tactician.people.people_file import load_people
from tactician.serve import Person
from tactician.testing import ScriptedModel
from tests.serve.api.serving import served

CHIEF, SEER, CLERK = "chief-has-a-secret", "seer-has-a-secret", "clerk-has-a-secret"
PEOPLE = {
    CHIEF: Person("chief", rights=frozenset({"direct"})),
    SEER: Person("seer", rights=frozenset({"see"})),
    CLERK: Person("clerk", rights=frozenset({"start", "answer"})),
}
GUIDANCE = {"target": "kitchen", "text": "The guest in 801 is a VIP", "seconds": 60}


@pytest.fixture
async def mesh(request: pytest.FixtureRequest) -> AsyncIterator[Mesh]:
    async with Mesh(f"memory://{request.node.name}", name="serve") as mesh:
        yield mesh


def create_desk() -> Platform:
    return Platform(ScriptedModel(), store=MemoryStore())


def use(client: httpx.AsyncClient, token: str) -> httpx.AsyncClient:
    client.headers["Authorization"] = f"Bearer {token}"
    return client


async def test_a_person_with_the_right_directs_in_their_own_name_and_agents_read_it(mesh: Mesh) -> None:
    model = ScriptedModel("Served")
    node = Node("kitchen", Platform(model, store=MemoryStore()), mesh)
    node.offer(Agent("cook", model=model), name="cook")
    async with node, served(create_desk(), people=PEOPLE, mesh=mesh) as client:
        given = await use(client, CHIEF).post("/api/directives", json=GUIDANCE)
        assert await (await mesh.submit("cook", "Dinner", on="kitchen")).result() == "Served"

    directive = given.json()
    assert (given.status_code, directive["by"], directive["target"]) == (201, "chief", "kitchen")
    assert directive["expires_at"] == directive["created_at"] + 60
    prompt = str(model.calls[0].messages)
    assert "[chief | " in prompt
    assert "The guest in 801 is a VIP" in prompt


async def test_it_needs_a_right_of_its_own(mesh: Mesh) -> None:
    async with served(create_desk(), people=PEOPLE, mesh=mesh) as client:
        directive_id = (await use(client, CHIEF).post("/api/directives", json=GUIDANCE)).json()["id"]
        statuses = {}
        for token in PEOPLE:
            use(client, token)
            statuses[token] = (
                (await client.post("/api/directives", json=GUIDANCE)).status_code,
                (await client.get("/api/directives")).status_code,
                (await client.delete("/api/directives/nothing")).status_code,
                (await client.get("/api/agents")).status_code,
            )
        assert statuses == {CHIEF: (201, 200, 404, 403), SEER: (403, 200, 403, 200), CLERK: (403, 403, 403, 200)}
        assert len((await use(client, SEER).get("/api/directives")).json()["directives"]) == 2
        assert (await use(client, CHIEF).delete(f"/api/directives/{directive_id}")).status_code == 200
        assert (await client.delete(f"/api/directives/{directive_id}")).status_code == 404
        assert len((await client.get("/api/directives")).json()["directives"]) == 1
        del client.headers["Authorization"]
        assert (await client.get("/api/directives")).status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [{"target": "node:kitchen"}, {"target": "tag:"}, {"text": " \n"}, {"text": "a" * 2_001}, {"seconds": 0}],
    ids=["kind", "no name", "blank", "long", "no time"],
)
async def test_wrong_guidance_is_refused_and_nothing_is_directed(mesh: Mesh, wrong: dict[str, object]) -> None:
    async with served(create_desk(), mesh=mesh) as client:
        assert (await client.post("/api/directives", json={**GUIDANCE, **wrong})).status_code == 422
        assert (await client.get("/api/directives")).json() == {"directives": []}


async def test_without_a_mesh_there_is_no_such_path() -> None:
    async with served(create_desk()) as client:
        assert (await client.get("/api/directives")).status_code == 404


def test_a_file_of_people_gives_the_right_and_without_rights_a_person_has_it(tmp_path: Path) -> None:
    file = tmp_path / "people.yaml"
    file.write_text(
        f"people:\n  - {{name: Chief, token: {CHIEF}, rights: [direct]}}\n"
        f"  - {{name: Anna, token: {CLERK}}}\n  - {{name: Bert, token: {SEER}, rights: [see]}}\n"
    )
    people = load_people(file, {})

    assert people[CHIEF].rights == {"direct"}
    assert "direct" in people[CLERK].rights
    assert "direct" not in people[SEER].rights
