"""The planning problems, as plain values and as PDDL. Standard library only: they are used in two environments.

Costs are whole numbers, because PDDL planners want them so, and differ between steps, so that an optimal plan is not
simply a short one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

CHAINS = (10, 30, 100, 300, 1000)
FAN_INS = (5, 14, 50, 100, 200)
WIDTH = 50
DISTRACTORS = (10, 100, 1000, 10_000)
TEMPTATIONS = (100, 300, 1000)
GRIDS = (5, 10, 20, 30)
OPEN_GOALS = (10, 30, 100, 300, 1000)
OPEN_ACTIONS = 1000
RULES = 20
RULED_ACTIONS = (200,)
NEVER = "never"  # a fact that nothing brings about


@dataclass(frozen=True, slots=True)
class Step:
    """An action of a problem: facts it needs, facts it adds and deletes, and what it costs."""

    name: str
    needs: tuple[str, ...]
    adds: tuple[str, ...]
    cost: int = 1
    deletes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """The facts at the start, goals of which each is some facts, and the steps there are.

    `family` names the problems that differ only in `size`. `orders` are pairs of steps, of which the first has to come
    before the second: rules for Tactician, and facts for planners without rules.
    """

    family: str
    size: int
    steps: tuple[Step, ...]
    goals: tuple[tuple[str, ...], ...] = (("goal",),)
    start: tuple[str, ...] = ("start",)
    orders: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Return the family and the size."""
        return self.family.format(f"{self.size:,}")

    def facts(self) -> list[str]:
        """Return every fact, in order of appearance."""
        seen = dict.fromkeys((*self.start, *(fact for goal in self.goals for fact in goal)))
        for step in self.steps:
            seen.update(dict.fromkeys(step.needs + step.adds))
        return list(seen)

    def compiled(self) -> Problem:
        """Return this with facts in place of the orders: what comes first adds one, which the other needs."""
        steps = tuple(
            replace(
                step,
                needs=(*step.needs, *(f"done-{first}" for first, then in self.orders if then == step.name)),
                adds=(*step.adds, *{f"done-{first}": None for first, _ in self.orders if first == step.name}),
            )
            for step in self.steps
        )
        return replace(self, steps=steps, orders=())

    def with_unit_costs(self) -> Problem:
        """Return this with every step costing 1, for planners that know no costs."""
        return replace(self, steps=tuple(replace(step, cost=1) for step in self.steps))


def chain(length: int) -> Problem:
    """Build steps that must be taken one after another; every tenth has a short cut that is dearer than walking."""
    facts = ["start", *(f"fact{i}" for i in range(1, length)), "goal"]
    steps = [Step(f"step{i}", (facts[i],), (facts[i + 1],), 1 + i % 5) for i in range(length)]
    cuts = [Step(f"cut{i}", (facts[i],), (facts[i + 2],), 12) for i in range(0, length - 2, 10)]
    return Problem("chain {}", length, (*steps, *cuts))


def gathering(width: int) -> list[Step]:
    """Build the steps of a fan-in: gather every input, in any order, then combine them."""
    inputs = [Step(f"gather{i}", (), (f"input{i}",), 1 + i % 3) for i in range(width)]
    return [*inputs, Step("combine", tuple(f"input{i}" for i in range(width)), ("goal",))]


def fan_in(width: int) -> Problem:
    return Problem("{} inputs", width, tuple(gathering(width)))


def distracted(count: int) -> Problem:
    """Add steps that work but lead nowhere, and every third a cheap way to the goal that can never be taken."""
    noise = [
        Step(f"cheat{i}", (NEVER,), ("goal",))
        if i % 3 == 2
        else Step(f"noise{i}", (f"noise{i - 3}",) if i >= 3 else (), (f"noise{i}",))
        for i in range(count)
    ]
    return Problem(f"{WIDTH} inputs, {{}} distractors", count, (*gathering(WIDTH), *noise))


def tempted(count: int) -> Problem:
    """Add steps that do produce inputs, but dearly, so that no relevance test can leave them out."""
    dear = [Step(f"dear{i}", (f"lead{i}",), (f"input{i % WIDTH}",), 4) for i in range(count // 2)]
    leads = [Step(f"lead{i}", (f"lead{i - 1}",) if i % 5 else (), (f"lead{i}",)) for i in range(count // 2)]
    return Problem(f"{WIDTH} inputs, {{}} temptations", count, (*gathering(WIDTH), *dear, *leads))


def ruled(count: int) -> Problem:
    """Build two ways to each input, of which the cheap way has to be checked first by a rule, and noise."""
    inputs = range(RULES)
    checks = [Step(f"check{i}", ("start",), (f"checked{i}",)) for i in inputs]
    cheap = [Step(f"cheap{i}", ("start",), (f"input{i}",), 1 + i % 3) for i in inputs]
    dear = [Step(f"dear{i}", ("start",), (f"input{i}",), 3) for i in inputs]
    combine = Step("combine", tuple(f"input{i}" for i in inputs), ("goal",))
    noise = [Step(f"noise{i}", ("start",), (f"noise{i}",)) for i in range(count - 3 * RULES - 1)]
    orders = tuple((f"check{i}", f"cheap{i}") for i in inputs)
    return Problem(f"{RULES} rules, {{}} actions", count, (*checks, *cheap, *dear, combine, *noise), orders=orders)


def grid(side: int) -> Problem:
    """Build a walk over square cells of different cost, past a key in one corner to the opposite one."""

    def cell(row: int, column: int) -> str:
        return f"at{row}x{column}" if row or column else "start"

    def move(row: int, column: int, down: int, right: int) -> Step:
        here, there = cell(row, column), cell(row + down, column + right)
        return Step(f"{here}to{there}", (here,), (there,), 1 + (row * 7 + column * 3) % 4, deletes=(here,))

    moves = [
        move(row, column, down, right)
        for row in range(side)
        for column in range(side)
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))
        if 0 <= row + down < side and 0 <= column + right < side
    ]
    take = Step("take", (cell(0, side - 1),), ("key",))
    leave = Step("leave", (cell(side - 1, 0), "key"), ("goal",))
    return Problem("grid with deletes, side {}", side, (*moves, take, leave))


def open_mode(count: int) -> Problem:
    """Build a thousand steps that serve many goals: chains of up to ten, of which the last reaches a goal."""
    length = max(1, min(10, OPEN_ACTIONS // count))
    steps = [
        Step(f"step{n}x{i}", (f"fact{n}x{i - 1}",) if i else (), (f"fact{n}x{i}",), 1 + (n + i) % 5)
        for n in range(OPEN_ACTIONS // length)
        for i in range(length)
    ]
    goals = tuple((f"fact{n}x{length - 1}",) for n in range(count))
    return Problem(f"open mode, {OPEN_ACTIONS:,} actions, {{}} goals", count, tuple(steps), goals)


def problems() -> list[Problem]:
    return [
        *map(chain, CHAINS),
        *map(fan_in, FAN_INS),
        *map(grid, GRIDS),
        *map(distracted, DISTRACTORS),
        *map(tempted, TEMPTATIONS),
        *map(ruled, RULED_ACTIONS),
        *map(open_mode, OPEN_GOALS),
    ]


def domain(problem: Problem, *, costs: bool = True) -> str:
    """Return the PDDL domain; without `costs` it keeps to plain STRIPS."""
    predicates = " ".join(f"({fact})" for fact in problem.facts())
    needs = ":strips :action-costs" if costs else ":strips"
    functions = "  (:functions (total-cost) - number)\n" if costs else ""
    actions = "\n".join(pddl_action(problem, step, costs) for step in problem.steps)
    return f"(define (domain d)\n  (:requirements {needs})\n  (:predicates {predicates})\n{functions}{actions})\n"


def pddl_action(problem: Problem, step: Step, costs: bool) -> str:
    # Where nothing is needed, the first fact at the start, which always holds there, stands in: pyperplan wants one.
    deletes = "".join(f" (not ({fact}))" for fact in step.deletes)
    effect = conjunction(step.adds, deletes + (f" (increase (total-cost) {step.cost})" if costs else ""))
    precondition = conjunction(step.needs or problem.start[:1])
    return f"  (:action {step.name} :parameters () :precondition {precondition} :effect {effect})"


def conjunction(facts: Iterable[str], rest: str = "") -> str:
    return f"(and {' '.join(f'({fact})' for fact in facts)}{rest})"


def task(problem: Problem, *, costs: bool = True) -> str:
    """Return the PDDL problem that goes with `domain`."""
    init, metric = (" (= (total-cost) 0)", " (:metric minimize (total-cost))") if costs else ("", "")
    goal = conjunction(fact for goal in problem.goals for fact in goal)
    start = " ".join(f"({fact})" for fact in problem.start)
    return f"(define (problem p) (:domain d) (:init {start}{init}) (:goal {goal}){metric})\n"
