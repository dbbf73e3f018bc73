"""The model client alone: one call at once and a hundred, and what each token of a stream costs."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.comparison import Comparison, compare
from benchmarks.contenders import CALLERS, RAW_CALLER, TACTICIAN_CALLER
from benchmarks.environments import Environment
from benchmarks.measures import Spread
from benchmarks.report import Section, judge
from benchmarks.scenario import CONCURRENCIES, STREAM_TOKENS

CALL_BUDGET = 1.5
TOKEN_BUDGET = 3.0  # microseconds

CALLS = [("generate", concurrency) for concurrency in CONCURRENCIES]
HEADINGS = tuple(f"{concurrency} at once" for _, concurrency in CALLS)
STREAM = ("stream", 1)
PER_TOKEN = 1e6 / STREAM_TOKENS  # what makes seconds a stream microseconds a token


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    comparison = compare("calls", CALLERS, environments, quick=quick)
    return [calls(comparison), tokens(comparison)]


def calls(comparison: Comparison) -> Section:
    section = Section("Processor time of a model call, as a multiple of raw aiohttp's", ("client", *HEADINGS, "budget"))
    section.raw = comparison.raw
    for contender in CALLERS:
        if problem := comparison.problem(contender):
            section.add_failure(contender.name, problem)
            continue
        spreads = [comparison.ratio(contender, cell) for cell in CALLS]
        shown = absolute(comparison) if contender is RAW_CALLER else [f"{spread.show()} x" for spread in spreads]
        worst = max(spread.median for spread in spreads)
        budget = judge(worst, CALL_BUDGET, " x") if contender is TACTICIAN_CALLER else ""
        section.add(comparison.title(contender), *shown, budget)
    repetitions = len(comparison.repetitions)
    section.notes.append(f"Medians of {repetitions} repetitions (lowest-highest); raw aiohttp in ms of CPU a call.")
    section.notes.append("No agent and no tools; the anthropic SDK speaks its own API, the others chat completions.")
    return section


def absolute(comparison: Comparison) -> list[str]:
    return [f"{Spread.of(comparison.values(RAW_CALLER, cell)).show(1000)} ms" for cell in CALLS]


def tokens(comparison: Comparison) -> Section:
    section = Section(
        f"Processor time of a token, streaming {STREAM_TOKENS} of them",
        ("client", "µs above raw aiohttp", "µs in all", "budget"),
    )
    for contender in CALLERS:
        if problem := comparison.problem(contender):
            section.add_failure(contender.name, problem)
            continue
        total = Spread.of(comparison.values(contender, STREAM)).show(PER_TOKEN)
        above = comparison.difference(contender, STREAM)
        shown = "" if contender is RAW_CALLER else above.show(PER_TOKEN)
        budget = judge(above.median * PER_TOKEN, TOKEN_BUDGET, " µs") if contender is TACTICIAN_CALLER else ""
        section.add(comparison.title(contender), shown, total, budget)
    section.notes.append("One stream at a time; raw aiohttp reads the bytes of the chat completion and discards them.")
    return section
