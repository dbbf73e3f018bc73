"""Which processes a platform knows of: it may run for months, and must not keep them all."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass

import pytest

from tactician import Platform, ProcessStatus, UserInput, achieves_goal, action, ask_human, planned_agent
from tactician.errors import RunNotFoundError
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.stored import expect_process

MANY = 1000


@dataclass(frozen=True)
class Echo:
    text: str


@planned_agent(description="says it again")
class Echoer:
    @achieves_goal("said")
    @action
    def say(self, topic: UserInput) -> Echo:
        return Echo(topic.content)


@planned_agent(description="asks for what to say")
class Asker:
    @achieves_goal("said")
    @action
    async def say(self, topic: UserInput) -> Echo:
        return Echo(await ask_human(str, topic.content))


@planned_agent(description="waits until it is let go")
class Slow:
    def __init__(self) -> None:
        self.entered, self.may_go_on = asyncio.Event(), asyncio.Event()

    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput) -> Echo:
        self.entered.set()
        await self.may_go_on.wait()
        return Echo(topic.content)


def platform_of(*agents: object, store: MemoryStore | None = None) -> Platform:
    return Platform(models=ScriptedModel(), store=store).register(*agents)


async def test_of_those_that_have_ended_the_last_ones_are_kept() -> None:
    platform = platform_of(Echoer())
    ids = [(await platform.start("Echoer", str(number))).id for number in range(MANY + 3)]

    gc.collect()

    assert [process.id for process in await platform.processes()] == ids[3:]
    assert (await platform.process(ids[3])).result == Echo("3")
    with pytest.raises(RunNotFoundError, match=f"no run with the id '{ids[2]}'"):
        await platform.process(ids[2])


async def test_those_that_are_stuck_are_forgotten_too() -> None:
    platform = platform_of(Echoer())
    first = (await platform.start("Echoer")).id
    for _ in range(MANY):
        await platform.start("Echoer")

    gc.collect()

    assert len(await platform.processes()) == MANY
    with pytest.raises(RunNotFoundError):
        await platform.resume(first)


async def test_what_waits_is_never_forgotten_where_nobody_else_has_it() -> None:
    platform = platform_of(Echoer(), Asker())
    waiting = (await platform.start("Asker", "what?")).id
    request = (await platform.process(waiting)).pending[0].id
    for _ in range(MANY + 1):
        await platform.start("Echoer", "x")

    gc.collect()

    assert expect_process(await platform.respond(waiting, request, "that")).result == Echo("that")


async def test_what_waited_is_forgotten_once_it_has_ended_however_it_was_answered() -> None:
    platform = platform_of(Asker())
    ids: list[str] = []
    for _ in range(2 * MANY + 2):
        process = await platform.start("Asker", "what?")
        await process.respond(process.pending[0].id, "that")
        ids.append(process.id)

    gc.collect()

    assert len(await platform.processes()) <= 2 * MANY
    with pytest.raises(RunNotFoundError):
        await platform.process(ids[0])


async def test_what_the_program_holds_is_found_for_ever() -> None:
    platform = platform_of(Echoer())
    held = await platform.start("Echoer", "mine")
    for _ in range(MANY + 1):
        await platform.start("Echoer", "x")

    gc.collect()

    assert await platform.process(held.id) is held
    assert (await platform.processes())[0] is held


async def test_with_a_store_even_what_waits_is_forgotten_here_and_found_there() -> None:
    store = MemoryStore()
    platform = platform_of(Asker(), Echoer(), store=store)
    waiting = (await platform.start("Asker", "what?")).id
    for _ in range(MANY):
        await platform.start("Echoer", "x")

    gc.collect()

    assert waiting not in [process.id for process in await platform.processes()]
    found = await platform.process(waiting)
    assert expect_process(await platform.respond(waiting, found.pending[0].id, "that")).result == Echo("that")


async def test_the_store_tells_of_all_that_wait() -> None:
    platform = platform_of(Asker(), store=MemoryStore())
    waiting = [(await platform.start("Asker", "what?")).id for _ in range(MANY)]

    assert [record.id for record in await platform.waiting(limit=MANY + 1)] == waiting
    assert [record.id for record in await platform.waiting(limit=2)] == waiting[:2]


async def test_with_a_store_a_process_that_runs_here_is_itself() -> None:
    slow = Slow()
    platform = platform_of(slow, store=MemoryStore())
    process = await platform.spawn("Slow", "x")
    await slow.entered.wait()

    assert await platform.process(process.id) is process

    await platform.kill(process.id, "enough")
    assert (process.status, process.failure) == (ProcessStatus.KILLED, "enough")


async def test_looking_at_a_process_does_not_put_another_one_in_its_place() -> None:
    platform = platform_of(Asker(), store=MemoryStore())
    process = await platform.start("Asker", "what?")

    seen = await platform.process(process.id)

    assert seen is not process
    assert await platform.processes() == [process]


async def test_a_platform_without_a_store_lists_what_waits() -> None:
    platform = Platform(ScriptedModel()).register(Asker())
    process = await platform.start("Asker", "frogs")
    (run,) = await platform.waiting()
    assert (run.id, run.status, run.pending) == (process.id, "waiting", process.pending)
    await platform.respond(run.id, run.pending[0].id, "yes")
    assert await platform.waiting() == []
