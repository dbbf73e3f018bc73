"""Planning within a second in many families, next to Fast Downward: its A* with LM-cut, and LAMA's first plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from benchmarks.environments import Environment
from benchmarks.measures import ChildError, json_from, progress
from benchmarks.planning_families import agent_problems, classical_problems
from benchmarks.planning_peers import Outcome, driver, fast_downward, first_plan
from benchmarks.planning_problems import Problem
from benchmarks.report import Section

SECONDS = 1.0
PEER_SECONDS = 10.0
COLUMNS = ("problem", "actions", "cost", "gap", "ms", "LM-cut cost", "LM-cut ms", "LAMA's first", "ms")


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    section = Section(f"Planning within {SECONDS:g} s", COLUMNS, raw=[])
    for problem in (*agent_problems(), *classical_problems()):
        progress(f"families: {problem.name}")
        own = tactician(environments["tactician"], problem)
        optimal, first = (Outcome(), Outcome()) if quick else peers(environments["planners"], problem)
        add_row(section, problem, own, optimal, first)
        progress(" | ".join(section.rows[-1]))
    section.notes += [
        f"Limits: {SECONDS:g} s of processor time for Tactician; {PEER_SECONDS:g} s for each run of Fast Downward,"
        " translation included.",
        "gap: 0 % is proved to be optimal; ms: processor time of the planner, and of the peers' search alone.",
        "LAMA's first plan is found at once, and as good as it happens to be.",
    ]
    return [section]


def tactician(environment: Environment, problem: Problem) -> Mapping[str, float | None]:
    try:
        arguments = ["-m", "benchmarks.families_client", problem.name, str(SECONDS)]
        return dict(json_from(environment.python, arguments, timeout=30.0))
    except ChildError as error:
        progress(f"{problem.name}: {error}")
        return {}


def peers(environment: Environment, problem: Problem) -> Sequence[Outcome]:
    try:
        script = driver(environment.python)
    except ChildError as error:
        return Outcome(problem=str(error)), Outcome()
    optimal = fast_downward(environment.python, script, problem, PEER_SECONDS)
    return optimal, first_plan(environment.python, script, problem, PEER_SECONDS)


def add_row(
    section: Section, problem: Problem, own: Mapping[str, float | None], optimal: Outcome, first: Outcome
) -> None:
    found = {"tactician": dict(own), "optimal": asdict(optimal), "first": asdict(first)}
    section.raw.append({"problem": problem.name} | found)
    cost, gap = own.get("cost"), own.get("gap")
    if (
        cost is not None
        and optimal.cost is not None
        and (cost < optimal.cost or (own["optimal"] and cost > optimal.cost))
    ):
        section.mismatches.append(f"{problem.name}: {cost} is not {optimal.cost}")
    section.add(
        problem.name,
        str(len(problem.steps)),
        number(cost),
        "" if cost is None else "unknown" if gap is None else f"{gap:.0%}",
        milliseconds(own.get("seconds")),
        number(optimal.cost) or optimal.problem,
        milliseconds(optimal.search),
        number(first.cost) or first.problem,
        milliseconds(first.search),
    )


def number(amount: float | None) -> str:
    return "" if amount is None else f"{amount:g}"


def milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:,.{2 if seconds < 0.01 else 0}f}"
