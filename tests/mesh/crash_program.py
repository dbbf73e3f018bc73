"""Instances of nodes in processes that a test kills: `python -m tests.mesh.crash_program` obeys a nursery."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from tactician import Platform, SqliteStore, runnable
from tactician.agents.function import FunctionRunnable
from tactician.errors import TransientError
from tactician.mesh import Mesh, Node
from tactician.testing import ScriptedModel
from tests.support.nursery import serve_nursery

STEPS = ("wash", "cut", "cook")
DESK = "desk"
NODES = ("kitchen", "bar", "laundry", DESK)
"""Four nodes; the desk asks the kitchen and the bar."""
LEASE = 2.0


def create_work(effects: Path) -> FunctionRunnable[str]:
    """Return work of three steps, each of which leaves a line in a file."""

    def create_step(name: str) -> FunctionRunnable[str]:
        async def step(order: str) -> str:
            with effects.open("a") as file:
                os.write(file.fileno(), f"{order} {name}\n".encode())
            await asyncio.sleep(0.01)
            return f"{order}+{name}"

        return runnable(step, name=name)

    steps = [create_step(name) for name in STEPS]

    @runnable
    async def prepare(order: str) -> str:
        """Prepare an order."""
        return "|".join([(await step.run(order)).output for step in steps])

    return prepare


def create_desk(mesh: Mesh) -> FunctionRunnable[str]:
    """Return work that asks two other nodes, one after the other, and is suspended while it waits."""
    tasks = [mesh.task("prepare", on=node, patience=0.1, accept_within=120) for node in ("kitchen", "bar")]

    @runnable
    async def prepare(order: str) -> str:
        """Let others prepare an order."""
        return "|".join([str((await task.run(f"{order}-{task.options.on}")).output) for task in tasks])

    return prepare


async def work(name: str, node_name: str, url: str, realm: str, folder: str) -> None:
    mesh = Mesh(url, realm=realm, name=node_name)
    platform = Platform(ScriptedModel(), store=SqliteStore(f"{folder}/{node_name}.db"))
    node = Node(node_name, platform, mesh, max_concurrent=3, lease=timedelta(seconds=LEASE), shares_store=True)
    node.offer(create_desk(mesh) if node_name == DESK else create_work(Path(folder, "effects")), name="prepare")
    async with mesh:
        await node.run()


def run(name: str, *arguments: str) -> None:
    while True:  # as a supervisor starts a program again that has not reached its broker
        with suppress(TransientError):
            asyncio.run(work(name, *arguments))


if __name__ == "__main__":
    serve_nursery(run)
