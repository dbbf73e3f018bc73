"""Answers are kept without being continued here: they survive restarts, count once, and end with the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from tactician import Platform, UserInput, achieves_goal, action, planned_agent
from tactician.agents import BaseRunnable
from tactician.errors import (
    AgentNotFoundError,
    AlreadyAnsweredError,
    ConfigurationError,
    ResponseError,
    RunConflictError,
    RunNotFoundError,
)
from tactician.people.person import Person
from tactician.platform import Worker
from tactician.process import ask_human
from tactician.runs import Input, PendingRequest, RunContext, RunResult, RunStatus
from tactician.runs.outcomes.suspension import Suspended
from tactician.stores import DocumentStore, MemoryStore, open_store
from tactician.testing import ScriptedModel
from tests.serve.api.serving import find, served, start
from tests.stores import postgres

REPLY: Final = "meal"


class Waiter(BaseRunnable[object]):
    """Runnable that waits for the reply of another program, as a caller of a mesh does."""

    def __init__(self, name: str = "Waiter") -> None:
        self.name = name
        self.description = "Waits for a reply"

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        if REPLY not in context.responses:
            raise Suspended(PendingRequest(REPLY, "reply", "The kitchen cooks", path=context.path))
        return RunResult(f"{input}: {context.responses[REPLY]}", tally=context.tally, run_id=context.run_id)


@planned_agent(name="Guest", description="Has a meal that another program cooks")
class Guest:
    @achieves_goal("fed")
    @action
    async def eat(self, topic: UserInput) -> str:
        return f"{topic.content}: {await ask_human(str, 'Which meal?')}"


Open = Callable[[], Platform]


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.running(postgres.installed()) as server:
        yield server


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Return what opens a platform over the same store, as each program does."""
    async with AsyncExitStack() as stack:
        shared = MemoryStore()
        url = "" if request.param == "memory" else postgres.create_store_url(request, tmp_path)

        def open_platform() -> Platform:
            store: DocumentStore = open_store(url) if url else shared
            stack.push_async_callback(store.aclose)
            return Platform(ScriptedModel(), store=store)

        yield open_platform


async def begin(platform: Platform, name: str) -> tuple[str, str]:
    """Let a run begin, and return its id and that of the request that it waits for."""
    run_id = await platform.enqueue(name, "room 403")
    await Worker(platform).run_once()
    view = (await platform.tree(run_id)).run
    (request,) = view.pending
    return run_id, request.id


async def status(platform: Platform, run_id: str) -> str:
    return (await platform.tree(run_id)).run.status


@pytest.mark.parametrize("name", ["Waiter", "Guest"])
async def test_a_program_that_does_not_know_the_agent_keeps_the_answer_and_another_continues(
    name: str, opened: Open
) -> None:
    first, second = opened().register(Waiter(), Guest()), opened()
    run_id, request_id = await begin(first, name)

    assert await second.keep_answers(run_id, {request_id: "wagyu"}, by="kitchen", key="reply-1")

    assert await status(second, run_id) == "waiting"
    assert not await Worker(second).run_once()
    third = opened().register(Waiter(), Guest())  # the first has died
    assert await Worker(third).run_once()
    assert await third.output(run_id) == "room 403: wagyu"


@pytest.mark.parametrize("name", ["Waiter", "Guest"])
async def test_the_first_answer_counts_and_its_repetition_is_no_error(name: str, opened: Open) -> None:
    platform = opened().register(Waiter(), Guest())
    run_id, request_id = await begin(platform, name)
    other = opened().register(Waiter(), Guest())

    assert await platform.keep_answers(run_id, {request_id: "wagyu"}, key="reply-1")
    assert not await other.keep_answers(run_id, {request_id: "wagyu"}, key="reply-1")
    with pytest.raises(AlreadyAnsweredError):
        await other.keep_answers(run_id, {request_id: "soup"}, key="reply-2")
    with pytest.raises(AlreadyAnsweredError):
        await other.respond(run_id, request_id, "soup")
    await Worker(other).run_once()

    assert await other.output(run_id) == "room 403: wagyu"
    assert not await platform.keep_answers(run_id, {request_id: "wagyu"}, key="reply-1")
    with pytest.raises(AlreadyAnsweredError):
        await platform.keep_answers(run_id, {request_id: "soup"})


@pytest.mark.parametrize("name", ["Waiter", "Guest"])
async def test_of_many_answers_at_once_one_is_new(name: str, opened: Open) -> None:
    platforms = [opened().register(Waiter(), Guest()) for _ in range(2)]
    run_id, request_id = await begin(platforms[0], name)

    outcomes = await asyncio.gather(
        *(platforms[n % 2].keep_answers(run_id, {request_id: "wagyu"}, key="reply-1") for n in range(6))
    )

    assert sorted(outcomes) == [False] * 5 + [True]


@pytest.mark.parametrize("name", ["Waiter", "Guest"])
async def test_a_run_that_was_killed_takes_no_answer(name: str, opened: Open) -> None:
    platform = opened().register(Waiter(), Guest())
    run_id, request_id = await begin(platform, name)
    await platform.kill(run_id)

    with pytest.raises(RunConflictError):
        await platform.keep_answers(run_id, {request_id: "wagyu"}, key="reply-1")

    assert await status(platform, run_id) == RunStatus.KILLED
    assert not await Worker(platform).run_once()


@pytest.mark.parametrize("name", ["Waiter", "Guest"])
async def test_an_answer_that_is_kept_dies_with_its_run(name: str, opened: Open) -> None:
    platform = opened().register(Waiter(), Guest())
    run_id, request_id = await begin(platform, name)
    await platform.keep_answers(run_id, {request_id: "wagyu"})

    await platform.kill(run_id)

    assert not await Worker(platform).run_once()
    assert await status(platform, run_id) == RunStatus.KILLED


async def test_many_answers_are_kept_before_any_run_continues(opened: Open) -> None:
    platform = opened().register(Waiter())
    begun = [await begin(platform, "Waiter") for _ in range(20)]

    for run_id, request_id in begun:
        assert await platform.keep_answers(run_id, {request_id: "wagyu"}, key=run_id)

    assert {await status(platform, run_id) for run_id, _ in begun} == {"waiting"}
    while await Worker(platform).run_once():
        pass
    assert {await status(platform, run_id) for run_id, _ in begun} == {"completed"}


async def test_what_nobody_asked_is_refused(opened: Open) -> None:
    platform = opened().register(Waiter())
    run_id, _ = await begin(platform, "Waiter")

    with pytest.raises(ResponseError, match="waits for"):
        await platform.keep_answers(run_id, {"dessert": "cake"})
    with pytest.raises(RunNotFoundError):
        await platform.keep_answers("nothing", {REPLY: "cake"})


async def test_answers_need_a_store() -> None:
    with pytest.raises(ConfigurationError, match="store"):
        await Platform(ScriptedModel()).keep_answers("any", {REPLY: "cake"})
    with pytest.raises(AgentNotFoundError):
        await Platform(ScriptedModel(), store=MemoryStore()).enqueue("Waiter", "x")


async def test_people_are_not_asked_for_the_reply_of_a_program() -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(Waiter())
    async with served(platform, people={"a-token-for-the-test": Person("Ann")}) as client:
        client.headers["authorization"] = "Bearer a-token-for-the-test"
        run_id = await start(client, "waiter", "room 403")
        shown = await find(client, run_id, "waiting")

        assert [(request["kind"], request["may_answer"]) for request in shown["pending"]] == [("reply", False)]
        assert (await client.get("/api/waiting")).json()["runs"] == []
        assert (await client.get("/api/requests")).json()["requests"] == []
        refused = await client.post(f"/api/runs/{run_id}/answers", json={"request": REPLY, "response": "soup"})
        assert refused.status_code == 403

        await platform.keep_answers(run_id, {REPLY: "wagyu"})

        assert (await find(client, run_id, "completed"))["result"] == "room 403: wagyu"
