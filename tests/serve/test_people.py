"""The person who starts a run, over any protocol, is whom its code works for, whoever answers or continues it."""

from __future__ import annotations

from pathlib import Path

import httpx
import httpx2
import pytest
from ag_ui.core import RunFinishedEvent, RunFinishedInterruptOutcome
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tactician import (
    Agent,
    Platform,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    confirm,
    planned_agent,
    runnable,
    tool,
)
from tactician.a2a import RemoteAgent
from tactician.conversation import ChatUser
from tactician.rag import Library, RagTools, parse_markdown
from tactician.serve import Person, app
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.ag_ui.newsroom import ask, read_stream
from tests.serve.api.serving import Json, find, served, start
from tests.serve.listening import listening
from tests.serve.mcp.kitchen import read

ANNA, BERT = "anna-has-a-secret", "bert-has-a-secret"
PEOPLE = {ANNA: Person("anna"), BERT: Person("bert")}


def name_user() -> str:
    user = RunContext.current().find(ChatUser)
    return "nobody" if user is None else user.id


@tool
def who() -> str:
    """Say who asks."""
    return name_user()


async def say_name(_: str) -> str:
    return name_user()


@tool(needs_approval=True)
def who_may() -> str:
    """Say who asks, if somebody allows it."""
    return name_user()


@planned_agent(description="Says who asks, once somebody agrees")
class Clerk:
    @achieves_goal("It is said")
    @action
    async def say(self, message: UserInput) -> str:
        await confirm(message, "May I?")
        return name_user()


def as_person(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def create_platform(path: Path | None = None, *answers: str | ToolCall) -> Platform:
    """Return a platform with a clerk, an asker that calls a tool at once, and a guard that waits before it does.

    Args:
        path: file of the store; a store in memory by default.
        *answers: answers of the guard.
    """
    asker = Agent("asker", description="Asks", model=ScriptedModel(*[ToolCall("who"), "Said."] * 2), tools=[who])
    guard = Agent("guard", model=ScriptedModel(*answers), tools=[who_may])
    store = MemoryStore() if path is None else SqliteStore(str(path))
    return Platform(ScriptedModel(), store=store).register(asker, guard, Clerk())


async def list_results(client: httpx.AsyncClient, run_id: str) -> list[str]:
    """Return what the tools of a run gave."""
    done = await client.get(f"/api/runs/{run_id}/details")
    assert done.status_code == 200, done.text
    details = done.json()
    return [message["content"] for message in details["messages"] if message["role"] == "tool"]


class TestRuns:
    async def test_tools_of_a_plain_agent_know_who_started_it(self) -> None:
        async with served(create_platform(), people=PEOPLE) as client:
            client.headers.update(as_person(BERT))
            run_id = await start(client, "asker", "Who?")
            await find(client, run_id, "completed")
            assert await list_results(client, run_id) == ["bert"]

    async def test_without_tokens_nobody_has_started_it(self) -> None:
        async with served(create_platform()) as client:
            run_id = await start(client, "asker", "Who?")
            await find(client, run_id, "completed")
            assert await list_results(client, run_id) == ["nobody"]

    async def test_a_scope_shows_what_the_person_may_see(self) -> None:
        library = Library()
        for reader, text in (("anna", "The code of the safe is 1234."), ("bert", "The code of the bike is 77.")):
            await library.add(parse_markdown(f"# Note\n\n{text}\n", f"{reader}.md", metadata={"reader": reader}))
        rag = RagTools("notes", "Notes", library, scope=lambda _: {"reader": name_user()})
        model = ScriptedModel(ToolCall("notes_text_search", query="code"), "Done.")
        platform = Platform(ScriptedModel(), store=MemoryStore())
        platform.register(Agent("reader", model=model, references=[rag]))
        async with served(platform, people=PEOPLE) as client:
            client.headers.update(as_person(ANNA))
            run_id = await start(client, "reader", "The code?")
            await find(client, run_id, "completed")
            (found,) = await list_results(client, run_id)

        assert ("1234" in found, "77" in found) == (True, False)

    @pytest.mark.parametrize("agent", ["guard", "clerk"])
    async def test_another_person_answers_after_a_restart(self, tmp_path: Path, agent: str) -> None:
        async with served(create_platform(tmp_path / "runs.db", ToolCall("who_may")), people=PEOPLE) as client:
            client.headers.update(as_person(ANNA))
            run_id = await start(client, agent, "Who?")
            (request,) = (await find(client, run_id, "waiting"))["pending"]
        async with served(create_platform(tmp_path / "runs.db", "Said."), people=PEOPLE) as client:
            client.headers.update(as_person(BERT))
            answer = {"request": request["id"], "response": True}
            assert (await client.post(f"/api/runs/{run_id}/answers", json=answer)).status_code == 200
            done = await find(client, run_id, "completed")
            said = await list_results(client, run_id) if agent == "guard" else [done["output"]]

        assert said == ["anna"]


@pytest.mark.parametrize("agent", ["guard", "clerk"])
async def test_ag_ui_after_an_interrupt(tmp_path: Path, agent: str) -> None:
    async def call(client: httpx.AsyncClient, token: str, body: Json) -> RunFinishedEvent:
        client.headers.update(as_person(token))
        done = await client.post(f"/agui/{agent}", json=body)
        last = read_stream(done.text)[-1]
        assert isinstance(last, RunFinishedEvent), done.text
        return last

    async with served(create_platform(tmp_path / "runs.db", ToolCall("who_may")), people=PEOPLE) as client:
        asked = (await call(client, ANNA, ask("Who?"))).outcome
    assert isinstance(asked, RunFinishedInterruptOutcome)
    payload = {"approved": True} if agent == "guard" else True
    resume = [{"interruptId": asked.interrupts[0].id, "status": "resolved", "payload": payload}]
    async with served(create_platform(tmp_path / "runs.db", "Said."), people=PEOPLE) as client:
        done = await call(client, BERT, ask(resume=resume))
        said = (
            await list_results(client, asked.interrupts[0].id.partition(":")[0]) if agent == "guard" else [done.result]
        )

    assert said == ["anna"]


@pytest.mark.parametrize("has_tokens", [True, False])
async def test_mcp_and_a2a(has_tokens: bool) -> None:
    namer = runnable(say_name, name="Namer", description="Says who asks")
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(namer)
    people, headers = (PEOPLE, as_person(ANNA)) if has_tokens else (None, {})
    async with platform, listening(lambda address: app(platform, people=people, url=address)) as address:
        remote = await RemoteAgent.discover(address, allow_private=True, headers=headers)
        over_a2a = (await remote.run("Who?")).output
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
        ):
            over_mcp = read(await client.call_tool("namer", {"request": "Who?"}))

    expected = "anna" if has_tokens else "nobody"
    assert (over_a2a, over_mcp) == (expected, expected)
