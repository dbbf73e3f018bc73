"""Which processes a platform knows of: it may run for months, and must not keep them all."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import (
    Ai,
    Blackboard,
    Budget,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.errors import RunNotFoundError
from tactician.events import Event
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel
from tests.support.stored import expect_process

MANY = 1000
RUNS = 300


@dataclass(frozen=True)
class Echo:
    text: str


@dataclass(frozen=True)
class Question:
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

    assert [record.id for record in await platform.list_waiting_runs(limit=MANY + 1)] == waiting
    assert [record.id for record in await platform.list_waiting_runs(limit=2)] == waiting[:2]


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
    (run,) = await platform.list_waiting_runs()
    assert (run.id, run.status, run.pending) == (process.id, "waiting", process.pending)
    await platform.respond(run.id, run.pending[0].id, "yes")
    assert await platform.list_waiting_runs() == []


@planned_agent(description="asks twice, and a model before each")
class Interviewer:
    @action
    async def begin(self, topic: UserInput, ai: Ai) -> Question:
        return Question(await ai.generate_text(topic.content))

    @achieves_goal("said")
    @action
    async def ask(self, question: Question, ai: Ai, board: Blackboard) -> Echo:
        first = await ask_human(str, question.text)
        second = await ask_human(str, await ai.generate_text(first))
        return Echo(f"{first} {second} {board.find_named('note', str)}")


async def test_what_nobody_holds_continues_as_it_was() -> None:
    platform = Platform(ScriptedModel("name?", "age?")).register(Interviewer())
    heard: list[Event] = []
    options = ProcessOptions(budget=Budget(turns=2), on_event=heard.append)
    process = await platform.start("Interviewer", "frogs", options=options)
    process.blackboard.add("noted", "note")
    waiting = weakref.ref(process)
    process_id, began_at, events = process.id, process.began_at, len(heard)
    first = process.pending[0].id
    del process
    gc.collect()
    assert waiting() is None

    (run,) = await platform.list_waiting_runs()
    assert (run.id, run.status, run.usage.requests, [one.action for one in run.history]) == (
        process_id,
        "waiting",
        1,
        ["begin"],
    )
    woken = await platform.process(process_id)
    assert await platform.process(process_id) is woken
    assert await platform.processes() == [woken]
    assert (woken.began_at, woken.usage.requests, woken.times_run("begin")) == (began_at, 1, 1)
    woken = await woken.respond(first, "Ada")  # by itself: the platform learns of it
    second = woken.pending[0].id
    del woken
    gc.collect()

    done = expect_process(await platform.respond(process_id, second, "36"))

    assert done.result == Echo("Ada 36 noted")
    assert (done.usage.requests, [run.action for run in done.history]) == (2, ["begin", "ask"])
    assert len(heard) > events
    assert await platform.list_waiting_runs() == []


@planned_agent(description="asks a person, and then a model twice")
class Talker:
    @action
    async def begin(self, topic: UserInput, ai: Ai) -> Question:
        return Question(await ai.generate_text(topic.content))

    @achieves_goal("said")
    @action
    async def ask(self, question: Question, ai: Ai) -> Echo:
        answer = await ask_human(str, question.text)
        return Echo(await ai.generate_text(await ai.generate_text(answer)))


async def test_what_was_spent_before_it_waited_counts_when_nobody_has_held_it() -> None:
    platform = Platform(ScriptedModel("name?", "a", "b")).register(Talker())
    process = await platform.start("Talker", "x", options=ProcessOptions(budget=Budget(turns=2)))
    process_id, request = process.id, process.pending[0].id
    del process
    gc.collect()

    done = expect_process(await platform.respond(process_id, request, "Ada"))

    assert (done.status, done.failure) == (ProcessStatus.TERMINATED, "ask: the budget of 2 turns is used up")


async def test_what_nobody_holds_can_be_killed() -> None:
    platform = platform_of(Asker())
    process_id = (await platform.start("Asker", "what?")).id
    gc.collect()

    assert await platform.kill(process_id, "enough") is ProcessStatus.KILLED

    assert await platform.list_waiting_runs() == []
    assert (await platform.process(process_id)).failure == "enough"


async def test_listeners_of_what_waits_in_a_store_hear_on_when_nobody_holds_it() -> None:
    platform = platform_of(Asker(), store=MemoryStore())
    heard: list[Event] = []
    process = await platform.start("Asker", "what?", options=ProcessOptions(on_event=heard.append))
    process_id, request, before = process.id, process.pending[0].id, len(heard)
    del process
    gc.collect()

    await platform.respond(process_id, request, "that")

    assert len(heard) > before


async def test_what_waits_in_memory_and_is_held_by_nobody_continues_as_it_was() -> None:
    platform = Platform(ScriptedModel("name?", "age?"), store=MemoryStore()).register(Interviewer())
    process = await platform.start("Interviewer", "frogs", options=ProcessOptions(budget=Budget(turns=2)))
    process_id, began_at, first = process.id, process.began_at, process.pending[0].id
    del process
    gc.collect()

    woken = expect_process(await platform.respond(process_id, first, "Ada"))
    second, times_run = woken.pending[0].id, woken.times_run("begin")
    del woken
    gc.collect()
    done = expect_process(await platform.respond(process_id, second, "36"))

    assert (done.result, done.began_at, times_run) == (Echo("Ada 36 None"), began_at, 1)
    assert (done.usage.requests, [run.action for run in done.history]) == (2, ["begin", "ask"])


async def test_an_agent_that_was_replaced_finishes_what_waits_in_a_store_though_nobody_holds_it() -> None:
    platform = platform_of(Asker(), store=MemoryStore())
    process = await platform.start("Asker", "what?")
    process_id, request = process.id, process.pending[0].id
    del process
    gc.collect()
    platform.unregister("Asker")

    assert expect_process(await platform.respond(process_id, request, "that")).result == Echo("that")


STORES: Mapping[str, Callable[[Path], DocumentStore | None]] = {
    "without a store": lambda _: None,
    "MemoryStore": lambda _: MemoryStore(),
    "SQLite": lambda folder: SqliteStore(folder / "runs.db"),
}


@pytest.mark.parametrize("kind", STORES)
async def test_a_waiting_run_costs_two_kilobytes(kind: str, tmp_path: Path) -> None:
    async with Platform(ScriptedModel(), store=STORES[kind](tmp_path)).register(Asker()) as platform:
        for number in range(30):
            await platform.start("Asker", f"warm up {number}")
        gc.collect()
        tracemalloc.start()
        try:
            for number in range(RUNS):
                await platform.start("Asker", f"question {number}")
            gc.collect()
            size = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert len(await platform.list_waiting_runs()) == RUNS + 30
    assert size / RUNS <= 2000
