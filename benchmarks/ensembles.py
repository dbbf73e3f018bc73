"""Two tasks as an ensemble, against the same two agents called by hand, and beside CrewAI's kickoff of them."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.comparison import compare
from benchmarks.contenders import ENSEMBLES, TACTICIAN_ENSEMBLE
from benchmarks.environments import Environment
from benchmarks.measures import Spread
from benchmarks.report import Section, judge

BUDGET = 1.15
REPETITIONS = 12  # the difference is so small that chance decides between four
AGENTS, PAIR = ("agents", 1), ("pair", 1)


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
        by_hand = comparison.values(TACTICIAN_ENSEMBLE, AGENTS)
        ratio = Spread.of(own / bare for own, bare in zip(comparison.values(contender, PAIR), by_hand, strict=True))
        budget = ""
        if contender is TACTICIAN_ENSEMBLE:
            section.add("tactician, agents called by hand", f"{Spread.of(by_hand).show(1000)} ms", "")
            budget = judge(ratio.median, BUDGET, " x")
        section.add(comparison.title(contender), f"{ratio.show()} x", budget)
    repetitions = len(comparison.repetitions)
    section.notes.append(
        f"Medians of {repetitions} repetitions (lowest-highest), one run at a time over loopback HTTP."
    )
    section.notes.append("In each, the agents and the ensemble take turns in one process.")
    section.notes.append("The second task reads the output of the first. CrewAI by `kickoff_async`, telemetry off.")
    return [section]
