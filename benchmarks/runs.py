"""A run without and with a tool call, one at a time and a hundred at once, against raw aiohttp on one mock server."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from benchmarks.contenders import CONTENDERS, RAW, TACTICIAN, Contender
from benchmarks.environments import Environment
from benchmarks.measures import ROOT, ChildError, Spread, child_environment, json_from, progress
from benchmarks.report import Section, judge
from benchmarks.scenario import CONCURRENCIES

BUDGET = 1.6
CELLS = [(scenario, concurrency) for scenario in ("plain", "tool") for concurrency in CONCURRENCIES]
HEADINGS = tuple(
    f"{'one tool call' if scenario == 'tool' else 'no tools'}, {concurrency} at once" for scenario, concurrency in CELLS
)

Repetition = dict[str, dict[str, Any]]  # what each client printed, by module


@contextmanager
def mock_server() -> Iterator[str]:
    """Run the mock server in a process of its own and give its base URL."""
    command = [sys.executable, "-m", "benchmarks.mock_server"]
    with subprocess.Popen(
        command, cwd=ROOT, env=child_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        # Leaving closes its standard input, which ends it.


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    """Measure every client in turn, again and again, so that what disturbs one repetition disturbs all clients."""
    problems = {c.module: problem for c in CONTENDERS if (problem := environments[c.environment].problem)}
    repetitions: list[Repetition] = []
    with mock_server() as url:
        for number in range(2 if quick else 4):
            progress(f"runs: repetition {number + 1}")
            repetitions.append(repetition(environments, url, 0.2 if quick else 0.4, problems))
    return [ratios(repetitions, problems), throughput(repetitions, problems)]


def repetition(
    environments: Mapping[str, Environment], url: str, seconds: float, problems: dict[str, str]
) -> Repetition:
    """Run every client once; one that fails is noted in `problems` and left out from then on."""
    printed: Repetition = {}
    for contender in CONTENDERS:
        if contender.module in problems:
            continue
        try:
            arguments = ["-m", f"benchmarks.clients.{contender.module}", url, str(seconds)]
            printed[contender.module] = json_from(environments[contender.environment].python, arguments)
        except ChildError as error:
            progress(f"runs: {contender.name} failed: {error}")
            problems[contender.module] = str(error)
    return printed


def cells(repetitions: list[Repetition], module: str, key: str) -> dict[tuple[str, int], list[float]]:
    """Collect one measure of one client, by scenario and concurrency, a number per repetition."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for printed in repetitions:
        for result in printed[module]["results"]:
            found[result["scenario"], result["concurrency"]].append(result[key])
    return found


def title(contender: Contender, repetitions: list[Repetition]) -> str:
    return f"{contender.name} {repetitions[0][contender.module]['version']}"


def ratios(repetitions: list[Repetition], problems: Mapping[str, str]) -> Section:
    section = Section("Processor time of a run, as a multiple of raw aiohttp's", ("client", *HEADINGS, "budget"))
    section.raw = {"repetitions": repetitions, "problems": dict(problems)}
    for contender in CONTENDERS:
        if problem := problems.get(contender.module) or problems.get(RAW.module):
            section.add_failure(contender.name, problem)
            continue
        spreads = [ratio(repetitions, contender, cell) for cell in CELLS]
        shown = absolute(repetitions) if contender is RAW else [f"{spread.show()} x" for spread in spreads]
        worst = max(spread.median for spread in spreads)
        section.add(title(contender, repetitions), *shown, judge(worst, BUDGET, " x") if contender is TACTICIAN else "")
    section.notes.append(f"Medians of {len(repetitions)} repetitions (lowest-highest); raw aiohttp in ms of CPU a run.")
    return section


def ratio(repetitions: list[Repetition], contender: Contender, cell: tuple[str, int]) -> Spread:
    own, raw = (cells(repetitions, module, "cpu")[cell] for module in (contender.module, RAW.module))
    return Spread.of(mine / theirs for mine, theirs in zip(own, raw, strict=True))


def absolute(repetitions: list[Repetition]) -> list[str]:
    found = cells(repetitions, RAW.module, "cpu")
    return [f"{Spread.of(found[cell]).show(1000)} ms" for cell in CELLS]


def throughput(repetitions: list[Repetition], problems: Mapping[str, str]) -> Section:
    section = Section("Runs a second, and the peak memory of the process", ("client", *HEADINGS, "peak MB"))
    for contender in CONTENDERS:
        if problem := problems.get(contender.module):
            section.add_failure(contender.name, problem)
            continue
        found = cells(repetitions, contender.module, "wall")
        rates = [Spread.of(1 / wall for wall in found[cell]).median for cell in CELLS]
        peak = Spread.of(printed[contender.module]["peak"] for printed in repetitions)
        section.add(title(contender, repetitions), *(f"{rate:,.0f}" for rate in rates), f"{peak.median:.0f}")
    section.notes.append("Wall time, client and mock server each on a core where there are two.")
    return section
