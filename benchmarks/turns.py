"""What Tactician itself costs, with no network in between."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.environments import Environment
from benchmarks.measures import ChildError, Spread, json_from, progress
from benchmarks.report import Section, judge

BUDGETS = {
    "a run of one turn against an in-process model": 40.0,
    "two agents, one after the other, against an in-process model": 25.0,
    "the same two agents as an ensemble": 60.0,
    "each further turn, with a tool call": 40.0,
    "the same with guardrails, a window and a listener that have nothing to do": 40.0,
    "constructing an Agent whose tools exist": 5.0,
    "planning overhead per tick, 20 actions": 100.0,
    "the same, and kept in SQLite after each": 600.0,
    "loading and building an agent of a JSON blueprint": 1000.0,
    "the same, of a YAML blueprint": 1000.0,
}  # microseconds
LENGTHS = (10, 100, 1000)
LONG = ("all is shown", "with a sliding window", "with a window and compaction, autonomous")
GROWTH = 1.5  # a turn of the longest conversation, as a multiple of one of the shortest


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    section = Section("In one process", ("what", "µs", "budget"), raw={})
    environment = environments["tactician"]
    progress("turns: tactician")
    for what, limit in BUDGETS.items():
        try:
            if environment.problem:
                raise ChildError(environment.problem)
            arguments = ["-m", "benchmarks.clients.tactician_turns", what, "3" if quick else "9"]
            section.raw[what] = json_from(environment.python, arguments)
        except ChildError as error:
            section.add_failure(what, str(error))
            continue
        spread = Spread.of(section.raw[what])
        section.add(what, spread.show(1e6, 1), judge(spread.median * 1e6, limit, " µs"))
    section.notes.append("Processor time; medians (lowest-highest).")
    return [section, _long_conversations(environment, quick=quick)]


def _long_conversations(environment: Environment, *, quick: bool) -> Section:
    """What a turn costs in conversations of some lengths: all that is said is in each request."""
    section = Section("Long conversations", ("what", *(f"{n} turns, µs a turn" for n in LENGTHS), "growth"), raw={})
    for what in LONG:
        progress(f"long conversations: {what}")
        try:
            arguments = ["-m", "benchmarks.clients.tactician_turns", what, "3" if quick else "7"]
            section.raw[what] = measured = json_from(environment.python, arguments)
        except ChildError as error:
            section.add_failure(what, str(error))
            continue
        medians = [Spread.of(values).median * 1e6 for values in zip(*measured, strict=True)]
        growth = judge(medians[-1] / medians[0], GROWTH, " x")
        section.add(what, *(f"{value:,.1f}" for value in medians), growth)
    return section
