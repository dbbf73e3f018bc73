"""The planning problems, as plain values and as PDDL. Standard library only: they are used in two environments.

Costs are whole numbers, because PDDL planners want them so, and differ between steps, so that an optimal plan is not
simply a short one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

CHAINS = (10, 100, 1000)
FAN_INS = (5, 14, 50, 200)
WIDTH = 50
DISTRACTORS = (10, 100, 1000, 10_000)
TEMPTATIONS = (100, 1000)
NEVER = "never"  # a fact that nothing brings about


@dataclass(frozen=True, slots=True)
class Step:
    """An action of a problem: facts it needs, facts it adds, and what it costs."""

    name: str
    needs: tuple[str, ...]
    adds: tuple[str, ...]
    cost: int = 1


@dataclass(frozen=True, slots=True)
class Problem:
    """A start, a goal and the steps there are."""

    name: str
    steps: tuple[Step, ...]
    goal: str = "goal"
    start: str = "start"

    def facts(self) -> list[str]:
        """Return every fact, in order of appearance."""
        seen = {self.start: None, self.goal: None}
        for step in self.steps:
            seen.update(dict.fromkeys(step.needs + step.adds))
        return list(seen)

    def with_unit_costs(self) -> Problem:
        """Return this with every step costing 1, for planners that know no costs."""
        return replace(self, steps=tuple(replace(step, cost=1) for step in self.steps))


def chain(length: int) -> Problem:
    """Build steps that must be taken one after another; every tenth has a short cut that is dearer than walking."""
    facts = ["start", *(f"fact{i}" for i in range(1, length)), "goal"]
    steps = [Step(f"step{i}", (facts[i],), (facts[i + 1],), 1 + i % 5) for i in range(length)]
    cuts = [Step(f"cut{i}", (facts[i],), (facts[i + 2],), 12) for i in range(0, length - 2, 10)]
    return Problem(f"chain {length:,}", (*steps, *cuts))


def gathering(width: int) -> list[Step]:
    """Build the steps of a fan-in: gather every input, in any order, then combine them."""
    inputs = [Step(f"gather{i}", (), (f"input{i}",), 1 + i % 3) for i in range(width)]
    return [*inputs, Step("combine", tuple(f"input{i}" for i in range(width)), ("goal",))]


def fan_in(width: int) -> Problem:
    return Problem(f"{width} inputs", tuple(gathering(width)))


def distracted(count: int) -> Problem:
    """Add steps that work but lead nowhere, and every third a cheap way to the goal that can never be taken."""
    noise = [
        Step(f"cheat{i}", (NEVER,), ("goal",))
        if i % 3 == 2
        else Step(f"noise{i}", (f"noise{i - 3}",) if i >= 3 else (), (f"noise{i}",))
        for i in range(count)
    ]
    return Problem(f"{WIDTH} inputs, {count:,} distractors", (*gathering(WIDTH), *noise))


def tempted(count: int) -> Problem:
    """Add steps that do produce inputs, but dearly, so that no relevance test can leave them out."""
    dear = [Step(f"dear{i}", (f"lead{i}",), (f"input{i % WIDTH}",), 4) for i in range(count // 2)]
    leads = [Step(f"lead{i}", (f"lead{i - 1}",) if i % 5 else (), (f"lead{i}",)) for i in range(count // 2)]
    return Problem(f"{WIDTH} inputs, {count:,} temptations", (*gathering(WIDTH), *dear, *leads))


def problems() -> list[Problem]:
    return [
        *map(chain, CHAINS),
        *map(fan_in, FAN_INS),
        *map(distracted, DISTRACTORS),
        *map(tempted, TEMPTATIONS),
    ]


def domain(problem: Problem, *, costs: bool = True) -> str:
    """Return the PDDL domain; without `costs` it keeps to plain STRIPS."""
    predicates = " ".join(f"({fact})" for fact in problem.facts())
    needs = ":strips :action-costs" if costs else ":strips"
    functions = "  (:functions (total-cost) - number)\n" if costs else ""
    actions = "\n".join(pddl_action(problem, step, costs) for step in problem.steps)
    return f"(define (domain d)\n  (:requirements {needs})\n  (:predicates {predicates})\n{functions}{actions})\n"


def pddl_action(problem: Problem, step: Step, costs: bool) -> str:
    # `start` always holds; it stands in where nothing is needed, since pyperplan wants a precondition.
    effect = conjunction(step.adds, f" (increase (total-cost) {step.cost})" if costs else "")
    precondition = conjunction(step.needs or (problem.start,))
    return f"  (:action {step.name} :parameters () :precondition {precondition} :effect {effect})"


def conjunction(facts: Iterable[str], rest: str = "") -> str:
    return f"(and {' '.join(f'({fact})' for fact in facts)}{rest})"


def task(problem: Problem, *, costs: bool = True) -> str:
    """Return the PDDL problem that goes with `domain`."""
    init, metric = (" (= (total-cost) 0)", " (:metric minimize (total-cost))") if costs else ("", "")
    return f"(define (problem p) (:domain d) (:init ({problem.start}){init}) (:goal (and ({problem.goal}))){metric})\n"
