"""Servers with several agents: a model chooses among them, and each has a card and an endpoint of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from a2a.client import Client
from a2a.client.errors import A2AClientError
from a2a.types import GetTaskRequest, ListTasksRequest
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError

from tactician import Agent, Platform
from tactician.a2a import RemoteAgent
from tactician.errors import Ranked
from tactician.serve import Person, app
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel
from tests.serve.a2a.examples import Greeter
from tests.serve.a2a.sdk import (
    BINDINGS,
    COMPLETED,
    INPUT_REQUIRED,
    REJECTED,
    SETTINGS,
    load_card,
    open_sdk_client,
    read_text,
    send,
)
from tests.serve.a2a.serving import HEADERS, JsonRpc, RefusedError, create_message, serve_a2a
from tests.serve.a2a.test_extended_card import TOKEN, Tokens
from tests.serve.listening import listening

each_binding = pytest.mark.parametrize("binding", BINDINGS, ids=lambda binding: binding.value)


def rank(**confidences: float) -> list[Ranked]:
    """Return the answer of a model that is asked which skill fits."""
    return [Ranked(name, confidence) for name, confidence in confidences.items()]


def create_office(*answers: str) -> tuple[Agent, Agent]:
    """Return two agents, each of which gives these answers."""
    clock = Agent("Clock", description="Tells the time", model=ScriptedModel(*(f"Clock: {text}" for text in answers)))
    cook = Agent("Cook", description="Knows recipes", model=ScriptedModel(*(f"Cook: {text}" for text in answers)))
    return clock, cook


@asynccontextmanager
async def serve_office(
    *rankings: object, answers: tuple[str, ...] = ("one", "two", "three"), store: DocumentStore | None = None
) -> AsyncIterator[tuple[str, ScriptedModel]]:
    """Serve the office, and yield its address and the model that chooses."""
    chooser = ScriptedModel(*rankings)
    async with (
        Platform(chooser, store=MemoryStore() if store is None else store) as platform,
        serve_a2a(platform, *create_office(*answers), settings=SETTINGS) as url,
    ):
        yield url, chooser


@each_binding
async def test_a_model_chooses_the_agent_for_a_message_that_names_none(binding: TransportProtocol) -> None:
    async with (
        serve_office(rank(cook=0.9, clock=0.1), rank(clock=0.8)) as (url, chooser),
        open_sdk_client(url, binding) as client,
    ):
        tasks = [await send(client, text) for text in ("How do I bake bread?", "What time is it?")]

    assert [task.status.state for task in tasks] == [COMPLETED, COMPLETED]
    assert [read_text(task) for task in tasks] == ["Cook: one", "Clock: one"]
    assert [task.artifacts[0].name for task in tasks] == ["cook", "clock"]
    assert "- cook: Knows recipes" in chooser.calls[0].messages[-1].text
    assert "How do I bake bread?" in chooser.calls[0].messages[-1].text


@each_binding
@pytest.mark.parametrize("ranking", [rank(cook=0.5, clock=0.2), rank()], ids=["unsure", "none"])
async def test_a_message_that_fits_no_agent_is_rejected_with_the_names(
    binding: TransportProtocol, ranking: list[Ranked]
) -> None:
    async with serve_office(ranking) as (url, _), open_sdk_client(url, binding) as client:
        task = await send(client, "Sing!")

    assert task.status.state == REJECTED
    assert "No skill fits" in read_text(task)
    assert "`skillId` in the metadata of the message: clock, cook" in read_text(task)


async def test_the_cutoff_of_the_settings_file_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tactician.toml").write_text("[platform.ranking]\nagent_cutoff = 0.95\n")
    monkeypatch.setenv("TACTICIAN_CONFIG", str(tmp_path / "tactician.toml"))
    async with serve_office(rank(cook=0.9)) as (url, _), open_sdk_client(url) as client:
        assert (await send(client, "How do I bake bread?")).status.state == REJECTED


async def test_a_message_that_names_its_agent_asks_no_model() -> None:
    async with serve_office() as (url, chooser), open_sdk_client(url) as client:
        task = await send(client, "How do I bake bread?", skillId="cook")

    assert read_text(task) == "Cook: one"
    assert chooser.calls == []


@pytest.mark.parametrize("skill_id", ["cok", 7])
async def test_a_skill_that_is_not_there_is_refused_with_the_names(skill_id: object) -> None:
    message = create_message("How do I bake bread?", metadata={"skillId": skill_id})
    async with serve_office() as (url, chooser), httpx.AsyncClient() as http:
        with pytest.raises(RefusedError, match=r"There is no skill .*There are: clock, cook") as refused:
            await JsonRpc(http, url).call("SendMessage", {"message": message})

    assert refused.value.code == -32602
    assert chooser.calls == []


async def test_a_conversation_goes_on_with_all_that_was_said() -> None:
    async with (
        serve_office(rank(cook=0.9), rank(cook=0.9), rank(clock=0.9)) as (url, chooser),
        open_sdk_client(url) as client,
    ):
        await send(client, "How do I bake bread?", context_id="talk")
        second = await send(client, "And how long?", context_id="talk")
        third = await send(client, "So when is it ready?", context_id="talk")

    assert [read_text(task) for task in (second, third)] == ["Cook: two", "Clock: one"]
    asked = chooser.calls[2].messages[-1].text
    assert all(text in asked for text in ("How do I bake bread?", "Cook: one", "And how long?", "So when is it ready?"))


async def test_the_choice_outlives_a_restart(tmp_path: Path) -> None:
    @asynccontextmanager
    async def serve_again(chooser: ScriptedModel) -> AsyncIterator[Client]:
        async with (
            Platform(chooser, store=SqliteStore(str(tmp_path / "runs.db"))) as platform,
            serve_a2a(platform.register(Greeter()), create_office("one")[0]) as url,
            open_sdk_client(url) as client,
        ):
            yield client

    async with serve_again(ScriptedModel(rank(greet=0.9))) as client:
        asking = await send(client, "Ada")
    async with serve_again(ScriptedModel()) as client:
        (listed,) = (await client.list_tasks(ListTasksRequest())).tasks
        done = await send(client, "yes", task_id=listed.id)

    assert (asking.status.state, done.status.state) == (INPUT_REQUIRED, COMPLETED)
    assert done.artifacts[0].name == "greet"
    assert done.artifacts[0].parts[0].data.struct_value["text"] == "Hello, Ada!"


@each_binding
async def test_each_agent_has_a_card_and_an_endpoint_of_its_own(binding: TransportProtocol) -> None:
    async with serve_office() as (url, chooser):
        card = await load_card(f"{url}/cook")
        async with open_sdk_client(f"{url}/cook", binding) as client:
            task = await send(client, "How do I bake bread?")
            again = await client.get_task(GetTaskRequest(id=task.id))

    assert (card.name, card.description) == ("Cook", "Knows recipes")
    assert [skill.id for skill in card.skills] == ["cook"]
    *http, over_grpc = card.supported_interfaces
    assert {interface.url for interface in http} == {f"{url}/cook/", f"{url}/cook"}
    assert (over_grpc.protocol_binding, over_grpc.tenant) == ("GRPC", "cook")
    assert read_text(task) == read_text(again) == "Cook: one"
    assert chooser.calls == []


@each_binding
async def test_an_endpoint_has_the_tasks_of_its_agent_only(binding: TransportProtocol) -> None:
    async with (
        serve_office() as (url, _),
        open_sdk_client(f"{url}/cook", binding) as cook,
        open_sdk_client(f"{url}/clock", binding) as clock,
        open_sdk_client(url, binding) as server,
    ):
        task = await send(cook, "How do I bake bread?")
        listed = [(await client.list_tasks(ListTasksRequest())).tasks for client in (cook, clock, server)]
        with pytest.raises(TaskNotFoundError):
            await clock.get_task(GetTaskRequest(id=task.id))
        with pytest.raises(InvalidParamsError, match="no skill 'clock'"):
            await send(cook, "What time is it?", skillId="clock")

    assert [[listed_task.id for listed_task in tasks] for tasks in listed] == [[task.id], [], [task.id]]


async def test_an_agent_that_is_not_there_is_not_found() -> None:
    async with serve_office() as (url, _), httpx.AsyncClient() as http:
        call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        answers = [
            await http.get(f"{url}/nobody/.well-known/agent-card.json"),
            await http.get(f"{url}/nobody/tasks", headers=HEADERS),
            await http.post(f"{url}/nobody/", json=call, headers=HEADERS),
        ]
        with pytest.raises(A2AClientError):
            await load_card(f"{url}/nobody")

    assert [answer.status_code for answer in answers] == [404, 404, 404]


async def test_the_endpoint_of_an_agent_for_authenticated_users_is_theirs() -> None:
    clock, cook = create_office("one")
    async with (
        Platform(ScriptedModel(), store=MemoryStore()) as platform,
        serve_a2a(platform, clock, extended=[cook], backend=Tokens()) as url,
    ):
        with pytest.raises(A2AClientError):
            await load_card(f"{url}/cook")
        card = await load_card(f"{url}/cook", TOKEN)
        remote = await RemoteAgent.discover(f"{url}/cook", headers=TOKEN)
        answer = await remote.run("How do I bake bread?")

    assert [skill.id for skill in card.skills] == ["cook"]
    assert [*card.security_requirements[0].schemes] == ["bearer"]
    assert answer.output == "Cook: one"


@each_binding
async def test_the_application_of_a_platform_has_the_same_endpoints(binding: TransportProtocol) -> None:
    token = "a-token-of-the-clerk"
    people, headers = {token: Person("Anna")}, {"Authorization": f"Bearer {token}"}
    platform = Platform(ScriptedModel(rank(cook=0.9)), store=MemoryStore()).register(*create_office("one", "two"))
    async with (
        platform,
        listening(lambda address: app(platform, people=people, url=address, a2a=SETTINGS)) as address,
        open_sdk_client(address, binding, headers) as server,
        open_sdk_client(f"{address}/a2a/cook", binding, headers) as cook,
    ):
        answers = [read_text(await send(client, "How do I bake bread?")) for client in (server, cook)]

    assert answers == ["Cook: one", "Cook: two"]
