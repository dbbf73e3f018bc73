"""Replies that are lost on their way to a run that waits without memory, or that nobody needs any longer."""

from __future__ import annotations

import asyncio

from tactician import MemoryStore, Platform, RunStatus, runnable
from tactician.mesh import Mesh, Node
from tactician.mesh.messages.message import MeshMessage
from tactician.mesh.messages.replies import MeshReply
from tactician.mesh.transports.transport import LeasedMessage
from tactician.testing import FakeClock, ScriptedModel
from tests.mesh.conformance import take
from tests.support.waiting import eventually

LEASE = 60.0


class Desk:
    """Program whose runs ask the kitchen, and are suspended while it works."""

    def __init__(self, realm: str) -> None:
        self.clock, self.may_end, self.begun = FakeClock(), asyncio.Event(), list[str]()
        self.mesh = Mesh(f"memory://{realm}", realm=realm, name="desk", clock=self.clock)
        self.platform = Platform(ScriptedModel(), store=MemoryStore(clock=self.clock), clock=self.clock)
        kitchen = Platform(ScriptedModel(), store=MemoryStore(clock=self.clock), clock=self.clock)
        self.kitchen = Node("kitchen", kitchen, self.mesh)
        self.kitchen.offer(runnable(self.prepare), name="prepare-meal")
        meal = self.mesh.task("prepare-meal", on="kitchen", patience=0.0)

        @runnable
        async def order(text: str) -> str:
            """Order a meal."""
            return str((await meal.run(text)).output)

        self.platform.register(order)

    async def prepare(self, order: str) -> str:
        """Prepare a meal."""
        self.begun.append(order)
        await self.may_end.wait()
        return f"{order}, ready"

    async def has_status(self, run_id: str, status: RunStatus) -> bool:
        return (await self.platform.view_run(run_id)).status == status.value

    async def has_later(self, run_id: str, status: RunStatus) -> bool:
        self.clock.advance(5)
        return await self.has_status(run_id, status)

    async def order(self, text: str) -> str:
        """Order, and return the run once it is suspended; then the instance that has begun it ends."""
        async with Node("desk", self.platform, self.mesh) as node:
            run_id = await self.platform.enqueue("order", text)
            await eventually(lambda: self.has_status(run_id, RunStatus.WAITING))
            await eventually(lambda: self.begun == [text])
            self.queue = node.queue
        return run_id

    async def steal(self, kind: type[MeshMessage]) -> LeasedMessage:
        """Take a message out of the queue of the desk, as an instance does that dies then."""
        while True:
            for leased in await take(self.mesh.transport, self.queue):
                await self.mesh.transport.acknowledge(leased)
                if isinstance(self.mesh.decode(leased.body).message, kind):
                    return leased


async def test_a_run_whose_reply_was_lost_asks_for_it(realm: str) -> None:
    desk = Desk(realm)
    async with desk.mesh, desk.kitchen:
        run_id = await desk.order("Wagyu")
        desk.may_end.set()
        await desk.steal(MeshReply)

        async with Node("desk", desk.platform, desk.mesh):
            await eventually(lambda: desk.has_later(run_id, RunStatus.COMPLETED))
        assert await desk.platform.output(run_id) == "Wagyu, ready"
        assert desk.begun == ["Wagyu"]


async def test_a_second_reply_to_a_run_that_has_ended_leaves_the_queue(realm: str) -> None:
    desk = Desk(realm)
    async with desk.mesh, Node("desk", desk.platform, desk.mesh, shares_store=True) as node:
        node.offer(runnable(desk.prepare), name="echo")
        desk.may_end.set()
        run_id = (await desk.platform.run(runnable(desk.prepare), "Wagyu")).run_id
        reply = MeshReply(request_id=f"{run_id}.1", node="kitchen", status="completed")
        await desk.mesh.send(node.queue, reply)
        await desk.mesh.submit("echo", "which comes later", on="desk")
        desk.clock.advance(LEASE)
        await desk.mesh.submit("echo", "which comes later still", on="desk")
    desk.clock.advance(LEASE)
    assert await desk.mesh.transport.receive(node.queue, limit=1, lease=LEASE, wait=0.0) == []
