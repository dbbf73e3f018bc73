"""Asks a node of a mesh for work, in turn with the same durable run; prints the processor time of each as JSON.

Both sides are in this process, and the broker is not: `python -m benchmarks.clients.tactician_mesh ROUNDS [URL ...]`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from time import process_time

from tactician import MemoryStore, Platform, runnable
from tactician.mesh import Mesh, Node
from tactician.testing import ScriptedModel

REQUESTS, WARM_UP = 50, 30


@runnable
async def prepare(order: str) -> str:
    """Prepare a meal."""
    return f"{order}, ready"


async def measure(ask: Callable[[], Awaitable[object]], count: int) -> float:
    """Return the seconds of processor time of each request."""
    started = process_time()
    for _ in range(count):
        await ask()
    return (process_time() - started) / count


async def open_mesh(url: str, stack: AsyncExitStack) -> Callable[[], Awaitable[object]]:
    """Start a node and a caller, each with a connection, and return a request."""
    provider, caller = [await stack.enter_async_context(Mesh(url, realm="benchmark")) for _ in range(2)]
    node = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore()), provider)
    node.offer(prepare)
    await stack.enter_async_context(node)
    task = caller.task("prepare", on="kitchen")

    async def ask() -> None:
        assert (await task.run("Wagyu")).output == "Wagyu, ready"

    return ask


async def main(rounds: int, urls: list[str]) -> dict[str, float]:
    platform = Platform(ScriptedModel(), store=MemoryStore())

    async def run_here() -> None:
        assert (await platform.run(prepare, "Wagyu")).output == "Wagyu, ready"

    async with AsyncExitStack() as stack:
        asked = {"local": run_here}
        asked |= {url.partition(":")[0]: await open_mesh(url, stack) for url in urls}
        for ask in asked.values():
            await measure(ask, WARM_UP)
        measured = [{name: await measure(ask, REQUESTS) for name, ask in asked.items()} for _ in range(rounds)]
    return {name: min(times[name] for times in measured) for name in asked}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1]), sys.argv[2:]))))
