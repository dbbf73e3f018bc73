"""Instances of a node in processes that a test kills: `python -m tests.mesh.crash_program` obeys a nursery."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from tactician import Platform, SqliteStore, runnable
from tactician.agents.function import FunctionRunnable
from tactician.mesh import Mesh, Node
from tactician.testing import ScriptedModel
from tests.support.nursery import serve_nursery

STEPS = ("wash", "cut", "cook")


def create_meal(effects: Path) -> FunctionRunnable[str]:
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
        """Prepare a meal."""
        return "|".join([(await step.run(order)).output for step in steps])

    return prepare


async def work(name: str, url: str, realm: str, store: str, effects: str) -> None:
    mesh = Mesh(url, realm=realm, name=name)
    platform = Platform(ScriptedModel(), store=SqliteStore(store))
    node = Node("kitchen", platform, mesh, max_concurrent=3, lease=timedelta(seconds=1), shares_store=True)
    node.offer(create_meal(Path(effects)), name="prepare")
    async with mesh:
        await node.run()


def run(name: str, *arguments: str) -> None:
    asyncio.run(work(name, *arguments))


if __name__ == "__main__":
    serve_nursery(run)
