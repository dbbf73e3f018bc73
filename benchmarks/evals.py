"""What an evaluation adds to the runs of its cases, beside pydantic-evals with an agent of pydantic-ai."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.environments import Environment
from benchmarks.measures import ChildError, Spread, json_from
from benchmarks.report import Section, judge

BUDGET = 0.5  # milliseconds
REPETITIONS = 8
CLIENT = ("-m", "benchmarks.clients.evals")
ROWS = {"tactician": ("alone", "evaluate"), "pydantic-evals, pydantic-ai": ("peer alone", "peer evaluate")}


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    section = Section(
        "Processor time of a case of an evaluation", ("client", "ms above the run", "ms the run alone", "budget")
    )
    environment = environments["evals"]
    try:
        if environment.problem:
            raise ChildError(environment.problem)
        repetitions = json_from(environment.python, [*CLIENT, str(2 if quick else REPETITIONS)], timeout=300)
    except ChildError as error:
        for name in ROWS:
            section.add_failure(name, str(error))
        return [section]
    section.raw = repetitions
    for name, (alone, evaluated) in ROWS.items():
        above = Spread.of(seconds[evaluated] - seconds[alone] for seconds in repetitions)
        bare = Spread.of(seconds[alone] for seconds in repetitions)
        budget = judge(above.median * 1000, BUDGET, " ms") if name == "tactician" else ""
        section.add(name, above.show(1000), bare.show(1000), budget)
    section.notes.append(f"Medians of {len(repetitions)} repetitions (lowest-highest), in turns in one process.")
    section.notes.append("Scripted models without a network; one evaluator, which compares with the expected output.")
    return [section]
