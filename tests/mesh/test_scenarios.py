"""Promises of the mesh, each a test by its number, on every transport that has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from tactician import Ensemble, MemoryStore, Platform, RunStatus, SqliteStore, Task, runnable
from tactician.errors import RequestRejectedError
from tactician.events import Event
from tactician.mesh import Mesh, Node, Priority
from tactician.mesh.calls.ticket import Ticket
from tactician.mesh.events import RequestAccepted, RequestCompleted
from tactician.mesh.messages.requests import MeshRequest
from tactician.mesh.nodes.node import NodeState
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.testing import FakeClock, ScriptedModel
from tests.support.waiting import eventually


class Kitchen:
    """Work that a test lets begin and end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = asyncio.Event()

    async def prepare(self, order: str) -> str:
        """Prepare a meal."""
        self.begun.append(order)
        await self.may_end.wait()
        return f"{order}, ready"


@pytest.fixture
def work() -> Kitchen:
    return Kitchen()


Open = Callable[..., Node]


@pytest.fixture
async def open_kitchen(url: str, realm: str, work: Kitchen) -> AsyncIterator[Open]:
    async with AsyncExitStack() as meshes:

        def open_kitchen(**options: int) -> Node:
            mesh = Mesh(url, realm=realm, name="kitchen")
            meshes.push_async_callback(mesh.aclose)
            platform = Platform(ScriptedModel(), store=MemoryStore())
            node = Node("kitchen", platform, mesh, max_concurrent=options.get("most", 1))
            node.offer(runnable(work.prepare), name="prepare-meal")
            return node

        yield open_kitchen


async def test_23_a_repeated_request_runs_once_and_a_fresh_request_again(
    url: str, realm: str, work: Kitchen, open_kitchen: Open
) -> None:
    work.may_end.set()
    async with Mesh(url, realm=realm) as mesh, open_kitchen():
        first, again = [
            await mesh.submit("prepare-meal", "Wagyu", on="kitchen", request_id=f"{realm}-17") for _ in range(2)
        ]
        outputs = [await first.result(timeout=30), await again.result(timeout=30)]
        fresh = await mesh.submit("prepare-meal", "Wagyu", on="kitchen", request_id=f"{realm}-17", fresh=True)
        outputs.append(await fresh.result(timeout=30))

    assert outputs == ["Wagyu, ready"] * 3
    assert work.begun == ["Wagyu", "Wagyu"]


async def test_29_acceptance_comes_before_the_work_with_a_true_position_and_end(
    url: str, realm: str, work: Kitchen, open_kitchen: Open
) -> None:
    async with Mesh(url, realm=realm) as mesh, open_kitchen():
        tickets = []
        for number in range(4):
            tickets.append(await mesh.submit("prepare-meal", f"{number}", on="kitchen"))
            await eventually(lambda: len(work.begun) == 1)
        assert [ticket.position for ticket in tickets] == [0, 0, 1, 2]
        assert tickets[3].expected_at is None, "nothing was measured"
        work.may_end.set()
        for ticket in tickets:
            await ticket.result(timeout=30)

        later = await mesh.submit("prepare-meal", "5", on="kitchen")

        assert later.expected_at is not None
        assert mesh.clock.time() - 5 < later.expected_at < mesh.clock.time() + 30
        await later.result(timeout=30)


async def test_33_drain_finishes_what_runs_rejects_what_is_new_and_leaves_the_queue(
    url: str, realm: str, work: Kitchen, open_kitchen: Open
) -> None:
    async with Mesh(url, realm=realm) as mesh:
        kitchen = open_kitchen()
        await kitchen.start()
        running = await mesh.submit("prepare-meal", "running", on="kitchen")
        await eventually(lambda: work.begun == ["running"])
        waiting = await mesh.submit("prepare-meal", "waiting", on="kitchen")

        draining = asyncio.create_task(kitchen.drain())
        await eventually(lambda: kitchen.state is NodeState.DRAINING)
        with pytest.raises(RequestRejectedError) as refusal:
            await mesh.submit("prepare-meal", "new", on="kitchen")
        work.may_end.set()
        await draining

        assert refusal.value.reason == "draining"
        assert await running.result(timeout=30) == "running, ready"
        assert (kitchen.state, kitchen.queue_depth, work.begun) == (NodeState.STOPPED, 1, ["running"])
        assert waiting.position == 0


async def test_30_nodes_discover_each_other_and_forget_who_has_left(url: str, realm: str, open_kitchen: Open) -> None:
    if url.startswith("sqs:"):
        pytest.skip("SQS has no topics, and so no cards")
    async with Mesh(url, realm=realm) as mesh:
        async with open_kitchen():
            await eventually(lambda: [card.node for card in mesh.directory.list_cards() if card.realm == realm] != [])
            (offering,) = mesh.directory.list_offerings(realm)
            assert (offering.node, offering.capability.name) == ("kitchen", "prepare-meal")
        await eventually(lambda: not mesh.directory.list_offerings(realm))


async def test_28_the_words_of_the_caller_reach_the_prompt_whatever_the_template_names(realm: str) -> None:
    model = ScriptedModel("Wagyu, ready")
    url = f"memory://{realm}"
    platform = Platform(model, store=MemoryStore())
    mesh = Mesh(url)
    kitchen = Node("kitchen", platform, mesh)
    kitchen.offer(Ensemble("prepare-meal", [Task("Prepare the meal that was ordered.")], model=model))
    async with mesh, kitchen:
        result = await mesh.task("prepare-meal").run("Wagyu, medium rare, room 403")

    assert result.output == "Wagyu, ready"
    assert "Wagyu, medium rare, room 403" in model.calls[0].prompt
    assert result.usage.total_tokens > 0


async def test_36_the_context_of_the_caller_is_the_parent_of_the_providers_run(realm: str) -> None:
    url = f"memory://{realm}"
    platform = Platform(ScriptedModel(), store=MemoryStore())
    mesh = Mesh(url)
    kitchen = Node("kitchen", platform, mesh)

    @runnable
    async def prepare(order: str) -> str:
        return order

    kitchen.offer(prepare)
    async with mesh, kitchen:
        parent = f"00-{'a' * 32}-{'b' * 16}-01"
        request = await _create_request(mesh, parent)
        view = (await platform.runs())[0]

    assert request
    record = await _load(platform, view.id)
    assert record.header.trace_parent == parent


async def _create_request(mesh: Mesh, parent: str) -> bool:
    request = MeshRequest(id="r", sender=mesh.name, capability="prepare", input="x", reply_to=mesh.reply_queue)
    with mesh.calls.listen("r") as call:
        await mesh.send(mesh.name_queue("kitchen"), request, parent)
        await call.is_answered.wait()
        return call.reply is not None


async def _load(platform: Platform, run_id: str) -> RunRecord:
    record = await RunStore(platform.store).load(run_id)
    assert record is not None
    return record


async def test_21_a_low_request_that_has_waited_comes_before_a_fresh_normal_request(realm: str) -> None:
    clock = FakeClock()
    url, work = f"memory://{realm}", Kitchen()
    platform = Platform(ScriptedModel(), store=MemoryStore(clock=clock), clock=clock)
    mesh = Mesh(url, clock=clock)
    kitchen = Node("kitchen", platform, mesh, max_concurrent=1)
    kitchen.offer(runnable(work.prepare), name="prepare-meal")
    async with mesh:
        await kitchen.start()
        for order, priority in (("running", Priority.CRITICAL), ("low", Priority.LOW)):
            await mesh.submit("prepare-meal", order, on="kitchen", priority=priority)
        await eventually(lambda: work.begun == ["running"])
        clock.advance(1801)
        normal = await mesh.submit("prepare-meal", "normal", on="kitchen")
        work.may_end.set()
        await eventually(lambda: len(work.begun) == 3)

        assert normal.position == 1
        assert work.begun == ["running", "low", "normal"]
        await kitchen.drain()


async def test_40_a_crash_in_the_work_leaves_no_request_in_progress(url: str, realm: str) -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore())

    @runnable
    async def burn(order: str) -> str:
        raise RuntimeError(order)

    async with Mesh(url, realm=realm) as mesh:
        kitchen = Node("kitchen", platform, mesh)
        kitchen.offer(burn)
        await kitchen.start()
        ticket = await mesh.submit("burn", "toast", on="kitchen")
        await eventually(lambda: _has_ended(ticket))
        status = await ticket.status()
        await kitchen.drain()

    assert status.status == "failed"
    assert status.reply is not None
    assert status.reply.failure is not None
    assert status.reply.failure.type == "RuntimeError"
    assert (kitchen.queue_depth, kitchen.running) == (0, 0)


async def _has_ended(ticket: Ticket) -> bool:
    return (await ticket.status()).status == "failed"


@pytest.fixture
def caller_store(tmp_path: Path) -> str:
    return f"{tmp_path}/caller.db"


async def test_a_caller_that_waits_is_suspended_and_continued_on_another_machine(
    url: str, realm: str, work: Kitchen, open_kitchen: Open, caller_store: str
) -> None:
    async with open_kitchen() as kitchen:
        first = create_desk(url, realm, caller_store)
        async with first.mesh, first.node:
            run_id = await first.platform.enqueue("order", "Wagyu")
            await eventually(lambda: first.has_status(run_id, RunStatus.WAITING))
            assert work.begun == ["Wagyu"]
        await first.platform.aclose()
        work.may_end.set()

        second = create_desk(url, realm, caller_store)
        async with second.mesh, second.node:
            await eventually(lambda: second.has_status(run_id, RunStatus.COMPLETED))
            assert await second.platform.output(run_id) == "served: Wagyu, ready"
        await second.platform.aclose()
        assert kitchen.running == 0
    assert work.begun == ["Wagyu"], "the work was done once"


class Desk:
    """Program that asks the kitchen."""

    def __init__(self, mesh: Mesh, node: Node, platform: Platform) -> None:
        self.mesh, self.node, self.platform = mesh, node, platform

    async def has_status(self, run_id: str, status: RunStatus) -> bool:
        return [view.status for view in await self.platform.runs() if view.id == run_id] == [status.value]


def create_desk(url: str, realm: str, store: str) -> Desk:
    mesh = Mesh(url, realm=realm, name="desk")
    platform = Platform(ScriptedModel(), store=SqliteStore(store))
    meal = mesh.task("prepare-meal", on="kitchen", patience=0.05)

    @runnable
    async def order(text: str) -> str:
        """Order a meal."""
        return f"served: {(await meal.run(text)).output}"

    platform.register(order)
    return Desk(mesh, Node("desk", platform, mesh, lease=timedelta(seconds=5)), platform)


async def test_events_tell_the_way_of_a_request(url: str, realm: str, work: Kitchen, open_kitchen: Open) -> None:
    work.may_end.set()
    heard: list[Event] = []
    async with open_kitchen(), Mesh(url, realm=realm) as mesh:
        context = Platform(ScriptedModel(), on_event=heard.append).context()
        await mesh.task("prepare-meal", on="kitchen").run("Wagyu", context=context, deadline=timedelta(minutes=1))

    accepted = [event.position for event in heard if isinstance(event, RequestAccepted)]
    completed = [event.status for event in heard if isinstance(event, RequestCompleted)]
    assert (accepted, completed) == ([0], ["completed"])
