"""The cost of saving a step in SQLite, over the length of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.environments import Environment
from benchmarks.measures import ChildError, Spread, json_from, progress
from benchmarks.planning_plot import OWN, duration, fitted
from benchmarks.report import Section, judge
from benchmarks.svg import Panel, Series, figure

PLACES = (20, 100, 300, 1000)
RUNS = {"talk": "a turn with a tool call", "count": "an action of a process"}
BUDGET = 1.0  # ms for a step, at both ends
TITLE = "Saving a step in SQLite"


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    section = Section(TITLE, ("a step of", *(f"after {n}, ms" for n in PLACES), "budget"), raw={})
    for kind, what in RUNS.items():
        progress(f"steps: {what}")
        try:
            arguments = ["-m", "benchmarks.clients.tactician_steps", kind, "1" if quick else "5"]
            section.raw[what] = measured = json_from(environments["tactician"].python, arguments)
        except ChildError as error:
            section.add_failure(what, str(error))
            continue
        medians = [Spread.of(values).median * 1e3 for values in zip(*measured, strict=True)]
        section.add(what, *(f"{value:.2f}" for value in medians), judge(max(medians), BUDGET, " ms"))
    section.notes.append("Processor time that the store adds; medians of 40 steps around the place.")
    return [section]


def drawing(sections: Sequence[Section]) -> str:
    """Return the cost of a step over the length of a run, as an SVG."""
    panels = []
    for section in sections:
        for what, measured in (section.raw or {}).items() if section.title == TITLE else ():
            medians = (Spread.of(values).median for values in zip(*measured, strict=True))
            points = tuple(zip(map(float, PLACES), medians, strict=True))
            exponent, band = fitted(points)
            panels.append(Panel(what.capitalize(), "steps before", exponent, (Series("Tactician", OWN, points, band),)))
    return figure(TITLE, "Processor time that the store adds to a step", panels, duration)
