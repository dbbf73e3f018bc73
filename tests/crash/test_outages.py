"""A store that does not answer for a while: what runs here ends, and goes on elsewhere from what was kept."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import Platform, ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tactician.errors import StoreError
from tactician.platform import Worker
from tactician.process import OperationContext, ask_human
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import Lease, StoredDocument, StoredStep
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore, respond


@dataclass
class Half:
    text: str


@dataclass
class Whole:
    text: str


@planned_agent(description="works in two steps")
class Steps:
    def __init__(self) -> None:
        self.done: list[str] = []

    @action
    async def first(self, topic: UserInput, context: OperationContext) -> Half:
        self.done.append("first")
        return Half(topic.content)

    @achieves_goal("done")
    @action
    async def second(self, half: Half) -> Whole:
        self.done.append("second")
        return Whole(half.text)


@planned_agent(description="asks")
class Asking:
    @achieves_goal("done")
    @action
    async def ask(self, topic: UserInput) -> Whole:
        return Whole(await ask_human(str, "Well?"))


@planned_agent(description="waits to be let go")
class Slow:
    def __init__(self) -> None:
        self.entered, self.may_go_on = asyncio.Event(), asyncio.Event()

    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput) -> Whole:
        self.entered.set()
        await self.may_go_on.wait()
        return Whole(topic.content)


class Unreachable(JsonStore):
    """A store that does not answer some of its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.silent: set[str] = set()
        self.called: list[str] = []
        self.beats = asyncio.Semaphore(0)

    def _call(self, name: str) -> None:
        self.called.append(name)
        if f"{name} {self.called.count(name)}" in self.silent:
            raise StoreError("it does not answer")

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        self._call("save")
        return await super().save(document, lease)

    async def append(self, lease: Lease, step: StoredStep) -> None:
        self._call("append")
        await super().append(lease, step)

    async def load(self, collection: str, id: str, *, with_body: bool = True) -> StoredDocument | None:
        self._call("load")
        return await super().load(collection, id, with_body=with_body)

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        self._call("renew")
        renewed = await super().renew(lease, seconds)
        self.beats.release()
        return renewed

    async def release(self, lease: Lease) -> None:
        self._call("release")
        await super().release(lease)


def platform_over(store: MemoryStore, agent: object) -> Platform:
    return Platform(models=ScriptedModel(), store=store).register(agent)


@pytest.mark.parametrize(
    ("silent", "done"),
    [
        ("append 1", ["first", "first", "second"]),  # the result of the first action
        ("append 2", ["first", "second", "second"]),
        ("append 3", ["first", "second"]),  # the end
        ("save 1", ["first", "second"]),  # the status in the end
    ],
)
async def test_a_process_that_could_not_be_saved_is_not_lost(silent: str, done: list[str]) -> None:
    store, agent = Unreachable(), Steps()
    store.silent = {silent}
    with pytest.raises(StoreError, match="does not answer"):
        await platform_over(store, agent).start("Steps", "frogs")
    (record,) = await RunStore(store).find()
    assert record.status == "running", "what failed is the saving, not the process"

    worker = Worker(platform_over(store, agent))
    assert await worker.run_once()

    (record,) = await RunStore(store).find()
    assert record.status == "completed"
    assert agent.done == done
    assert not await worker.run_once()


async def test_one_that_waits_although_its_status_was_not_saved_is_waited_for() -> None:
    store = Unreachable()
    store.silent = {"save 1"}
    with pytest.raises(StoreError, match="does not answer"):
        await platform_over(store, Asking()).start("Asking", "frogs")

    platform = platform_over(store, Asking())
    assert await Worker(platform).run_once()

    (record,) = await platform.list_waiting_runs()
    assert [request.prompt for request in record.pending] == ["Well?"]
    assert not await Worker(platform).run_once()
    done = await respond(platform, await platform.process(record.id), "fine")
    assert done.result == Whole("fine")


async def test_what_was_saved_needs_no_lease_given_back() -> None:
    store = Unreachable()
    store.silent = {"release 1"}
    process = await platform_over(store, Steps()).start("Steps", "frogs")
    assert process.status is ProcessStatus.COMPLETED


@pytest.mark.parametrize("silent", [{"renew 1"}, {"load 1"}])
async def test_a_lease_is_renewed_after_a_call_that_was_not_answered(silent: set[str]) -> None:
    store, slow = Unreachable(), Slow()
    platform = platform_over(store, slow)
    await platform.enqueue("Slow", "frogs")
    claimed = await RunStore(store).claim("w", 0.06)
    assert claimed is not None
    task = asyncio.create_task(platform.continue_claimed(*claimed, seconds=0.06))
    await slow.entered.wait()
    store.called, store.silent = [], silent
    async with asyncio.timeout(30):
        for _ in range(3):
            await store.beats.acquire()
    slow.may_go_on.set()
    assert (await task).status is ProcessStatus.COMPLETED
