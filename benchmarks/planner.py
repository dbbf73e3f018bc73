"""How planning scales, alone and next to Fast Downward and pyperplan; all three must find plans of the same cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from benchmarks.environments import Environment
from benchmarks.measures import ChildError, Spread, json_from, progress
from benchmarks.planning_peers import Outcome, driver, fast_downward, pyperplan
from benchmarks.planning_plot import Timed, plot
from benchmarks.planning_problems import Problem, problems
from benchmarks.report import Section, judge

BUDGETS = {
    "50 inputs, 1,000 distractors": 10.0,
    "50 inputs, 10,000 distractors": 60.0,
    "20 rules, 200 actions": 5.0,
}  # milliseconds
SECONDS = 30.0
DOTS_PER_DECADE = 6  # of the chart
PLANNERS = ("tactician", "again", "FD search", "FD", "pyperplan")
COLUMNS = ("problem", *PLANNERS, "FD search / own", "cost", "costs", "budget")

GROWTH = "How planning time grows"
GROWTH_COLUMNS = ("problem", "ms", "µs for each", "growth", "0.01 ms to 10 s, every · ten times as long")

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
    growth = Section(GROWTH, GROWTH_COLUMNS, raw=[])
    downward, perplan = peers(environments["planners"])
    smaller: tuple[Problem, float] | None = None
    for problem in problems():
        progress(f"planner: {problem.name}")
        own = tactician(environments["tactician"], problem)
        if own.first:
            add_growth(growth, problem, own.first.median, smaller)
            smaller = problem, own.first.median
        plain = problem.compiled()
        theirs = downward(plain)
        if own.first:
            peer = theirs.search if len(problem.goals) == 1 else None  # one plan for all goals is another question
            growth.raw.append(asdict(Timed(problem.family, problem.size, own.first.median, peer)))
        add_row(section, problem, own, theirs, Outcome() if quick else perplan(plain.with_unit_costs()))
    section.notes += [
        "Tactician: processor time of a call on new actions, and again on the same ones; medians.",
        "FD is Fast Downward: its search alone, and the whole of it with translator and driver (wall).",
        "Both peers search with A* and the landmark-cut heuristic. pyperplan, whole (wall), knows only unit costs: it",
        "solves the same problem with those, and is compared with Tactician's plan for them.",
        "Where there are rules, the peers get them compiled into plain facts.",
    ]
    growth.notes += [
        "Growth is the exponent since the next smaller size: 1.0 is linear, 2.0 quadratic. The whole time is measured,",
        "compiling the actions included: at small sizes the part that does not grow hides the rest. A grid has four",
        "steps for each of side x side cells: linear in the steps is 2.0 in the side.",
    ]
    return [section, growth]


def drawing(sections: Sequence[Section]) -> str:
    """Return an SVG of what was measured."""
    return plot([Timed(**one) for section in sections if section.title == GROWTH for one in section.raw])


def add_growth(section: Section, problem: Problem, seconds: float, smaller: tuple[Problem, float] | None) -> None:
    exponent = ""
    if smaller and smaller[0].family == problem.family:
        exponent = f"{math.log(seconds / smaller[1]) / math.log(problem.size / smaller[0].size):.1f}"
    each = f"{seconds * 1e6 / problem.size:,.2f}"
    section.add(problem.name, milliseconds(seconds), each, exponent, bar(seconds))


def bar(seconds: float) -> str:
    """Draw a time on a logarithmic scale."""
    length = max(0, round(DOTS_PER_DECADE * math.log10(seconds / 1e-5)))
    whole = "".join("·" if (position + 1) % DOTS_PER_DECADE == 0 else "█" for position in range(length))
    return whole.ljust(DOTS_PER_DECADE * 6)


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
        arguments = ["-m", "benchmarks.planning_client", problem.name]
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
    limit = BUDGETS.get(problem.name)
    judged = own.again if problem.orders else own.first  # an agent compiles its rules once
    budget = judge(judged.median * 1000, limit, " ms") if judged and limit else ""
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
