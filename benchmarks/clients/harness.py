"""Runs one client: warms it up, measures its processor time in each scenario, and prints one JSON line.

Standard library only: this runs inside every peer's environment.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from pathlib import Path

from benchmarks import scenario

Run = Callable[[], Awaitable[str]]
Client = Callable[[str], AbstractAsyncContextManager[dict[str, Run]]]
Runs = AsyncIterator[dict[str, Run]]  # what a client yields: how to do one run of each scenario

MOST_RUNS = 20_000
TURNS = 10


async def get_weather(city: str) -> str:
    """Look up the weather in a city.

    Args:
        city: the name of the city
    """
    return f"Sunny in {city}, 21 degrees"


class Crowd:
    """A number of workers who do the same run again and again until the time is up."""

    def __init__(self, name: str, run: Run, concurrency: int) -> None:
        self.name, self.run, self.concurrency = name, run, concurrency
        self.done = 0
        self.runs, self.cpu, self.wall = 0, 0.0, 0.0

    async def work(self, seconds: float, least: int) -> None:
        """Keep everyone busy for `seconds`; each does at least `least` runs, however slow the client is."""
        self.done = 0
        deadline = time.perf_counter() + seconds
        await asyncio.gather(*(self.worker(deadline, least) for _ in range(self.concurrency)))

    async def worker(self, deadline: float, least: int) -> None:
        rounds = 0
        while rounds < least or (time.perf_counter() < deadline and self.done < MOST_RUNS):
            answer = await self.run()
            if answer != scenario.ANSWERS[self.name]:
                raise RuntimeError(f"wrong answer in {self.name}: {answer!r}")
            rounds += 1
            self.done += 1

    async def measure(self, seconds: float, least: int) -> None:
        """Add up the runs, and their processor and wall seconds, threads and kernel included."""
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        await self.work(seconds, least)
        self.cpu += time.process_time() - cpu
        self.wall += time.perf_counter() - wall
        self.runs += self.done

    @property
    def result(self) -> dict[str, object]:
        """The processor and wall seconds of one run."""
        spent = {"cpu": self.cpu / self.runs, "wall": self.wall / self.runs, "runs": self.runs}
        return {"scenario": self.name, "concurrency": self.concurrency} | spent


def peak_megabytes() -> float:
    """Return the peak resident memory. On Linux `ru_maxrss` survives exec and would count our parent's memory."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


async def measured(client: Client, url: str, seconds: float) -> list[dict[str, object]]:
    """Measure one at a time before many: a pool left with a hundred idle connections slows some clients twofold.

    Single workers take turns, so that the scenarios of a client can be compared with each other, too.
    """
    async with client(url) as runs:
        crowds = [Crowd(name, run, 1) for name, run in runs.items()]
        for crowd in crowds:
            await crowd.work(seconds / 3, least=1)
        for _ in range(TURNS):
            for crowd in crowds:
                await crowd.measure(seconds / TURNS, least=1)
        for concurrency in scenario.CONCURRENCIES[1:]:
            for name, run in runs.items():
                if name not in scenario.ALONE:
                    crowds.append(crowd := Crowd(name, run, concurrency))
                    await crowd.work(seconds / 3, least=1)
                    await crowd.measure(seconds, least=2)
        return [crowd.result for crowd in crowds]


def main(distribution: str, client: Client) -> None:
    """Measure `client` as the command line says: the base URL and the seconds to spend on each scenario."""
    start_up = time.process_time()
    url, seconds = sys.argv[1], float(sys.argv[2])
    results = asyncio.run(measured(client, url, seconds))
    report = {"version": version(distribution), "start_up": start_up, "peak": peak_megabytes(), "results": results}
    print(json.dumps(report), flush=True)
    os._exit(0)  # some peers keep threads that would make us wait
