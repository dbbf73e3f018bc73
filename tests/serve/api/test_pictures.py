"""Pictures over HTTP: uploaded, sent by reference, and returned by addresses that need the same permission."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tactician import Agent, Ai, Platform, UserInput, achieves_goal, action, planned_agent, tool
from tactician.llm import Image
from tactician.serve import Person, RequestLimits, app
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import find, read_events, served, start

ANNA, BERT, TALKER = "anna-has-a-secret", "bert-has-a-secret", "a-talker-has-a-secret"
PEOPLE = {ANNA: Person("anna"), BERT: Person("bert"), TALKER: Person("carl", rights=frozenset({"start", "answer"}))}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
NAME = sha256(PNG).hexdigest()
URL = f"/api/pictures/{NAME}"


@tool
def paint() -> Image:
    """Paint."""
    return Image.from_bytes(PNG)


def as_person(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def create_platform(store: DocumentStore) -> Platform:
    talker = Agent("Talker", model=ScriptedModel(*["Hello."] * 9))
    painter = Agent("Painter", model=ScriptedModel(*[ToolCall("paint"), "There."] * 3), tools=[paint])
    return Platform(ScriptedModel("A cat."), store=store).register(talker, painter, Studio())


@pytest.fixture(params=["memory", "sqlite"])
def platform(request: pytest.FixtureRequest, tmp_path: Path) -> Platform:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "pictures.db")
    return create_platform(store)


async def send(client: httpx.AsyncClient, *pictures: str, agent: str = "talker") -> httpx.Response:
    body = {"agent": agent, "message": "Look", "pictures": pictures}
    return await client.post("/api/conversations/c/messages", json=body)


def find_urls(value: object) -> list[str]:
    """Return the addresses of all pictures in data."""
    if isinstance(value, list):
        return [url for item in value for url in find_urls(item)]
    if not isinstance(value, dict):
        return []
    if value.get("kind") == "image":
        assert value["data"] is None
        return [value["url"]]
    return [url for item in value.values() for url in find_urls(item)]


class TestAnswers:
    async def test_a_conversation_has_addresses(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            assert (await send(client, base64.b64encode(PNG).decode())).status_code == 200
            shown = (await client.get("/api/conversations/c")).json()
            (url,) = find_urls(shown)
            picture = await client.get(url)

            assert url == f"/api/conversations/c/pictures/{NAME}"
            assert (picture.content, picture.headers["content-type"]) == (PNG, "image/png")
            assert picture.headers["x-content-type-options"] == "nosniff"
            assert picture.headers["cache-control"] == "private, max-age=31536000, immutable"
            assert "default-src 'none'" in picture.headers["content-security-policy"]

    async def test_a_picture_is_not_sent_again(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            await send(client, base64.b64encode(PNG).decode())
            url = f"/api/conversations/c/pictures/{NAME}"
            tag = (await client.get(url)).headers["etag"]
            again = await client.get(url, headers={"If-None-Match": tag})

            assert (again.status_code, again.content) == (304, b"")

    async def test_whoever_may_not_see_the_conversation_gets_no_picture(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            await send(client, base64.b64encode(PNG).decode())
            url = f"/api/conversations/c/pictures/{NAME}"

            assert (await client.get(url, headers=as_person(BERT))).status_code == 404
            assert (await client.get(url, headers={"Authorization": ""})).status_code == 401
            assert (await client.get(f"/api/conversations/c/pictures/{'0' * 64}")).status_code == 404

    async def test_pictures_of_tools_have_addresses_too(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            done = await send(client, agent="painter")
            (url,) = find_urls((await client.get("/api/conversations/c")).json())
            details = (await client.get(f"/api/runs/{done.json()['run_id']}/details")).json()
            shown = set(find_urls(details))

            assert (await client.get(url)).content == PNG
            assert shown
            assert {(await client.get(address)).content for address in shown} == {PNG}
            assert base64.b64encode(PNG).decode() not in json.dumps(details)

    @pytest.mark.parametrize("brief", ["true", "false"])
    async def test_events_have_addresses(self, platform: Platform, brief: str) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            run_id = (await send(client, base64.b64encode(PNG).decode(), agent="painter")).json()["run_id"]
            events = await client.get(f"/api/runs/{run_id}/events", params={"brief": brief})
            urls = {url for _, _, data in read_events(events.text) for url in find_urls(json.loads(data))}

            assert urls
            assert {(await client.get(url)).content for url in urls} == {PNG}
            assert base64.b64encode(PNG).decode() not in events.text


SMALL = b"\x89PNG\r\n\x1a\n" + bytes(100)
PHOTO = b"\x89PNG\r\n\x1a\n" + bytes(range(200)) * 8


@tool
def paint_small() -> Image:
    """Paint something small."""
    return Image.from_bytes(SMALL)


@dataclass
class Draft:
    text: str


@planned_agent(description="Lets another agent paint")
class Studio:
    @action
    async def look(self, wish: UserInput, ai: Ai) -> Draft:
        return Draft(await ai.with_image(Image.from_bytes(PHOTO)).generate_text("What is this?"))

    @achieves_goal("It is painted")
    @action
    async def paint(self, draft: Draft) -> str:
        model = ScriptedModel(ToolCall("paint"), ToolCall("paint_small"), "There.")
        return (await Agent("Inner", model=model, tools=[paint, paint_small]).run(draft.text)).output


class TestStoredEvents:
    @pytest.fixture(params=["memory", "sqlite"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> DocumentStore:
        return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "pictures.db")

    @pytest.mark.parametrize("agent", ["painter", "studio"])
    async def test_they_have_addresses_after_a_restart(self, store: DocumentStore, agent: str) -> None:
        async with served(create_platform(store), people=PEOPLE, token=ANNA) as client:
            run_id = await start(client, agent, "Look")
            await find(client, run_id, "completed")
            before = await self.read_urls(client, run_id)
        async with served(create_platform(store), people=PEOPLE, token=BERT) as client:
            after = await self.read_urls(client, run_id)
            found = {url: await client.get(url) for url in after}
            other = await start(client, "talker", "Hello")
            elsewhere = [url.replace(run_id, other) for url in after]

            assert before == after != set()
            assert {sha256(done.content).hexdigest() for done in found.values()} == {url[-64:] for url in after}
            assert {done.headers["content-type"] for done in found.values()} == {"image/png"}
            assert [(await client.get(url)).status_code for url in elsewhere] == [404] * len(elsewhere)
            client.headers.update(as_person(TALKER))
            assert [(await client.get(url)).status_code for url in after] == [404] * len(after)

    async def test_without_capture_there_are_none(self, store: DocumentStore) -> None:
        platform, agent = (
            create_platform(store),
            Agent("Secret", model=ScriptedModel(ToolCall("paint"), "There."), tools=[paint]),
        )
        async with served(platform.register(agent), people=PEOPLE, token=ANNA) as client:
            run_id = (await agent.run("Look", context=platform.context().with_capture("off"))).run_id
            assert await self.read_urls(client, run_id) == set()
            assert (await client.get(f"/api/runs/{run_id}/pictures/{NAME}")).status_code == 404

    async def read_urls(self, client: httpx.AsyncClient, run_id: str) -> set[str]:
        events = await client.get(f"/api/runs/{run_id}/events", params={"brief": "true"})
        assert "sha256:" not in events.text
        return {url for _, _, data in read_events(events.text) for url in find_urls(json.loads(data))}


class TestUploads:
    async def test_a_picture_is_uploaded_and_sent(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            uploaded = await client.post("/api/pictures", content=PNG)
            sent = await send(client, uploaded.json()["url"])
            (url,) = find_urls((await client.get("/api/conversations/c")).json())

            assert uploaded.status_code == 201
            assert uploaded.json() == {"id": NAME, "url": URL, "media_type": "image/png"}
            assert (await client.get(URL)).content == (await client.get(url)).content == PNG
            assert sent.status_code == 200

    async def test_a_run_is_started_with_a_picture(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            await client.post("/api/pictures", content=PNG)
            started = await client.post("/api/agents/talker/runs", json={"input": "Look", "pictures": [URL]})
            run_id = started.json()["id"]
            await find(client, run_id, "completed")
            details = (await client.get(f"/api/runs/{run_id}/details")).json()

            assert {(await client.get(url)).content for url in find_urls(details)} == {PNG}

    async def test_nobody_finds_the_upload_of_another(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            await client.post("/api/pictures", content=PNG)
            body = {"agent": "talker", "message": "Look", "pictures": [URL]}

            assert (await client.get(URL, headers=as_person(BERT))).status_code == 404
            refused = await client.post("/api/conversations/b/messages", json=body, headers=as_person(BERT))
            assert (refused.status_code, refused.json()["error"]["message"]) == (
                404,
                f"pictures: the upload {NAME} no longer exists, or is not yours.",
            )

    async def test_what_is_no_picture_is_refused(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            refused = await client.post("/api/pictures", content=b"<svg onload=alert(1)>")

            assert refused.status_code == 400
            assert refused.json()["error"]["message"].startswith("The body is no picture: ")

    async def test_the_oldest_uploads_of_many_are_deleted(self, platform: Platform) -> None:
        async with served(platform, people=PEOPLE, token=ANNA) as client:
            urls = [
                (await client.post("/api/pictures", content=PNG + bytes([number]))).json()["url"]
                for number in range(102)
            ]

            assert [(await client.get(url)).status_code for url in (urls[1], urls[2], urls[-1])] == [404, 200, 200]

    async def test_an_upload_is_kept_for_a_day(self) -> None:
        now = [1_000.0]
        clock: Callable[[], float] = lambda: now[0]  # noqa: E731
        async with served(create_platform(MemoryStore(clock)), people=PEOPLE, token=ANNA) as client:
            await client.post("/api/pictures", content=PNG)
            now[0] += 24 * 60 * 60 - 1
            await client.post("/api/pictures", content=PNG + b"2")
            kept = await client.get(URL)
            now[0] += 1
            await client.post("/api/pictures", content=PNG + b"3")
            gone = await client.get(URL)

        assert (kept.status_code, gone.status_code) == (200, 404)

    async def test_pictures_have_a_limit_of_their_own(self) -> None:
        limits = RequestLimits(body=1_000, upload=10_000)
        async with served(create_platform(MemoryStore()), people=PEOPLE, token=ANNA, limits=limits) as client:
            codes = [
                (await client.post(path, content=PNG + bytes(length))).status_code
                for path, length in (
                    ("/api/pictures", 0),
                    ("/api/pictures", 10_000),
                    ("/api/pictures/", 0),
                    ("/api/conversations/c/messages", 0),
                )
            ]

        assert codes == [201, 413, 413, 413]


async def test_addresses_are_those_of_a_server_inside_another() -> None:
    inner = app(create_platform(MemoryStore()), people=PEOPLE, limits=RequestLimits(body=1_000))
    transport = httpx.ASGITransport(app=Starlette(routes=[Mount("/agents", app=inner)]), client=("127.0.0.1", 1))
    async with (
        inner.router.lifespan_context(inner),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=as_person(ANNA)) as client,
    ):
        uploaded = (await client.post("/agents/api/pictures", content=PNG)).json()["url"]
        body = {"agent": "talker", "message": "Look", "pictures": [uploaded]}
        await client.post("/agents/api/conversations/c/messages", json=body)
        (url,) = find_urls((await client.get("/agents/api/conversations/c")).json())

        assert (uploaded, url) == (f"/agents{URL}", f"/agents/api/conversations/c/pictures/{NAME}")
        assert (await client.get(url)).content == (await client.get(uploaded)).content == PNG
