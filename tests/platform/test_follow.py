"""The client of runs: it starts them once for a key, follows them over programs, answers and cancels them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from tactician import Agent, Platform, approve, runnable, tool
from tactician.errors import AlreadyAnsweredError, RunConflictError, RunNotFoundError
from tactician.events import Event
from tactician.platform import Worker
from tactician.platform.follow import RunClient, has_rested
from tactician.platform.host.feed import EventFeed
from tactician.runs import RunCompleted, RunError, RunStarted, RunStatus
from tactician.runs.requests.respondents import Respondent
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall

POLL = 0.01


@tool(needs_approval=True)
async def write(text: str) -> str:
    """Write a text."""
    return f"wrote {text}"


async def shout(text: str) -> str:
    """Write a text in capitals."""
    return text.upper()


async def fail(text: str) -> str:
    """Fail."""
    raise ValueError(text)


def create_platform(store: DocumentStore) -> Platform:
    clerk = Agent("Clerk", model=ScriptedModel(ToolCall("write", text="it"), "Done."), tools=[write])
    return Platform(models=ScriptedModel(), store=store).register(
        runnable(shout, name="Shout"), runnable(fail, name="Fail"), clerk
    )


def create_client(platform: Platform, feed: EventFeed | None = None) -> RunClient:
    return RunClient(platform, feed, poll=POLL)


async def read(events: AsyncGenerator[Event]) -> list[Event]:
    async with aclosing(events):
        return [event async for event in events]


async def wait(client: RunClient, run_id: str) -> RunStatus:
    return (await client.wait(run_id, asyncio.Event())).status


async def test_the_same_key_is_the_same_run_and_the_worker_is_woken() -> None:
    woken: list[None] = []
    client = RunClient(create_platform(MemoryStore()), wake=lambda: woken.append(None))

    first = await client.start("Shout", "a", idempotency_key="order-17")

    assert await client.start("Shout", "b", idempotency_key="order-17") == first
    assert await client.find_started("order-17") == first
    assert await client.find_started("order-18") is None
    assert await client.find_started(None) is None
    assert woken


async def test_a_run_of_another_program_is_followed_to_its_end(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    async with create_platform(SqliteStore(path)) as caller, create_platform(SqliteStore(path)) as other:
        client = create_client(caller)
        run_id = await client.start("Shout", "hello")
        following = asyncio.create_task(read(client.follow(run_id)))

        await Worker(other).run_once()
        started, completed = await following

        assert isinstance(started, RunStarted)
        assert isinstance(completed, RunCompleted)
        assert completed.result.output == "HELLO"
        assert await wait(client, run_id) is RunStatus.COMPLETED


async def test_the_events_of_a_run_here_are_followed() -> None:
    platform, feed = create_platform(MemoryStore()), EventFeed()
    platform.services.bus.subscribe(feed.publish)
    client = create_client(platform, feed)
    run_id = await client.start("Shout", "hello")
    await Worker(platform).run_once()

    events = [event.type for event in await read(client.follow(run_id))]

    assert (events[0], events[-1]) == ("RunStarted", "RunCompleted")


async def test_a_failure_is_raised_at_the_end() -> None:
    platform = create_platform(MemoryStore())
    client = create_client(platform)
    run_id = await client.start("Fail", "no paper")
    await Worker(platform).run_once()

    with pytest.raises(RunError, match="no paper"):
        await read(client.follow(run_id))
    with pytest.raises(RunNotFoundError):
        await read(client.follow("nothing"))


async def test_an_answer_is_kept_and_somebody_else_continues() -> None:
    platform = create_platform(MemoryStore())
    client = create_client(platform)
    run_id = await client.start("Clerk", "Write")
    await Worker(platform).run_once()
    record = await client.find(run_id)
    request = record.header.pending[0]

    assert has_rested(record)
    await client.answer(run_id, {request.id: approve()}, Respondent(name="Ann"))

    assert not has_rested(await client.find(run_id))
    with pytest.raises(AlreadyAnsweredError):
        await client.answer(run_id, {request.id: approve()})
    await Worker(platform).run_once()
    assert await wait(client, run_id) is RunStatus.COMPLETED


async def test_a_run_is_continued_here_until_it_is_cancelled() -> None:
    entered = asyncio.Event()

    async def stand(text: str) -> str:
        entered.set()
        await asyncio.Event().wait()
        return text

    platform = create_platform(MemoryStore()).register(runnable(stand, name="Stand"))
    client = create_client(platform)
    run_id = await client.start("Stand", "still")

    task = await client.continue_here(platform.continue_claimed, run_id)
    await entered.wait()

    assert task is not None
    assert client.running == 1
    assert await client.continue_here(platform.continue_claimed, run_id) is task
    assert await create_client(platform).continue_here(platform.continue_claimed, run_id) is None
    assert await client.cancel(run_id, "enough") is RunStatus.KILLED
    assert task.done()
    assert client.running == 0
    assert await client.cancel(run_id, "again") is RunStatus.KILLED


async def test_what_is_interrupted_is_continued_by_others() -> None:
    entered, is_free = asyncio.Event(), asyncio.Event()

    async def stand(text: str) -> str:
        entered.set()
        await is_free.wait()
        return text

    platform = create_platform(MemoryStore()).register(runnable(stand, name="Stand"))
    client = create_client(platform)
    run_id = await client.start("Stand", "still")
    await client.continue_here(platform.continue_claimed)
    await entered.wait()

    await client.aclose()
    is_free.set()
    await Worker(platform).run_once()

    assert await wait(client, run_id) is RunStatus.COMPLETED


async def test_a_waiting_client_is_let_go() -> None:
    client, stop = create_client(create_platform(MemoryStore())), asyncio.Event()
    run_id = await client.start("Shout", "hello")
    waiting = asyncio.create_task(client.wait(run_id, stop))
    await asyncio.sleep(0)

    stop.set()

    assert (await waiting).status is RunStatus.NOT_STARTED


async def test_the_events_of_an_earlier_run_take_the_place_of_a_new_run() -> None:
    platform = create_platform(MemoryStore())
    client = create_client(platform)
    begun: list[str] = []

    async def begin() -> AsyncGenerator[Event]:
        begun.append("begun")
        run_id = await platform.enqueue("Shout", "hello", idempotency_key="order-17")
        await Worker(platform).run_once()
        if len(begun) == 1:
            raise RunConflictError("somebody was faster")
        yield RunStarted(run_id=run_id, kind="run")

    raced = await read(client.start_or_follow("order-17", begin))
    repeated = await read(client.start_or_follow("order-17", begin, lambda: begun.append("earlier")))

    assert begun == ["begun", "earlier"]
    assert [event.type for event in raced] == [event.type for event in repeated] == ["RunStarted", "RunCompleted"]
    assert [event.type for event in await read(client.start_or_follow(None, begin))] == ["RunStarted"]
