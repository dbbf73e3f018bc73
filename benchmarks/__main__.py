"""Measures, and prints one report: `python -m benchmarks [--only SECTION] [--quick] [--json FILE] [--plot FILE]`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import calls, ensembles, evals, families, imports, knowledge, mesh, planner, runs, steps, turns, waiting
from benchmarks.contenders import CALLERS, CONTENDERS, ENSEMBLES
from benchmarks.environments import Environment, prepare
from benchmarks.measures import progress
from benchmarks.report import Section, machine, markdown, show

Measure = Callable[..., list[Section]]

CLIENTS = tuple(dict.fromkeys(contender.environment for contender in CONTENDERS))
MEASURES: dict[str, tuple[Measure, tuple[str, ...]]] = {
    "runs": (runs.measure, CLIENTS),
    "calls": (calls.measure, tuple(dict.fromkeys(caller.environment for caller in CALLERS))),
    "ensembles": (ensembles.measure, tuple(dict.fromkeys(one.environment for one in ENSEMBLES))),
    "evals": (evals.measure, ("evals",)),
    "imports": (imports.measure, CLIENTS),
    "turns": (turns.measure, ("tactician",)),
    "steps": (steps.measure, ("tactician",)),
    "waiting": (waiting.measure, ("tactician",)),
    "mesh": (mesh.measure, ("mesh", *mesh.PEERS.values())),
    "knowledge": (knowledge.measure, tuple(environment for environment, _ in knowledge.CLIENTS.values())),
    "planner": (planner.measure, ("tactician", "planners")),
    "families": (families.measure, ("tactician", "planners")),
}
DRAWINGS: dict[str, Callable[[list[Section]], str]] = {"planner": planner.drawing, "steps": steps.drawing}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=MEASURES, help="measure one section")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and no pyperplan: to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the raw numbers")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw how the cost of `planner` or `steps` grows")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables instead")
    options = parser.parse_args()
    if options.plot and options.only not in DRAWINGS:
        parser.error(f"--plot needs --only with one of: {', '.join(DRAWINGS)}")
    return options


def measured(names: list[str], *, quick: bool) -> list[Section]:
    """Prepare the environments that are needed, then measure one section after the other."""
    needed = dict.fromkeys(environment for name in names for environment in MEASURES[name][1])
    environments: Mapping[str, Environment] = prepare(needed)
    return [section for name in names for section in MEASURES[name][0](environments, quick=quick)]


def main() -> int:
    """Print the report; 1 when two planners disagree on what a plan costs."""
    options = arguments()
    started = time.monotonic()
    header, sections = machine(), measured([options.only] if options.only else list(MEASURES), quick=options.quick)
    if options.markdown:
        print(markdown(header, sections))
    else:
        show(header, sections)
    if options.json:
        raw = {section.title: section.raw for section in sections if section.raw is not None}
        options.json.write_text(json.dumps({"machine": header, "sections": raw}, indent=1))
    if options.plot:
        options.plot.write_text(DRAWINGS[options.only](sections))
    progress(f"done in {time.monotonic() - started:.0f} s")
    mismatches = [mismatch for section in sections for mismatch in section.mismatches]
    for mismatch in mismatches:
        progress(f"costs differ: {mismatch}")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
