"""Questions to people while other parts of a run go on: the record shows them at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    PlannedAgent,
    Platform,
    ProcessOptions,
    Runnable,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
    tool,
)
from tactician.agents.flows import scatter_gather, simple_agent
from tactician.errors import RunConflictError
from tactician.integrations.stepper import Stepper
from tactician.platform import Worker
from tactician.process import OperationContext
from tactician.runs import PendingRequest, RunStatus, approve
from tactician.runs.progress.record import RunRecord
from tactician.stores.document import Lease, StoredDocument
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore, expect_process, load_record
from tests.support.waiting import eventually

TWO = ProcessOptions(max_parallel=2)


@dataclass
class Title:
    text: str


@dataclass
class Text:
    text: str


@dataclass
class More:
    text: str


class WatchedStore(JsonStore):
    """Store that counts how often a record is saved, and tells when one has a question."""

    def __init__(self) -> None:
        super().__init__()
        self.saves = 0
        self.has_asked = asyncio.Event()

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        self.saves += 1
        saved = await super().save(document, lease)
        if json.loads(document.header)["pending"]:
            self.has_asked.set()
        return saved


class Office:
    """Work beside a question, which goes on until the test lets it end."""

    def __init__(self) -> None:
        self.store = WatchedStore()
        self.is_working = asyncio.Event()
        self.may_end = asyncio.Event()
        self.done: list[str] = []
        self.model = ScriptedModel((ToolCall("pay", amount=3), ToolCall("work")), "Done.")

    async def work(self) -> str:
        self.is_working.set()
        await self.may_end.wait()
        self.done.append("work")
        return "text"

    def platform(self, runnable: object, *script: object) -> Platform:
        return Platform(ScriptedModel(*script), store=self.store).register(runnable)

    @asynccontextmanager
    async def running(self, platform: Platform, *objects: object) -> AsyncIterator[RunRecord]:
        """Let a worker continue a new run; yield its record once it shows a question. At the end it may end."""
        (name,) = platform.agents
        is_process = isinstance(platform.agents[name], PlannedAgent)
        run_id = await platform.enqueue(name, "frogs", options=TWO if is_process else None)
        working = asyncio.create_task(Worker(platform).run_once())
        await self.is_working.wait()
        async with asyncio.timeout(30):
            await self.store.has_asked.wait()
        try:
            yield await load_record(self.store, run_id)
        except asyncio.CancelledError:
            working.cancel()
            await asyncio.wait([working])
            raise
        self.may_end.set()
        await working


@planned_agent(description="asks for a title while it writes")
class Writer:
    def __init__(self, office: Office) -> None:
        self._office = office

    @action
    async def title(self, topic: UserInput) -> Title:
        title = Title(await ask_human(str, "A title?"))
        self._office.done.append("title")
        return title

    @action
    async def write(self, topic: UserInput) -> Text:
        return Text(await self._office.work())

    @achieves_goal("written")
    @action
    def join(self, title: Title, text: Text) -> str:
        return f"{title.text}: {text.text}"


@planned_agent(description="lets somebody else write")
class Publisher:
    def __init__(self, office: Office) -> None:
        self._office = office

    @achieves_goal("published")
    @action
    async def publish(self, topic: UserInput, context: OperationContext) -> More:
        return More(await context.run_agent(Writer(self._office), str, topic))


def process(office: Office) -> Runnable:
    return PlannedAgent(Writer(office))


def nested(office: Office) -> Runnable:
    return PlannedAgent(Publisher(office))


def flow(office: Office) -> Runnable:
    async def ask(topic: str) -> str:
        return await ask_human(str, "A title?")

    async def write(topic: str) -> str:
        return await office.work()

    steps = [simple_agent(str, ask), simple_agent(str, write)]
    return scatter_gather(str, steps, ": ".join, name="Flow")


def agent(office: Office) -> Runnable:
    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay an amount."""
        return f"paid {amount}"

    return Agent("Payer", model=office.model, tools=[pay, tool(office.work)])


KIND = pytest.mark.parametrize("make", [process, nested, flow, agent])


def answer_to(request: PendingRequest) -> object:
    return approve() if request.kind == "approval" else "Frogs"


@KIND
async def test_a_question_is_seen_while_other_parts_go_on(make: Callable[[Office], Runnable]) -> None:
    office = Office()
    platform = office.platform(make(office))
    async with office.running(platform) as record:
        (request,) = record.header.pending
        assert record.status is RunStatus.RUNNING
        assert [one.id for one in await platform.list_waiting_runs()] == [record.run_id]
        elsewhere = office.platform(make(office))  # sees the store only
        (view,) = await elsewhere.runs(status="running")
        assert (view.pending, view.was_interrupted) == ((request,), False)
        assert office.done == []

    record = await load_record(office.store, record.run_id)
    assert (record.status, record.header.pending) == (RunStatus.WAITING, (request,))
    await platform.respond(record.run_id, request.id, answer_to(request))
    record = await load_record(office.store, record.run_id)
    assert (record.status, record.header.pending) == (RunStatus.COMPLETED, ())
    assert await platform.list_waiting_runs() == []


@KIND
async def test_a_question_costs_one_more_save_of_the_record(make: Callable[[Office], Runnable]) -> None:
    office = Office()
    async with office.running(office.platform(make(office))):
        before = office.store.saves
        assert before == 3, "enqueued, running, asked"
    assert office.store.saves == before + 1, "waiting"


@KIND
async def test_an_answer_from_elsewhere_is_refused_until_the_run_waits(make: Callable[[Office], Runnable]) -> None:
    office = Office()
    async with office.running(office.platform(make(office))) as record:
        (request,) = record.header.pending
        elsewhere = office.platform(make(office))
        with pytest.raises(RunConflictError, match="espond again once it waits"):
            await elsewhere.respond(record.run_id, request.id, answer_to(request))

    await elsewhere.respond(record.run_id, request.id, answer_to(request))
    assert (await load_record(office.store, record.run_id)).status is RunStatus.COMPLETED


async def test_the_program_that_runs_a_process_takes_an_answer_meanwhile() -> None:
    office = Office()
    platform = office.platform(Writer(office))
    process = await platform.spawn("Writer", "frogs", options=TWO)
    await office.is_working.wait()
    await eventually(lambda: bool(process.pending))
    (request,) = process.pending

    responding = asyncio.create_task(platform.respond(process.id, request.id, "Frogs"))
    await asyncio.sleep(0)
    with pytest.raises(RunConflictError):
        await platform.respond(process.id, "another", "x")
    office.may_end.set()

    assert expect_process(await responding).result == "Frogs: text"
    assert office.done == ["work", "title"]
    record = await load_record(office.store, process.id)
    assert (record.status, record.header.pending) == (RunStatus.COMPLETED, ())


@KIND
async def test_an_answer_to_a_run_whose_worker_died_meanwhile_is_taken(make: Callable[[Office], Runnable]) -> None:
    office = Office()
    with pytest.raises(asyncio.CancelledError):
        async with office.running(office.platform(make(office))) as record:
            raise asyncio.CancelledError  # which ends the worker
    assert (await load_record(office.store, record.run_id)).was_interrupted
    office.may_end.set()
    (request,) = record.header.pending

    await office.platform(make(office)).respond(record.run_id, request.id, answer_to(request))

    record = await load_record(office.store, record.run_id)
    assert (record.status, record.header.pending) == (RunStatus.COMPLETED, ())
    assert office.done.count("work") == 1


@KIND
async def test_an_answer_is_kept_for_whoever_continues_such_a_run(make: Callable[[Office], Runnable]) -> None:
    office = Office()
    with pytest.raises(asyncio.CancelledError):
        async with office.running(office.platform(make(office))) as record:
            raise asyncio.CancelledError
    office.may_end.set()
    (request,) = record.header.pending
    platform = office.platform(make(office))

    await Stepper(platform).answer(record.run_id, {request.id: answer_to(request)})
    assert [one.is_answered for one in (await load_record(office.store, record.run_id)).header.pending] == [True]
    await Worker(platform).run_once()

    assert (await load_record(office.store, record.run_id)).status is RunStatus.COMPLETED


@dataclass
class Both:
    first: Title
    more: More


@planned_agent(description="asks for two titles")
class TwoTitles:
    def __init__(self, office: Office) -> None:
        self._office = office

    @action
    async def first(self, topic: UserInput) -> Title:
        return Title(await ask_human(str, "A title?") + await self._office.work())

    @action
    async def more(self, topic: UserInput) -> More:
        return More(await ask_human(str, "Another title?"))

    @achieves_goal("both are there")
    @action
    def join(self, first: Title, more: More) -> Both:
        return Both(first, more)


async def test_a_question_that_was_answered_is_not_shown_while_another_one_is() -> None:
    office = Office()
    platform = office.platform(TwoTitles(office))
    process = await platform.start("TwoTitles", "frogs", options=TWO)
    first, more = process.pending
    assert (await load_record(office.store, process.id)).header.pending == (first, more)

    responding = asyncio.create_task(platform.respond(process.id, first.id, "Frogs"))
    await office.is_working.wait()

    record = await load_record(office.store, process.id)
    assert (record.status, record.header.pending) == (RunStatus.RUNNING, (more,))
    office.may_end.set()
    await responding
    record = await load_record(office.store, process.id)
    assert (record.status, record.header.pending) == (RunStatus.WAITING, (more,))
