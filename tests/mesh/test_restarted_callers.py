"""Suspended callers that go on in another program: with a fallback, and with a request that was sent again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta

import pytest

from tactician import MemoryStore, Platform, RunStatus, runnable
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.events import Event
from tactician.llm import CircuitBreakerPolicy
from tactician.mesh import FallbackUsed, Mesh, Node, RequestResent, Retries
from tactician.testing import FakeClock, ScriptedModel
from tests.support.waiting import eventually

FALLBACK = "a sandwich"


class Kitchen:
    """Work that a test lets end, well or badly."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = asyncio.Event()
        self.has_failed = False

    async def prepare(self, order: str) -> str:
        """Prepare a meal."""
        self.begun.append(order)
        await self.may_end.wait()
        if self.has_failed:
            raise ValueError("burnt")
        return f"{order}, ready"


class StoppedError(Exception):
    """The program ends without waiting for its work."""


class Desk:
    """Programs, one after the other, whose runs ask the kitchen and are suspended, on the same store."""

    def __init__(self, url: str, clock: Clock = SYSTEM_CLOCK, **options: object) -> None:
        self._url = url
        self._options = options
        self._clock = clock
        self.store = MemoryStore(clock=self._clock)
        self.heard: list[Event] = []
        self.kitchen = Kitchen()

    @asynccontextmanager
    async def started(self) -> AsyncIterator[Platform]:
        """Start a program."""
        async with Mesh(self._url, name="desk", clock=self._clock) as mesh:
            platform = Platform(ScriptedModel(), store=self.store, on_event=self.heard.append, clock=self._clock)
            meal = mesh.task("prepare-meal", on="kitchen", patience=0.0, **self._options)  # type: ignore[arg-type]

            @runnable
            async def order(text: str) -> str:
                """Order a meal."""
                return str((await meal.run(text)).output)

            platform.register(order)
            async with Node("desk", platform, mesh):
                yield platform

    @asynccontextmanager
    async def open_kitchen(self) -> AsyncIterator[None]:
        async with Mesh(self._url, clock=self._clock) as mesh:
            node = Node(
                "kitchen", Platform(ScriptedModel(), store=MemoryStore(clock=self._clock), clock=self._clock), mesh
            )
            node.offer(runnable(self.kitchen.prepare), name="prepare-meal")
            async with node:
                yield

    async def suspend(self) -> str:
        """Order in a program that ends once its run is suspended, and return the run."""
        async with self.started() as platform:
            run_id = await platform.enqueue("order", "Wagyu")
            await eventually(lambda: has_status(platform, run_id, RunStatus.WAITING))
            await eventually(lambda: self.kitchen.begun == ["Wagyu"])
        return run_id


async def has_status(platform: Platform, run_id: str, status: RunStatus) -> bool:
    return (await platform.view_run(run_id)).status == status.value


async def complete(platform: Platform, run_id: str) -> object:
    await eventually(lambda: has_status(platform, run_id, RunStatus.COMPLETED))
    return await platform.output(run_id)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


async def test_failed_work_of_a_suspended_caller_is_answered_by_the_fallback_of_the_next_program(url: str) -> None:
    desk = Desk(url, fallback=FALLBACK, fallback_on="any")
    async with desk.open_kitchen():
        run_id = await desk.suspend()
        desk.kitchen.has_failed = True
        desk.kitchen.may_end.set()
        async with desk.started() as platform:
            assert await complete(platform, run_id) == FALLBACK

    (used,) = [event for event in desk.heard if isinstance(event, FallbackUsed)]
    assert "burnt" in used.reason
    assert desk.kitchen.begun == ["Wagyu"]


async def test_a_reply_that_is_late_for_the_next_program_is_replaced_by_the_fallback(url: str) -> None:
    clock = FakeClock()
    desk = Desk(url, clock, fallback=FALLBACK, wait=timedelta(minutes=5))
    async with desk.open_kitchen():
        run_id = await desk.suspend()
        async with desk.started() as platform:
            assert not await has_status(platform, run_id, RunStatus.COMPLETED)
            await clock.run_for(600)
            assert await complete(platform, run_id) == FALLBACK
        desk.kitchen.may_end.set()
    assert desk.kitchen.begun == ["Wagyu"]


async def test_the_reply_to_a_suspended_caller_comes_before_its_fallback(url: str) -> None:
    desk = Desk(url, fallback=FALLBACK, fallback_on="any")
    async with desk.open_kitchen():
        run_id = await desk.suspend()
        desk.kitchen.may_end.set()
        async with desk.started() as platform:
            assert await complete(platform, run_id) == "Wagyu, ready"
    assert not any(isinstance(event, FallbackUsed) for event in desk.heard)


@pytest.mark.parametrize("is_suspended", [True, False])
async def test_a_request_that_was_sent_again_is_done_once_for_a_caller_that_goes_on_elsewhere(
    url: str, is_suspended: bool
) -> None:
    closed = CircuitBreakerPolicy(failure_threshold=10_000)
    desk = Desk(url, retries=Retries(1_000, base=0.01, longest=0.01), accept_within=0.05, breaker=closed)
    async with AsyncExitStack() as kitchen:
        with suppress(StoppedError):
            run_id = ""
            async with desk.started() as platform:
                run_id = await platform.enqueue("order", "Wagyu")
                await eventually(lambda: sum(isinstance(event, RequestResent) for event in desk.heard) > 1)
                if is_suspended:
                    await kitchen.enter_async_context(desk.open_kitchen())
                    await eventually(lambda: has_status(platform, run_id, RunStatus.WAITING))
                raise StoppedError
        if not is_suspended:  # the program has ended between two attempts
            await kitchen.enter_async_context(desk.open_kitchen())
        desk.kitchen.may_end.set()
        async with desk.started() as platform:
            assert await complete(platform, run_id) == "Wagyu, ready"
    assert desk.kitchen.begun == ["Wagyu"]
