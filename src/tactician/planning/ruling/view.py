"""A decision under rules: what the planner sees, and its plans in the words of the caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from tactician.planning.explanation import Explanation
from tactician.planning.model import NIRVANA, Action, Goal, Plan
from tactician.planning.rules import Rule
from tactician.planning.ruling.progress import RuleBook, RuleProgress
from tactician.planning.verdict import Reason, Verdict
from tactician.planning.world import WorldState

_RANKS: Final[tuple[Reason, ...]] = (
    "in the plan",
    "not preferred",
    "dearer",
    "worth less",
    "not needed",
    "not enough",
    "does not help",
    "cannot run",
    "forbidden",
    "not offered",
)


class RuledView:
    """World and actions as a planner sees them under rules.

    Attributes:
        world: the world, with the states of the rules
        actions: the forms of the actions; none when a rule is broken, as nothing can be done then
    """

    def __init__(
        self, progress: RuleProgress, world: WorldState, actions: Sequence[Action], *, looks_ahead: bool = True
    ) -> None:
        """Write a decision under the rules; a planner that does not look ahead pays for no preference at the end."""
        self.written = progress.book.write(actions)
        self._looks_ahead = looks_ahead
        self._states = progress.conditions
        self.world = world.with_(self._states)
        self._first_penalty = progress.first_penalty
        self._broken = {f"rule {rule} is kept": True for rule in progress.broken}
        self.actions = () if self._broken else self.written.actions
        self._goals = dict[int, tuple[Goal, Goal]]()

    @classmethod
    def of(
        cls,
        rules: tuple[Rule, ...],
        world: WorldState,
        actions: tuple[Action, ...],
        history: Sequence[str] | RuleProgress,
        *,
        looks_ahead: bool,
    ) -> RuledView | None:
        """Return what a planner sees under rules; None without rules.

        Args:
            rules: the rules of the planner
            world: the world now
            actions: the actions to choose from
            history: the successful actions so far, or where a run stands with rules of its own
            looks_ahead: False for a planner of single steps
        """
        if not isinstance(history, RuleProgress):
            history = _resolve(rules, frozenset(action.name for action in actions)).replay(history, world)
        return cls(history, world, actions, looks_ahead=looks_ahead) if history.book.rules else None

    def guard(self, goal: Goal) -> Goal:
        """Return the goal with the conditions of the rules."""
        if goal == NIRVANA:
            return goal
        guarded = self.written.guard(goal, with_preferences=self._looks_ahead)
        if self._broken:
            guarded = Goal(goal.name, {**goal.conditions, **self._broken}, goal.value)
        self._goals[id(guarded)] = guarded, goal
        return guarded

    def gives_up(self, action: Action) -> bool:
        """Return True for an action that only pays for a preference."""
        return self.written.gives_up(action)

    def restore_world(self, world: WorldState) -> WorldState:
        """Return the world without the states of the rules."""
        return WorldState({name: value for name, value in world.items() if name not in self._states})

    def restore_goal(self, goal: Goal) -> Goal:
        """Return the goal of the caller."""
        return self._goals.get(id(goal), (goal, goal))[1]

    def restore(self, plan: Plan) -> Plan:
        """Return the plan with the actions and the goal of the caller."""
        actions, costs, penalties = list[Action](), list[float](), [self._first_penalty]
        for action, cost in zip(plan.actions, plan.costs, strict=True):
            original, net, penalty = self.written.restore(action, cost)
            penalties.append(penalty)
            if original is not None:
                actions.append(original)
                costs.append(net)
        goal = self.restore_goal(plan.goal)
        return Plan(goal, tuple(actions), tuple(costs), plan.value, plan.possible_saving, math.fsum(penalties))

    def translate(self, plan: Plan | None) -> Plan | None:
        """Return a plan of the caller in the forms of its actions, as far as the rules allow it."""
        if plan is None:
            return None
        steps = self.written.translate(plan.actions, self.world)
        return Plan(plan.goal, tuple(steps), plan.costs[: len(steps)], plan.value)

    def judge(self, about: Action, judge: Callable[[Action], Verdict]) -> Verdict:
        """Return why an action is not in the plan: the best verdict on its forms."""
        if (forms := self.written.find_forms(about)) is None:
            return Verdict(about, "not offered")
        verdicts = [judge(form) for form in forms if not self._broken]
        if not verdicts:
            rules = [each.rule for each in self.written.rules if not each.find_forms(about)]
            return Verdict(about, "forbidden", tuple(self._broken) or tuple(map(str, rules)))
        verdict = min(verdicts, key=lambda each: (_RANKS.index(each.reason), each.difference))
        return replace(verdict, action=about, lacking=self._describe(verdict.lacking))

    def restore_explanation(self, explanation: Explanation) -> Explanation:
        """Return an explanation in the actions and the goals of the caller, with rules by their text."""
        nearest = None if explanation.nearest is None else self.written.restore(explanation.nearest, 0.0)[0]
        return replace(
            explanation,
            goal=self.restore_goal(explanation.goal),
            plan=explanation.plan and self.restore(explanation.plan),
            missing=self._describe(explanation.missing),
            nearest=nearest,
            blocked_by=self._describe(explanation.blocked_by) if nearest else (),
            rivals=tuple(map(self.restore, explanation.rivals)),
        )

    def _describe(self, facts: Sequence[str]) -> tuple[str, ...]:
        """Return the facts for people: the states of a rule are that rule."""
        texts = {name: rule for rule in self.written.rules for name in rule.names}
        lines = dict.fromkeys(
            f"rule {rule.rule}" if (rule := texts.get(fact.removeprefix("not "))) else fact for fact in facts
        )
        return tuple(lines)


@lru_cache(32)
def _resolve(rules: tuple[Rule, ...], names: frozenset[str]) -> RuleBook:
    """Return the rules about actions of these names: resolved once, as planners are asked again and again."""
    return RuleBook.of_actions(rules, names)
