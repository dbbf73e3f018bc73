"""A run without and with a tool call, one at a time and a hundred at once, against raw aiohttp on one mock server."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.comparison import Comparison, compare
from benchmarks.contenders import CONTENDERS, RAW, TACTICIAN
from benchmarks.environments import Environment
from benchmarks.measures import Spread
from benchmarks.report import Section, judge
from benchmarks.scenario import CONCURRENCIES

BUDGET = 1.5
CELLS = [(scenario, concurrency) for scenario in ("plain", "tool") for concurrency in CONCURRENCIES]
HEADINGS = tuple(
    f"{'one tool call' if scenario == 'tool' else 'no tools'}, {concurrency} at once" for scenario, concurrency in CELLS
)


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    comparison = compare("runs", CONTENDERS, environments, quick=quick)
    return [ratios(comparison), throughput(comparison)]


def ratios(comparison: Comparison) -> Section:
    section = Section("Processor time of a run, as a multiple of raw aiohttp's", ("client", *HEADINGS, "budget"))
    section.raw = comparison.raw
    for contender in CONTENDERS:
        if problem := comparison.problem(contender):
            section.add_failure(contender.name, problem)
            continue
        spreads = [comparison.ratio(contender, cell) for cell in CELLS]
        shown = absolute(comparison) if contender is RAW else [f"{spread.show()} x" for spread in spreads]
        worst = max(spread.median for spread in spreads)
        section.add(comparison.title(contender), *shown, judge(worst, BUDGET, " x") if contender is TACTICIAN else "")
    repetitions = len(comparison.repetitions)
    section.notes.append(f"Medians of {repetitions} repetitions (lowest-highest); raw aiohttp in ms of CPU a run.")
    return section


def absolute(comparison: Comparison) -> list[str]:
    return [f"{Spread.of(comparison.values(RAW, cell)).show(1000)} ms" for cell in CELLS]


def throughput(comparison: Comparison) -> Section:
    section = Section("Runs a second, and the peak memory of the process", ("client", *HEADINGS, "peak MB"))
    for contender in CONTENDERS:
        if problem := comparison.problems.get(contender.module):
            section.add_failure(contender.name, problem)
            continue
        rates = [Spread.of(1 / wall for wall in comparison.values(contender, cell, "wall")).median for cell in CELLS]
        peak = Spread.of(printed[contender.module]["peak"] for printed in comparison.repetitions)
        section.add(comparison.title(contender), *(f"{rate:,.0f}" for rate in rates), f"{peak.median:.0f}")
    section.notes.append("Wall time, client and mock server each on a core where there are two.")
    return section
