"""Work for the nodes of a mesh over HTTP: requests, status, cancellation, webhooks; people and their rights."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tactician import MemoryStore, Platform, RunContext, runnable
from tactician.conversation import ChatUser
from tactician.mesh import Mesh, Node
from tactician.notifications.webhooks import create_webhook_secret, sign_webhook
from tactician.serve import Person
from tactician.testing import FakeClock, ScriptedModel
from tests.serve.api.serving import Json, served, until

ANNA, BERT, CARL = "anna-has-a-secret", "bert-has-a-secret", "carl-has-a-secret"
PEOPLE = {
    ANNA: Person("anna", rights=frozenset({"start"})),
    BERT: Person("bert", rights=frozenset({"start"})),
    CARL: Person("carl", rights=frozenset({"see"})),
}
SECRET = create_webhook_secret()


class Kitchen:
    """Work that a test lets end."""

    def __init__(self) -> None:
        self.users: list[str] = []
        self.may_end = asyncio.Event()
        self.ended = asyncio.Event()

    async def prepare(self, order: str, context: RunContext) -> str:
        """Prepare a meal."""
        user = context.find(ChatUser)
        self.users.append("" if user is None else user.id)
        try:
            await self.may_end.wait()
        finally:
            self.ended.set()
        return f"{order}, ready"


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


@pytest.fixture
async def mesh(kitchen: Kitchen, request: pytest.FixtureRequest) -> AsyncIterator[Mesh]:
    async with Mesh(f"memory://{request.node.name}", name="serve", webhook_secrets={"orders": SECRET}) as mesh:
        platform = Platform(ScriptedModel(), store=MemoryStore())
        node = Node("kitchen", platform, mesh, max_concurrent=1, queue_limit=1, allows_private_webhooks=True)
        node.offer(runnable(kitchen.prepare), name="prepare-meal")
        node.offer(runnable(kitchen.prepare, name="secret"), allow={"chef"})
        async with node:
            yield mesh


def create_desk() -> Platform:
    return Platform(ScriptedModel(), store=MemoryStore())


async def ask(client: httpx.AsyncClient, input: str = "Wagyu", **fields: object) -> httpx.Response:
    return await client.post("/api/work", json={"capability": "prepare-meal", "input": input, **fields})


async def wait_for(client: httpx.AsyncClient, work_id: str, status: str) -> Json:
    async def look() -> Json | None:
        shown: Json = (await client.get(f"/api/work/{work_id}")).json()
        return shown if shown["status"] == status else None

    return await until(look)


async def test_work_is_accepted_runs_once_and_its_status_survives_the_server(mesh: Mesh, kitchen: Kitchen) -> None:
    store = MemoryStore()
    async with served(Platform(ScriptedModel(), store=store), mesh=mesh) as client:
        first = await ask(client, idempotency_key="order-17", priority="HIGH", seconds=600)
        again = await ask(client, idempotency_key="order-17")
        work = first.json()
        assert (first.status_code, work["status"], work["node"], work["position"]) == (202, "accepted", "kitchen", 0)
        assert again.json()["id"] == work["id"]
        await wait_for(client, work["id"], "running")
        kitchen.may_end.set()
    async with served(Platform(ScriptedModel(), store=store), mesh=mesh) as client:
        done = await wait_for(client, work["id"], "completed")

    assert done["output"] == "Wagyu, ready"
    assert done["usage"] == {"input_tokens": 0, "output_tokens": 0, "cost": 0}
    assert len(kitchen.users) == 1


async def test_cancelled_work_ends_at_its_node(mesh: Mesh, kitchen: Kitchen) -> None:
    async with served(create_desk(), mesh=mesh) as client:
        work = (await ask(client)).json()
        await wait_for(client, work["id"], "running")
        shown = await client.delete(f"/api/work/{work['id']}")
        await asyncio.wait_for(kitchen.ended.wait(), 20)

    assert (shown.json()["status"], shown.json()["output"]) == ("failed", None)
    assert "cancelled by local" in shown.json()["failure"]


async def test_people_need_rights_and_see_their_own_work_only(mesh: Mesh, kitchen: Kitchen) -> None:
    kitchen.may_end.set()
    async with served(create_desk(), people=PEOPLE, mesh=mesh) as client:

        def use(token: str) -> httpx.AsyncClient:
            client.headers["Authorization"] = f"Bearer {token}"
            return client

        work_id = (await ask(use(ANNA), idempotency_key="1")).json()["id"]
        await wait_for(client, work_id, "completed")
        other_id = (await ask(use(BERT), idempotency_key="1")).json()["id"]
        await wait_for(client, other_id, "completed")
        assert other_id != work_id, "a key is a person's own"
        assert (await client.get(f"/api/work/{work_id}")).status_code == 404
        assert (await client.delete(f"/api/work/{work_id}")).status_code == 404
        assert (await use(CARL).get(f"/api/work/{work_id}")).status_code == 200
        assert (await ask(client)).status_code == 403
        assert (await client.delete(f"/api/work/{work_id}")).status_code == 403
        del client.headers["Authorization"]
        assert (await ask(client)).status_code == 401
    assert kitchen.users == ["anna", "bert"]


async def test_refusals_have_statuses(mesh: Mesh, kitchen: Kitchen) -> None:
    async with served(create_desk(), mesh=mesh) as client:
        work = (await ask(client)).json()
        await wait_for(client, work["id"], "running")
        assert (await ask(client)).status_code == 202
        full = await ask(client)
        refused = {
            name: (await client.post("/api/work", json={"capability": name, "node": "kitchen"})).status_code
            for name in ("sing", "secret")
        }
        bad = await client.post("/api/work", json={"capability": "prepare-meal", "priority": "URGENT"})
        kitchen.may_end.set()

    assert (full.status_code, full.json()["error"]["type"]) == (429, "RequestRejectedError")
    assert int(full.headers["retry-after"]) >= 1
    assert refused == {"sing": 404, "secret": 403}
    assert bad.status_code == 422


async def test_work_that_must_meet_its_deadline_is_refused_when_the_node_expects_to_miss_it() -> None:
    clock, kitchen = FakeClock(), Kitchen()
    async with Mesh("memory://work-deadline", name="serve", clock=clock) as mesh:
        node = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore(), clock=clock), mesh, max_concurrent=1)
        node.offer(runnable(kitchen.prepare), name="prepare-meal")
        async with node, served(create_desk(), mesh=mesh) as client:
            measured = (await ask(client)).json()
            await wait_for(client, measured["id"], "running")
            clock.advance(60)
            kitchen.may_end.set()
            await wait_for(client, measured["id"], "completed")
            answers = [
                await ask(client, seconds=30, must_meet_deadline=True),
                await ask(client, seconds=30),
                await ask(client, seconds=600, must_meet_deadline=True),
                await ask(client, must_meet_deadline=True),
            ]

    assert [answer.status_code for answer in answers] == [503, 202, 202, 422]
    assert "cannot meet the deadline" in answers[0].json()["error"]["message"]


async def test_the_reply_is_posted_to_a_webhook(mesh: Mesh, kitchen: Kitchen) -> None:
    posted: asyncio.Queue[tuple[dict[str, str], bytes]] = asyncio.Queue()

    async def take(request: web.Request) -> web.Response:
        posted.put_nowait((dict(request.headers), await request.read()))
        return web.Response()

    application = web.Application()
    application.router.add_post("/hook", take)
    kitchen.may_end.set()
    async with TestServer(application) as server, served(create_desk(), mesh=mesh) as client:
        hook = {"url": str(server.make_url("/hook")), "secret": "orders"}
        work = (await ask(client, webhook=hook)).json()
        headers, body = await asyncio.wait_for(posted.get(), 20)

    signed = sign_webhook(SECRET, f"msg_{work['id']}", int(headers["webhook-timestamp"]), body)
    assert headers["webhook-signature"] == signed["webhook-signature"]
    assert json.loads(body)["output"] == "Wagyu, ready"


async def test_without_a_mesh_there_is_no_such_path_and_with_one_it_is_described(mesh: Mesh) -> None:
    async with served(create_desk()) as client:
        assert (await ask(client)).status_code == 404
    async with served(create_desk(), mesh=mesh) as client:
        paths = (await client.get("/api/openapi.json")).json()["paths"]
    assert {*paths["/api/work/{work_id}"]} == {"get", "delete"}
