"""Drawings of an agent: its actions with inputs and outputs, and its plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.markup import escape
from rich.tree import Tree

from tactician.agents.planned.components import ComponentAgent
from tactician.agents.planned.specs import planned_spec
from tactician.agents.supervision.supervised_agent import LEADER
from tactician.grammar import write_number
from tactician.planning import Plan, UtilityPlanner, WorldState
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.agent.what_if import begin_history, find_excluding_rules, find_fallbacks, plan_goals
from tactician.process.state.goals import GoalSpec
from tactician.runs import Runnable

_MOST_LEFT_OUT = 20


def describe_kind(agent: Runnable) -> str:
    """Return what kind of Runnable an agent is, as tables name it."""
    if isinstance(agent, ComponentAgent):
        return "component"
    return type(agent).__name__ if planned_spec(agent) is None else "planned agent"


def build_agent_tree(spec: PlannedAgentSpec, *, verbose: bool = False, fallbacks: bool = False) -> Tree:
    """Return the plans from the starting world, and the actions that are in none of them.

    With `verbose`, all actions come first with what they are for, and each that is left out is explained. With
    `fallbacks`, each plan says what would be done if a step failed.
    """
    tree = Tree(f"[bold]{escape(spec.name)}[/bold]  [dim]{escape(spec.description)}[/dim]")
    actions = [action for action in spec.actions if action.name != LEADER]
    if verbose:
        _add_actions(tree.add("[bold]actions[/bold]"), actions, verbose=True)
    goals = [tree.add(_format_goal(goal)) for goal in spec.goals]
    if len(actions) < len(spec.actions):
        tree.add("[dim]a model decides which actions lead to a goal[/dim]")
        planned: set[str] = set()
    else:
        planned = _add_plans(tree, goals, spec, spec.build_starting_world(), verbose=verbose, fallbacks=fallbacks)
    if not verbose and (others := [action for action in actions if action.name not in planned]):
        title = "other actions[/bold]  [dim]-v says why they are in no plan[/dim]" if planned else "actions[/bold]"
        _add_actions(tree.add(f"[bold]{title}"), others, verbose=False)
    return tree


def _add_actions(branch: Tree, actions: Sequence[ActionSpec], *, verbose: bool) -> None:
    shown = actions if verbose else actions[:_MOST_LEFT_OUT]
    for action in shown:
        if verbose:
            inside = branch.add(_format_action(action))
            inside.add(f"needs {_join(action.needs)}")
            inside.add(f"gives {_join(action.gives)}")
        else:
            branch.add(f"{_format_flow(action)}{_format_amounts(action)}")
    if len(shown) < len(actions):
        branch.add(f"[dim]and {len(actions) - len(shown)} more[/dim]")


def _add_plans(
    tree: Tree,
    goals: Sequence[Tree],
    spec: PlannedAgentSpec,
    world: WorldState,
    *,
    verbose: bool,
    fallbacks: bool,
) -> set[str]:
    """Add the plan of each goal and the preferred goal, or the most valuable action; return the planned actions."""
    is_greedy, planned = isinstance(spec.planner, UtilityPlanner), set[str]()
    if not is_greedy:
        for branch, goal in zip(goals, spec.goals, strict=True):
            planned |= _explain(branch, spec, goal, world, verbose=verbose, fallbacks=fallbacks)
    if is_greedy or len(spec.goals) > 1:
        plans = plan_goals(spec)
        (_choose_first if is_greedy else _rank)(tree, plans)
    if start := [name for name, there in world.items() if there]:
        tree.add(f"[dim]the plans start from {_join(start)}[/dim]")
    return planned


def _explain(
    branch: Tree, spec: PlannedAgentSpec, goal: GoalSpec, world: WorldState, *, verbose: bool, fallbacks: bool
) -> set[str]:
    """Add the plan, or what is missing, and return the names of its actions."""
    history = begin_history(spec, world)
    explanation = spec.planner.explain(world, spec.plannable, goal.plan, history=history)
    if (plan := explanation.plan) is None:
        branch.add(f"[red]{escape(str(explanation))}[/red]")
        return set()
    branch.add(build_plan_tree(spec, plan))
    if fallbacks:
        inside = branch.add("[bold]if a step failed[/bold]")
        for fallback in find_fallbacks(spec, goal.plan, plan, world):
            inside.add(f"[{'red' if fallback.plan is None else 'dim'}]{escape(str(fallback))}[/]")
    others = [action for action in spec.plannable if action not in plan.actions]
    if others and verbose:
        left_out = branch.add("[dim]left out[/dim]")
        for action in others[:_MOST_LEFT_OUT]:
            verdict = spec.planner.explain(world, spec.plannable, goal.plan, about=action, history=history).about
            rules = ", ".join(map(str, find_excluding_rules(spec, goal.plan, action, world)))
            left_out.add(
                f"[dim]{escape(str(verdict))}{escape(f' It is kept out by the rule {rules}.') if rules else ''}[/dim]"
            )
        if len(others) > _MOST_LEFT_OUT:
            left_out.add(f"[dim]and {len(others) - _MOST_LEFT_OUT} more[/dim]")
    return {action.name for action in plan.actions}


def _rank(tree: Tree, plans: Sequence[Plan]) -> None:
    """Return the order in which goals are preferred."""
    if plans:
        ranked = [f"{escape(plan.goal.name)} (net value {write_number(plan.net_value)})" for plan in plans]
        others = f"; then {', '.join(ranked[1:])}" if ranked[1:] else ""
        tree.add(f"[bold]chosen[/bold] {ranked[0]}{others}")


def _choose_first(tree: Tree, plans: Sequence[Plan]) -> None:
    """Return the first action where there is no plan: the most valuable action."""
    for action in plans[0].actions if plans else ():
        value = f"net value {write_number(plans[0].net_value)}"
        tree.add(f"[bold]first[/bold] {escape(action.name)} ({value}); then whatever is worth most")


def build_plan_tree(spec: PlannedAgentSpec, plan: Plan) -> Tree:
    """Return a plan step by step, with inputs and outputs."""
    tree = Tree(
        f"[bold]plan[/bold] for {escape(plan.goal.name)}  "
        f"[dim]cost {write_number(plan.cost)}, value {write_number(plan.net_value)}"
        f"{'' if plan.optimal else f', {plan.quality}'}[/dim]"
    )
    for number, (step, cost) in enumerate(zip(plan.actions, plan.costs, strict=True), start=1):
        spent = f"  [dim]cost {write_number(cost)}[/dim]" if cost else ""
        tree.add(f"{number}. {_format_flow(spec.action(step.name))}{spent}")
    if any(step.estimate is not None for step in plan.actions):
        tree.add(f"[dim]expected: {plan.expected}[/dim]")
    return tree


def _format_flow(action: ActionSpec) -> str:
    return f"[cyan]{escape(action.name)}[/cyan]  {_join(action.needs)} → {_join(action.gives)}"


def _format_goal(goal: GoalSpec) -> str:
    return f"[bold]goal[/bold] [green]{escape(goal.name)}[/green]  [dim]{escape(goal.description)}[/dim]"


def _format_action(action: ActionSpec) -> str:
    return f"[cyan]{escape(action.name)}[/cyan]  [dim]{escape(action.description)}[/dim]{_format_amounts(action)}"


def _format_amounts(action: ActionSpec) -> str:
    amounts = {"cost": action.plan.cost, "value": action.plan.value}
    facts = [f"{name} {write_number(amount)}" for name, amount in amounts.items() if not callable(amount) and amount]
    return f"  [dim]{', '.join(facts)}[/dim]" if facts else ""


def _join(names: Iterable[str]) -> str:
    return escape(", ".join(names)) or "nothing"
