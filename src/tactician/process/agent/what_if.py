"""What if: the plans of an agent when actions fail or cost something else, and what each step rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.planning import Action, Goal, Plan, WorldState
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.suggestions import did_you_mean

if TYPE_CHECKING:
    from tactician.planning.rules import Rule
    from tactician.planning.ruling.progress import RuleProgress
    from tactician.planning.ruling.ruled_actions import RuledRule

Change: TypeAlias = Literal["fails", "nothing"] | float


@frozen
class Assumption:
    """Assumption about an action.

    Attributes:
        action: the name of the action
        change: `fails`, `nothing` for an action that gives nothing, or its cost
    """

    action: str
    change: Change

    @classmethod
    def parse(cls, text: str) -> Assumption:
        """Return the assumption in a text: `find_news=fails`, `find_news=nothing` or `find_news=2`.

        Raises:
            ConfigurationError: when the text is no assumption.
        """
        action, _, change = text.partition("=")
        try:
            value: Change = change if change in ("fails", "nothing") else float(change)  # type: ignore[assignment]
        except ValueError:
            value = -1.0
        if not action.strip() or (isinstance(value, float) and not (math.isfinite(value) and value >= 0)):
            raise ConfigurationError(f"what-if {text!r}: write ACTION=fails, ACTION=nothing or ACTION=COST")
        return cls(action.strip(), value)


def assume(spec: PlannedAgentSpec, assumptions: Iterable[Assumption]) -> PlannedAgentSpec:
    """Return the agent under assumptions: an action that fails or gives nothing is in no plan.

    Raises:
        ConfigurationError: when the agent has no such action.
    """
    changes = {_find_action(spec, each.action): each.change for each in assumptions}
    actions = []
    for action in spec.actions:
        change = changes.get(action.name)
        if isinstance(change, str):
            continue
        actions.append(action if change is None else replace(action, plan=replace(action.plan, cost=change)))
    return replace(spec, actions=tuple(actions))


def _find_action(spec: PlannedAgentSpec, name: str) -> str:
    names = [action.name for action in spec.actions]
    matching = [full for full in names if name in (full, full.rpartition(".")[2])]
    if not matching:
        raise ConfigurationError(f"what-if: {spec.name} has no action {name!r}.{_suggest(name, names)}")
    return matching[0]


@frozen
class Fallback:
    """Way out if a step of a plan failed.

    Attributes:
        step: the name of the action
        plan: the plan from there without the action; None when nothing would help, so that the step is a single
            point of failure
    """

    step: str
    plan: Plan | None

    def __str__(self) -> str:
        if self.plan is None:
            return f"{self.step}: nothing would help"
        return f"{self.step}: {', then '.join(action.name for action in self.plan.actions) or 'nothing more is needed'}"


def find_fallbacks(
    spec: PlannedAgentSpec, goal: Goal, plan: Plan, world: WorldState | None = None
) -> tuple[Fallback, ...]:
    """Return for each step of a plan what would be done if it failed or gave nothing there.

    Args:
        spec: the agent.
        goal: the goal of the plan.
        plan: the plan.
        world: the world in which the plan begins; by default, that in which the agent starts.
    """
    world = spec.build_starting_world() if world is None else world
    progress = None if spec.rule_book is None else spec.rule_book.begin(world)
    fallbacks = list[Fallback]()
    for action in plan.actions:
        others = [other for other in spec.plannable if other.name != action.name]
        history = () if progress is None else progress
        fallbacks.append(Fallback(action.name, spec.planner.plan(world, others, goal, history=history)))
        then = world.apply(action)
        progress = None if progress is None else progress.after(action.name, world, then)
        world = then
    return tuple(fallbacks)


def plan_goals(spec: PlannedAgentSpec) -> Sequence[Plan]:
    """Return the plans of an agent from the world in which it starts, the best first."""
    world = spec.build_starting_world()
    return spec.planner.plans(world, spec.plannable, spec.pursued, history=begin_history(spec, world))


def begin_history(spec: PlannedAgentSpec, world: WorldState) -> RuleProgress | tuple[()]:
    """Return where a run that begins in this world stands with the rules of the agent."""
    return () if spec.rule_book is None else spec.rule_book.begin(world)


def find_excluding_rules(
    spec: PlannedAgentSpec, goal: Goal, action: Action, world: WorldState | None = None
) -> tuple[Rule, ...]:
    """Return the rules that keep an action out of the plan: without any of them it would be part of the plan."""
    if (book := spec.rule_book) is None:
        return ()
    world = spec.build_starting_world() if world is None else world

    def is_planned(rules: Sequence[RuledRule]) -> bool:
        plan = spec.planner.plan(world, spec.plannable, goal, history=book.only(rules).begin(world) if rules else ())
        return plan is not None and action in plan.actions

    if is_planned(book.rules) or not is_planned(()):
        return ()
    alone = [ruled for ruled in book.rules if is_planned([other for other in book.rules if other is not ruled])]
    return tuple(ruled.rule for ruled in alone or book.rules)


def _suggest(name: str, names: list[str]) -> str:
    return did_you_mean(name, names) or f" Its actions are {', '.join(names)}."
