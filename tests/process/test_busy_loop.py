"""Plain actions that take long: in a thread where they say so; else they hold up the event loop, but keep the lease."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

import pytest

from tactician import Platform, ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tactician.errors import DeclarationError
from tactician.platform import Worker
from tactician.process import OperationContext
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import Lease
from tactician.testing import ScriptedModel
from tests.support.failures import without_lines

T = TypeVar("T")
LEASE = 0.3
RENEWALS = 12  # twice as many as there are in the time of a lease
_who: ContextVar[str] = ContextVar("who")


@dataclass(frozen=True)
class Answer:
    text: str


class Counting(MemoryStore):
    """Tells each renewal of a lease."""

    def __init__(self) -> None:
        super().__init__()
        self.renewed = threading.Semaphore(0)
        self.fails = False

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        self.renewed.release()
        if self.fails:
            raise OSError("no network")
        return await super().renew(lease, seconds)


def elsewhere(work: Callable[[], T]) -> T:
    """What a function gives in another thread, while the event loop of this one is busy."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(10)


@planned_agent(description="holds up the event loop")
class Busy:
    def __init__(self, store: Counting) -> None:
        self.store = store
        self.could_be_taken = False

    @achieves_goal("done")
    @action
    def work(self, topic: UserInput) -> Answer:
        for _ in range(RENEWALS):
            assert self.store.renewed.acquire(timeout=10)
        self.could_be_taken = elsewhere(lambda: asyncio.run(RunStore(self.store).claim("another", LEASE))) is not None
        return Answer("done")


@pytest.fixture
def store() -> Counting:
    return Counting()


async def test_who_holds_up_the_event_loop_keeps_its_process(store: Counting, caplog: pytest.LogCaptureFixture) -> None:
    agent = Busy(store)
    platform = Platform(ScriptedModel(), store=store).register(agent)
    process_id = await platform.enqueue("Busy", "x")

    assert await Worker(platform, lease=LEASE).run_once()

    assert (await platform.process(process_id)).result == Answer("done")
    assert not agent.could_be_taken
    (told,) = [record.getMessage() for record in caplog.records if "holds up the event loop" in record.getMessage()]
    assert process_id in told
    assert "@action(blocking=True)" in told
    runs = RunStore(store)
    assert await runs.load(process_id) is not None
    assert await runs.claim("another", LEASE, run_id=process_id) is None, "it has ended"


async def test_a_lease_that_cannot_be_renewed_meanwhile_is_left_to_the_event_loop(
    store: Counting, caplog: pytest.LogCaptureFixture
) -> None:
    store.fails = True
    agent = Busy(store)
    platform = Platform(ScriptedModel(), store=store).register(agent)
    await platform.enqueue("Busy", "x")

    await Worker(platform, lease=LEASE).run_once()

    assert agent.could_be_taken
    assert "was not renewed: no network" in caplog.text


@planned_agent(description="waits in a thread")
class InThread:
    def __init__(self) -> None:
        self.loop_is_free = threading.Event()
        self.thread = 0

    @achieves_goal("done")
    @action(blocking=True)
    def work(self, topic: UserInput, context: OperationContext) -> Answer:
        self.thread = threading.get_ident()
        asyncio.run_coroutine_threadsafe(self.free(), self.loop)
        assert self.loop_is_free.wait(10)
        return Answer(f"{topic.content} of {_who.get()} in {context.run.path[-1]}")

    @action(blocking=True)
    def fail(self, answer: Answer) -> str:
        raise ValueError("broken")

    async def free(self) -> None:
        self.loop_is_free.set()

    async def start(self, store: MemoryStore | None) -> Answer:
        self.loop = asyncio.get_running_loop()
        process = await Platform(ScriptedModel(), store=store).start(self, "word")
        assert process.status is ProcessStatus.COMPLETED, process.failure
        assert isinstance(process.result, Answer)
        return process.result


@pytest.mark.parametrize("store", [None, MemoryStore()])
async def test_a_blocking_action_leaves_the_event_loop_free(store: MemoryStore | None) -> None:
    agent = InThread()
    _who.set("Lynda")

    assert await agent.start(store) == Answer("word of Lynda in work")
    assert agent.thread != threading.get_ident()


async def test_what_a_blocking_action_raises() -> None:
    @planned_agent(description="fails in a thread")
    class Failing:
        @achieves_goal("done")
        @action(blocking=True)
        def work(self, topic: UserInput) -> Answer:
            raise ValueError("broken")

    process = await Platform(ScriptedModel()).start(Failing(), "x")
    assert without_lines(process.failure) == "work raised ValueError: broken"


async def test_a_blocking_action_that_lets_a_stop_iteration_out_fails_and_does_not_hang() -> None:
    @planned_agent(description="fails in a thread")
    class Failing:
        @achieves_goal("done")
        @action(blocking=True)
        def work(self, topic: UserInput) -> Answer:
            return Answer(next(iter(())))

    async with asyncio.timeout(30):
        process = await Platform(ScriptedModel()).start(Failing(), "x")
    assert without_lines(process.failure).endswith("Failing.work raised StopIteration")
    assert isinstance(process.error, RuntimeError)
    assert isinstance(process.error.__cause__, StopIteration)


def test_async_actions_need_no_thread() -> None:
    @planned_agent(description="is async")
    class Mistaken:
        @achieves_goal("done")
        @action(blocking=True)
        async def work(self, topic: UserInput) -> Answer:
            return Answer("x")

    with pytest.raises(DeclarationError, match="work: it is async, and needs no thread; leave `blocking` out"):
        Platform(ScriptedModel()).register(Mistaken())
