"""Callers that wait without memory: killed, told of progress, and placed among the requests of all instances."""

from __future__ import annotations

import asyncio

import pytest

from tactician import Ensemble, MemoryStore, Platform, RunStatus, Task, runnable
from tactician.events import Event
from tactician.mesh import Mesh, Node
from tactician.mesh.events import RequestProgressed
from tactician.testing import ScriptedModel
from tests.support.waiting import eventually


class Kitchen:
    """Work that a test lets end, and that knows how it ended."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.may_end = asyncio.Event()

    async def prepare(self, order: str) -> str:
        """Prepare a meal."""
        self.begun.append(order)
        try:
            await self.may_end.wait()
        finally:
            self.ended.append(order)
        return f"{order}, ready"


@pytest.fixture
def work() -> Kitchen:
    return Kitchen()


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


class Desk:
    """Program whose runs ask the kitchen, and are suspended."""

    def __init__(self, url: str) -> None:
        self.mesh = Mesh(url, name="desk")
        self.heard: list[Event] = []
        self.platform = Platform(ScriptedModel(), store=MemoryStore(), on_event=self.heard.append)
        self.node = Node("desk", self.platform, self.mesh)
        meal = self.mesh.task("prepare-meal", on="kitchen", patience=0.0)

        @runnable
        async def order(text: str) -> str:
            """Order a meal."""
            return str((await meal.run(text)).output)

        self.platform.register(order)

    async def order(self, text: str) -> str:
        """Order, and return the run once it is suspended."""
        run_id = await self.platform.enqueue("order", text)
        await eventually(lambda: self.has_status(run_id, RunStatus.WAITING))
        return run_id

    async def has_status(self, run_id: str, status: RunStatus) -> bool:
        return (await self.platform.view_run(run_id)).status == status.value


def create_kitchen(url: str, work: object, store: MemoryStore | None = None, *, shares_store: bool = False) -> Node:
    platform = Platform(ScriptedModel(), store=MemoryStore() if store is None else store)
    node = Node("kitchen", platform, Mesh(url), max_concurrent=1, shares_store=shares_store)
    node.offer(work, name="prepare-meal")
    return node


async def test_killing_a_suspended_caller_ends_the_work_of_the_provider(url: str, work: Kitchen) -> None:
    desk = Desk(url)
    async with create_kitchen(url, runnable(work.prepare)), desk.mesh, desk.node:
        run_id = await desk.order("Wagyu")
        await eventually(lambda: work.begun == ["Wagyu"])

        await desk.platform.kill(run_id, "the guest has left")

        await eventually(lambda: work.ended == ["Wagyu"])
    assert not work.may_end.is_set()


async def test_a_caller_that_was_killed_by_another_program_ends_the_work_too(url: str, work: Kitchen) -> None:
    desk = Desk(url)
    async with create_kitchen(url, runnable(work.prepare)), desk.mesh:
        async with desk.node:
            run_id = await desk.order("Wagyu")
            await eventually(lambda: work.begun == ["Wagyu"])
        await Platform(ScriptedModel(), store=desk.platform.store).kill(run_id, "from a command line")
        assert work.ended == [], "nobody was there to say so"

        async with Node("desk", desk.platform, desk.mesh):
            await eventually(lambda: work.ended == ["Wagyu"])


async def test_progress_of_the_node_reaches_callers_that_wait_and_callers_that_are_suspended(url: str) -> None:
    model, desk = ScriptedModel("soup", "served", "soup", "served"), Desk(url)
    tasks = [Task("Cook.", id="cook"), Task("Serve.", id="serve")]
    async with create_kitchen(url, Ensemble("meal", tasks, model=model)), desk.mesh, desk.node:
        context = Platform(ScriptedModel(), on_event=desk.heard.append).context()
        await desk.mesh.task("prepare-meal", on="kitchen").run("Wagyu", context=context)
        heard = [event.message for event in desk.heard if isinstance(event, RequestProgressed)]
        assert heard[0] == "Specialist: starts"
        desk.heard.clear()

        run_id = await desk.platform.enqueue("order", "Ramen")
        await eventually(lambda: desk.has_status(run_id, RunStatus.COMPLETED))

        await eventually(
            lambda: any(isinstance(event, RequestProgressed) and event.run_id == run_id for event in desk.heard)
        )


async def test_a_position_counts_the_requests_of_all_instances(url: str, work: Kitchen) -> None:
    store = MemoryStore()
    first, second = (create_kitchen(url, runnable(work.prepare), store, shares_store=True) for _ in range(2))
    async with Mesh(url) as mesh, first, second:
        tickets = []
        for number in range(6):
            tickets.append(await mesh.submit("prepare-meal", f"{number}", on="kitchen"))
            await eventually(lambda: len(work.begun) == min(len(tickets), 2))
        assert [ticket.position for ticket in tickets] == [0, 0, 0, 1, 2, 3]
        work.may_end.set()
        for ticket in tickets:
            await ticket.result(timeout=30)
        await eventually(lambda: (first.running, second.running) == (0, 0))
