"""Two tasks as an ensemble, against the same two agents called by hand, and beside CrewAI's kickoff of them."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.comparison import compare
from benchmarks.contenders import BARE_AGENTS, ENSEMBLES, TACTICIAN_ENSEMBLE
from benchmarks.environments import Environment
from benchmarks.measures import Spread
from benchmarks.report import Section, judge

BUDGET = 1.15
REPETITIONS = 12  # the difference is so small that chance decides between four
PAIR = ("pair", 1)


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    comparison = compare("ensembles", ENSEMBLES, environments, quick=quick, repetitions=REPETITIONS)
    section = Section(
        "Processor time of two tasks, as a multiple of their agents called by hand", ("client", "two tasks", "budget")
    )
    section.raw = comparison.raw
    for contender in ENSEMBLES:
        if problem := comparison.problem(contender):
            section.add_failure(contender.name, problem)
            continue
        ratio = comparison.ratio(contender, PAIR)
        spent = Spread.of(comparison.values(contender, PAIR)).show(1000)
        shown = f"{spent} ms" if contender is BARE_AGENTS else f"{ratio.show()} x"
        budget = judge(ratio.median, BUDGET, " x") if contender is TACTICIAN_ENSEMBLE else ""
        section.add(comparison.title(contender), shown, budget)
    repetitions = len(comparison.repetitions)
    section.notes.append(
        f"Medians of {repetitions} repetitions (lowest-highest), one run at a time over loopback HTTP."
    )
    section.notes.append("The second task reads the output of the first. CrewAI by `kickoff_async`, telemetry off.")
    return [section]
