"""Runs that wait: the memory of each, and the whole command that lists them; and a whole program that runs an agent."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.environments import Environment
from benchmarks.measures import ROOT, ChildError, child_environment, json_from, progress
from benchmarks.report import Section, judge

RUNS, FEW = 10_000, 1_000
BYTES_BUDGET, LIST_BUDGET, START_BUDGET = 2000.0, 0.5, 0.2
STORES = {"none": "without a store", "memory": "MemoryStore", "sqlite": "SQLite, without the file"}
RAW = "import asyncio, pydantic; pydantic.BaseModel"
LIST = """
import sys
from tactician.cli import main
sys.argv = ["tactician", "ps", "--store", {path!r}, *{options!r}]
main()
"""
PLANNED = """
from dataclasses import dataclass
from tactician import Ai, Platform, UserInput, achieves_goal, action, planned_agent
from tactician.testing import ScriptedModel

@dataclass
class Joke:
    text: str

@planned_agent(description="tells jokes")
class Comedian:
    @achieves_goal("a joke")
    @action
    async def tell(self, topic: UserInput, ai: Ai) -> Joke:
        return Joke(await ai.generate_text(topic.content))

assert Platform(ScriptedModel("ha")).register(Comedian()).start_sync("Comedian", "frogs").result == Joke("ha")
"""


class Whole(NamedTuple):
    """The time of a whole program, in seconds: wall time, and processor time, which other programs change less."""

    wall: float
    processor: float


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    python, runs = environments["tactician"].python, FEW if quick else RUNS
    return [measure_memory(python, runs), measure_programs(python, runs, 3 if quick else 20)]


def measure_memory(python: Path, runs: int) -> Section:
    section = Section(f"{runs:,} waiting runs", ("platform", "bytes a run", "budget"), raw={})
    for kind, name in STORES.items():
        progress(f"waiting: {name}")
        try:
            arguments = ["-m", "benchmarks.clients.tactician_waiting", kind, str(runs)]
            size = section.raw[kind] = json_from(python, arguments, timeout=600)
        except ChildError as error:
            section.add_failure(name, str(error))
            continue
        section.add(name, f"{size:,.0f}", judge(size, BYTES_BUDGET, " B"))
    section.notes.append("Python objects of a process that waits for a form, as `tracemalloc` counts them.")
    return section


def measure_programs(python: Path, runs: int, times: int) -> Section:
    columns = ("program", "s", "above `python -c pass`", "processor s", "budget")
    section = Section("Whole programs", columns, raw={})
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "runs.db")
        progress(f"waiting: {runs:,} runs in SQLite")
        json_from(python, ["-m", "benchmarks.clients.tactician_waiting", path, str(runs)], timeout=600)
        codes = {
            "python -c pass": ("pass", None),
            "import asyncio and pydantic": (RAW, None),
            "import tactician": ("import tactician", None),
            f"tactician ps, {runs:,} runs": (LIST.format(path=path, options=[]), LIST_BUDGET),
            "tactician ps --status waiting": (LIST.format(path=path, options=["--status", "waiting"]), LIST_BUDGET),
            "a planned agent, model in the process": (PLANNED, START_BUDGET),
        }
        best = run_in_turn(python, [code for code, _ in codes.values()], times)
    section.raw |= dict(zip(codes, best, strict=True))
    for (name, (_, budget)), (wall, processor) in zip(codes.items(), best, strict=True):
        above = wall - best[0].wall
        verdict = "" if budget is None else judge(wall, budget, " s")
        section.add(name, f"{wall:.3f}", f"{above:.3f}", f"{processor:.3f}", verdict)
    section.notes.append(f"From start to end, the lowest of {times}, in turn; modules are compiled in the first turn.")
    return section


def run_in_turn(python: Path, codes: Sequence[str], times: int) -> list[Whole]:
    """Return the lowest times of each program."""
    best = [Whole(float("inf"), float("inf"))] * len(codes)
    environment = {**child_environment(), **({"PYTHONPATH": found} if (found := os.environ.get("PYTHONPATH")) else {})}
    for _ in range(times):
        for number, code in enumerate(codes):
            started, used = perf_counter(), read_used()
            subprocess.run([str(python), "-c", code], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
            taken = Whole(perf_counter() - started, read_used() - used)
            best[number] = Whole(*map(min, best[number], taken))
    return best


def read_used() -> float:
    """Return the processor time of all programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
