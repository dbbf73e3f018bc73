"""How planning scales, next to Fast Downward and pyperplan; all three must find plans of the same cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial

from benchmarks.environments import Environment
from benchmarks.measures import ChildError, Spread, json_from, progress
from benchmarks.planning_peers import Outcome, driver, fast_downward, pyperplan
from benchmarks.planning_problems import Problem, problems
from benchmarks.report import Section, judge

BUDGETED, BUDGET = "50 inputs, 1,000 distractors", 10.0  # milliseconds
SECONDS = 30.0
PLANNERS = ("tactician", "again", "FD search", "FD", "pyperplan")
COLUMNS = ("problem", *PLANNERS, "FD search / own", "cost", "costs", "budget")

Solver = Callable[[Problem], Outcome]


@dataclass(frozen=True, slots=True)
class Own:
    """What Tactician's planner found, with real and with unit costs, and its seconds: the first time, and again."""

    cost: float | None = None
    unit_cost: float | None = None
    first: Spread | None = None
    again: Spread | None = None
    problem: str = ""


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    section = Section("Planning optimally, in ms", COLUMNS, raw=[])
    downward, perplan = peers(environments["planners"])
    for problem in problems():
        progress(f"planner: {problem.name}")
        own = tactician(environments["tactician"], problem)
        add_row(section, problem, own, downward(problem), Outcome() if quick else perplan(problem.with_unit_costs()))
    section.notes += [
        "Tactician: processor time of a call on new actions, and again on the same ones; medians.",
        "FD is Fast Downward: its search alone, and the whole of it with translator and driver (wall).",
        "Both peers search with A* and the landmark-cut heuristic. pyperplan, whole (wall), knows only unit costs: it",
        "solves the same problem with those, and is compared with Tactician's plan for them.",
    ]
    return [section]


def peers(environment: Environment) -> tuple[Solver, Solver]:
    """Return the two solvers, or ones that say why there are none."""
    if environment.problem:
        return (lambda _: Outcome(problem=environment.problem),) * 2
    perplan = Once(partial(pyperplan, environment.python))
    try:
        return partial(fast_downward, environment.python, driver(environment.python)), perplan
    except ChildError as error:
        reason = str(error)
        return lambda _: Outcome(problem=reason), perplan


class Once:
    """Does not try a problem of a family in which a smaller one took too long already."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.slow: dict[str, Outcome] = {}

    def __call__(self, problem: Problem) -> Outcome:
        family = "".join(letter for letter in problem.name if not letter.isdigit() and letter != ",")
        outcome = self.slow.get(family) or self.solver(problem)
        if outcome.cost is None:
            self.slow[family] = Outcome(problem="not tried")
        return outcome


def tactician(environment: Environment, problem: Problem) -> Own:
    if environment.problem:
        return Own(problem=environment.problem)
    try:
        arguments = ["-m", "benchmarks.clients.tactician_planner", problem.name]
        found = json_from(environment.python, arguments, timeout=SECONDS)
    except ChildError as error:
        return Own(problem=str(error))
    return Own(found["cost"], found["unit_cost"], Spread.of(found["first"]), Spread.of(found["again"]))


def add_row(section: Section, problem: Problem, own: Own, downward: Outcome, perplan: Outcome) -> None:
    found = {"tactician": asdict(own), "fast_downward": asdict(downward), "pyperplan": asdict(perplan)}
    section.raw.append({"problem": problem.name} | found)
    verdict = compare(own, downward, perplan)
    if verdict.startswith("DIFFERENT"):
        section.mismatches.append(f"{problem.name}: {verdict}")
    faster = own.first and downward.search and f"{downward.search / own.first.median:,.1f} x"
    budget = judge(own.first.median * 1000, BUDGET, " ms") if own.first and problem.name == BUDGETED else ""
    section.add(
        problem.name,
        milliseconds(own.first.median) if own.first else own.problem,
        milliseconds(own.again.median) if own.again else "",
        milliseconds(downward.search) or downward.problem,
        milliseconds(downward.total),
        milliseconds(perplan.total) or perplan.problem,
        faster or "",
        "" if own.cost is None else f"{own.cost:g}",
        verdict,
        budget,
    )


def milliseconds(seconds: float | None) -> str:
    if not seconds:
        return "" if seconds is None else "~0"
    return f"{seconds * 1000:,.{2 if seconds < 0.01 else 0}f}"


def compare(own: Own, downward: Outcome, perplan: Outcome) -> str:
    """Say whether what the peers found was found at the same cost; not to find it at all is different too."""
    pairs = [(own.cost, downward.cost), (own.unit_cost, perplan.cost)]
    compared = [(mine, theirs) for mine, theirs in pairs if theirs is not None]
    different = [f"{mine} ≠ {theirs}" for mine, theirs in compared if mine != theirs]
    if different:
        return f"DIFFERENT: {', '.join(different)}"
    return "equal" if compared else ""
