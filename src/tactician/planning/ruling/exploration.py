"""Exploration of what can happen in a run: each rule holds always, is held by enforcement, or has a counterexample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from tactician.frozen import frozen
from tactician.planning.model import Action, Goal
from tactician.planning.rules import Rule
from tactician.planning.ruling.progress import RuleBook, RuleProgress
from tactician.planning.world import ConditionValue, WorldState

MOST_STATES: Final = 20_000
Standing: TypeAlias = Literal["always", "enforced", "broken", "time"]
_State: TypeAlias = tuple[WorldState, tuple[int, ...]]


@frozen
class ActionOutcome:
    """The outcomes of an action.

    Attributes:
        text: the action and what it gives, for people
        effects: the conditions after it
        has_succeeded: False for an action that gave nothing
    """

    text: str
    effects: Mapping[str, ConditionValue]
    has_succeeded: bool = True


@frozen
class Course:
    """Action with all that it may lead to.

    Attributes:
        action: the action, as the planner hopes for it
        outcomes: all outcomes
    """

    action: Action
    outcomes: tuple[ActionOutcome, ...]


@frozen
class RuleFinding:
    """Standing of a rule.

    Attributes:
        rule: the rule
        standing: `always`: no run could break it; `enforced`: the refusal of actions holds it; `broken`: a run breaks
            it all the same; `time`: an action that takes too long breaks it
        trace: the shortest run that breaks it; for `enforced`, the run that is prevented
    """

    rule: Rule
    standing: Standing
    trace: tuple[str, ...] = ()


@dataclass
class Exploration:
    """All runs of some actions under rules, shortest first, up to a number of states.

    Attributes:
        findings: the standing of each rule, without preferences
        dead: the names of the actions that never start
        unreachable: the names of the goals that are never reached
        highest_cost: the cost of the most expensive run; None without a bound
        is_complete: False when there are more states than were explored
    """

    findings: list[RuleFinding] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    unreachable: list[str] = field(default_factory=list)
    highest_cost: float | None = None
    is_complete: bool = True


def explore(
    book: RuleBook, courses: Sequence[Course], goals: Sequence[Goal], starts: Sequence[WorldState]
) -> Exploration:
    """Explore what can happen from these worlds."""
    hard = [rule for rule in book.rules if rule.rule.penalty is None]
    enforced = _Search(book.only(hard), courses, goals, is_enforced=True)
    enforced.run(starts)
    result = Exploration(is_complete=enforced.is_complete, highest_cost=enforced.find_highest_cost())
    for rule in hard:
        free = _Search(book.only([rule]), courses, goals, is_enforced=False)
        free.run(starts)
        result.is_complete = result.is_complete and (free.is_complete or bool(free.broken))
        if rule.rule in enforced.broken:
            result.findings.append(RuleFinding(rule.rule, "broken", enforced.broken[rule.rule]))
        elif rule.rule.seconds is not None:
            result.findings.append(RuleFinding(rule.rule, "time"))
        elif rule.rule in free.broken:
            result.findings.append(RuleFinding(rule.rule, "enforced", free.broken[rule.rule]))
        else:
            result.findings.append(RuleFinding(rule.rule, "always"))
    if enforced.is_complete:
        result.dead = [course.action.name for course in courses if course.action.name not in enforced.started]
        result.unreachable = [goal.name for goal in goals if goal.name not in enforced.reached]
    return result


class _Search:
    """Breadth-first search over worlds and states of rules.

    Attributes:
        broken: the shortest run that breaks each rule
        started: the names of the actions that start in some run
        reached: the names of the goals that some run reaches
        is_complete: False when there are too many states
    """

    def __init__(self, book: RuleBook, courses: Sequence[Course], goals: Sequence[Goal], *, is_enforced: bool) -> None:
        self._book = book
        self._courses = courses
        self._goals = goals
        self._is_enforced = is_enforced
        self.broken: dict[Rule, tuple[str, ...]] = {}
        self.started: set[str] = set()
        self.reached: set[str] = set()
        self.is_complete = True
        self._origins: dict[_State, tuple[_State | None, str]] = {}
        self._edges: dict[_State, list[tuple[_State, float]]] = {}

    def run(self, starts: Sequence[WorldState]) -> None:
        """Visit all states."""
        states = list[_State]()
        for world in starts:
            self._visit(world, self._book.begin(world), None, _describe_start(world), states)
        for state in states:  # grows as it goes
            if len(states) > MOST_STATES:
                self.is_complete = False
                return
            world, numbers = state
            progress = RuleProgress(self._book, numbers)
            for course in self._courses:
                self._take(course, state, progress, states)

    def _take(self, course: Course, state: _State, progress: RuleProgress, states: list[_State]) -> None:
        world, action = state[0], course.action
        if not action.is_runnable_in(world) or (self._is_enforced and progress.find_refusals(action, world)):
            return
        self.started.add(action.name)
        cost = 0.0 if callable(action.cost) else action.cost
        for outcome in course.outcomes:
            then = world.with_(outcome.effects)
            name = action.name if outcome.has_succeeded else None
            following = progress.after(name, world if outcome.has_succeeded else None, then)
            self._edges.setdefault(state, []).append(((then, following.states), cost))
            self._visit(then, following, state, outcome.text, states)

    def _visit(
        self, world: WorldState, progress: RuleProgress, origin: _State | None, text: str, states: list[_State]
    ) -> None:
        state = world, progress.states
        if state in self._origins:
            return
        self._origins[state] = origin, text
        for rule in progress.broken:
            self.broken.setdefault(rule, self._trace(state))
        goals = [goal for goal in self._goals if goal.is_reached_in(world)]
        if goals and not self._is_enforced:
            for rule in progress.open:
                self.broken.setdefault(rule, self._trace(state))
        if goals and not progress.open:
            self.reached.update(goal.name for goal in goals)
            if any(goal.conditions for goal in goals):
                return  # the run ends
        if not progress.broken:
            states.append(state)

    def _trace(self, state: _State) -> tuple[str, ...]:
        return tuple(reversed(list(self._list_back(state))))

    def _list_back(self, state: _State | None) -> Iterator[str]:
        while state is not None:
            state, text = self._origins[state]
            if text:
                yield text

    def find_highest_cost(self) -> float | None:
        """Return the cost of the most expensive run; None where actions can repeat, or a cost is not a number."""
        if not self.is_complete or any(callable(course.action.cost) for course in self._courses):
            return None
        waiting = dict.fromkeys(self._origins, 0)
        for following in self._edges.values():
            for state, _ in following:
                waiting[state] = waiting.get(state, 0) + 1
        highest = dict.fromkeys(waiting, 0.0)
        ready = [state for state, count in waiting.items() if not count]
        for state in ready:  # grows as it goes
            for then, cost in self._edges.get(state, ()):
                highest[then] = max(highest[then], highest[state] + cost)
                waiting[then] -= 1
                if not waiting[then]:
                    ready.append(then)
        return max(highest.values(), default=0.0) if len(ready) == len(waiting) else None


def _describe_start(world: WorldState) -> str:
    facts = [
        name for name, value in world.items() if value is True and "expr: " in name and not name.startswith("not ")
    ]
    shown = [name.replace("rule expr: ", "").replace("expr: ", "") for name in facts]
    return f"where {' and '.join(shown)}" if shown else ""
