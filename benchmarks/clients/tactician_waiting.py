"""Starts processes that wait for a person; prints the bytes of each as JSON, or leaves them in an SQLite file."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

from tactician import Platform, achieves_goal, action, ask_human, planned_agent
from tactician.process import UserInput
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel

WARM_UP = 50


@dataclass(frozen=True)
class Colour:
    """What is asked for."""

    name: str


@planned_agent(description="asks for a colour")
class Asker:
    """Agent that waits."""

    @achieves_goal("a colour")
    @action
    async def ask(self, topic: UserInput) -> Colour:
        return await ask_human(Colour, "Which colour?")


async def start(platform: Platform, runs: int) -> None:
    for number in range(runs):
        await platform.start("Asker", UserInput(f"question {number}"))


async def measure(store: DocumentStore | None, runs: int) -> float:
    """Return the bytes of Python objects that a waiting process costs."""
    async with Platform(ScriptedModel(), store=store).register(Asker()) as platform:
        await start(platform, WARM_UP)
        gc.collect()
        tracemalloc.start()
        await start(platform, runs)
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    return size / runs


async def fill(path: Path, runs: int) -> float:
    async with Platform(ScriptedModel(), store=SqliteStore(path)).register(Asker()) as platform:
        await start(platform, runs)
    return float(runs)


def main(kind: str, runs: int) -> float:
    if kind == "memory":
        return asyncio.run(measure(MemoryStore(), runs))
    if kind == "none":
        return asyncio.run(measure(None, runs))
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            return asyncio.run(measure(SqliteStore(Path(folder) / "runs.db"), runs))
    return asyncio.run(fill(Path(kind), runs))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
