"""Measures what it costs to save a step, by how many steps the run has made before; prints seconds as JSON."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import process_time

from benchmarks.steps import PLACES
from tactician import Agent, Budget, Platform, ProcessOptions, RunContext, action, planned_agent, tool
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, ToolCall, Usage
from tactician.stores import DocumentStore, SqliteStore

LENGTH, WINDOW = PLACES[-1], 20
TEXT = "x" * 200
Times = list[float]


class Endless:
    """Model that calls a tool at each turn, and costs nothing."""

    name = "endless"
    features = Features(tools=True)

    def __init__(self) -> None:
        self.turns = 0

    async def generate(self, request: ModelRequest) -> ModelResponse:
        self.turns += 1
        call = ToolCall(f"c{self.turns}", "look", f'{{"number": {self.turns}}}')
        parts = (call,) if self.turns < LENGTH + WINDOW else ()
        return ModelResponse(AssistantMessage(parts), Usage(model="endless"))


async def talk(store: DocumentStore | None) -> Times:
    """Run an agent with a tool call at each turn: two steps a turn."""
    times: Times = []

    @tool
    def look(number: int) -> str:
        """Look something up."""
        times.append(process_time())
        return f"{number} {TEXT}"

    agent = Agent("Talker", tools=[look], max_turns=2 * LENGTH)
    await agent.run("go", context=RunContext.over(Endless(), store=store))
    return times


@dataclass(frozen=True)
class Count:
    """What the process counts."""

    number: int
    text: str = TEXT


async def count(store: DocumentStore | None) -> Times:
    """Run a process of many actions: a step for each."""
    times: Times = []

    @planned_agent(description="counts", planner="utility")
    class Counter:
        @action(can_rerun=True)
        def step(self, count: Count) -> Count:
            times.append(process_time())
            return Count(count.number + 1)

    options = ProcessOptions(budget=Budget(actions=LENGTH + WINDOW))
    await Platform(Endless(), store=store).start(Counter(), Count(0), options=options)
    return times


KINDS: dict[str, tuple[Callable[[DocumentStore | None], Awaitable[Times]], int]] = {
    "talk": (talk, 2),
    "count": (count, 1),
}


async def measure(kind: str) -> list[float]:
    """Return what a step cost more with SQLite than without a store, in seconds, at each of the lengths."""
    run, steps = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteStore(Path(folder) / "runs.db") as store:
            stored = await run(store)
    plain = await run(None)
    return [(around(stored, place) - around(plain, place)) / steps for place in PLACES]


def around(times: Times, place: int) -> float:
    """Return the median time from one call to the next, around a place."""
    window = times[max(0, place - WINDOW) : place + WINDOW + 1]
    return statistics.median(after - before for before, after in pairwise(window))


if __name__ == "__main__":
    kind, repetitions = sys.argv[1], int(sys.argv[2])
    print(json.dumps([asyncio.run(measure(kind)) for _ in range(repetitions)]))
