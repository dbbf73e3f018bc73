"""A store that does not answer for a while: what runs here ends, and goes on elsewhere from what was kept."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import Platform, ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tactician.errors import StoreError
from tactician.platform import Worker
from tactician.process import OperationContext
from tactician.runs import DurableRun, RunStore, restore_context
from tactician.stores import Lease, MemoryStore, StoredDocument, StoredStep
from tactician.testing import ScriptedModel


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


class Unreachable(MemoryStore):
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

    async def append(self, lease: Lease, step: StoredStep) -> None:
        self._call("append")
        await super().append(lease, step)

    async def load(self, collection: str, id: str, *, with_body: bool = True) -> StoredDocument | None:
        self._call("load")
        return await super().load(collection, id, with_body=with_body)

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        self._call("renew")
        self.beats.release()
        return await super().renew(lease, seconds)

    async def release(self, lease: Lease) -> None:
        self._call("release")
        await super().release(lease)


def platform_over(store: MemoryStore, agent: object) -> Platform:
    return Platform(models=ScriptedModel(), store=store).register(agent)


async def test_a_process_that_could_not_be_saved_is_not_lost() -> None:
    store, agent = Unreachable(), Steps()
    store.silent = {"append 2"}  # the first action
    with pytest.raises(StoreError, match="does not answer"):
        await platform_over(store, agent).start("Steps", "frogs")
    (record,) = await RunStore(store).find()
    assert record.status == "running", "what failed is the saving, not the process"

    assert await Worker(platform_over(store, agent)).run_once()

    (record,) = await RunStore(store).find()
    assert record.status == "completed"
    assert agent.done == ["first", "first", "second"]


async def test_what_was_saved_needs_no_lease_given_back() -> None:
    store = Unreachable()
    store.silent = {"release 1"}
    process = await platform_over(store, Steps()).start("Steps", "frogs")
    assert process.status is ProcessStatus.COMPLETED


@pytest.mark.parametrize("silent", [{"renew 1"}, {"load 1"}])
async def test_a_lease_is_renewed_after_a_call_that_was_not_answered(silent: set[str]) -> None:
    store = Unreachable()
    platform = platform_over(store, Steps())
    await platform.enqueue("Steps", "frogs")
    claimed = await RunStore(store).claim("w", 0.03)
    assert claimed is not None
    record, lease = claimed
    state = await RunStore(store).load_state(record)
    run = DurableRun(restore_context(record, state, platform.context(), {}), record, "w", lease=lease, seconds=0.03)
    store.called, store.silent = [], silent
    async with run.hold(), asyncio.timeout(10):
        for _ in range(3):
            await store.beats.acquire()
