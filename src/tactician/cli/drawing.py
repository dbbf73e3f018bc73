"""Drawings of an agent: its actions with inputs and outputs, and its plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.markup import escape
from rich.tree import Tree

from tactician.agents import LEADER
from tactician.planning import Plan, UtilityPlanner, WorldState
from tactician.process import ActionSpec, GoalSpec, PlannedAgentSpec

_MOST_LEFT_OUT = 20


def build_starting_world(spec: PlannedAgentSpec) -> WorldState:
    """Return the world in which exactly the objects exist that no action produces."""
    given = {name for action in spec.plannable for name, value in action.effects.items() if value}
    needed = {name for action in spec.plannable for name, value in action.pre.items() if value}
    return WorldState({name: name in needed - given for name in (*spec.observations, *spec.conditions)})


def build_agent_tree(spec: PlannedAgentSpec) -> Tree:
    """Return the actions and goals, and the plans from the starting world unless a model supervises."""
    tree = Tree(f"[bold]{escape(spec.name)}[/bold]  [dim]{escape(spec.description)}[/dim]")
    actions = tree.add("[bold]actions[/bold]")
    for action in (one for one in spec.actions if one.name != LEADER):
        branch = actions.add(_format_action(action))
        branch.add(f"needs {_join(action.needs)}")
        branch.add(f"gives {_join(action.gives)}")
    goals = [tree.add(_format_goal(goal)) for goal in spec.goals]
    if any(action.name == LEADER for action in spec.actions):
        tree.add("[dim]a model decides which actions lead to a goal[/dim]")
        return tree
    world = build_starting_world(spec)
    _add_plans(tree, goals, spec, world)
    if start := [name for name, there in world.items() if there]:
        tree.add(f"[dim]the plans start from {_join(start)}[/dim]")
    return tree


def _add_plans(tree: Tree, goals: Sequence[Tree], spec: PlannedAgentSpec, world: WorldState) -> None:
    """Add the plan of each goal and the preferred goal; or the most valuable action without goals."""
    is_greedy = isinstance(spec.planner, UtilityPlanner)
    if not is_greedy:
        for branch, goal in zip(goals, spec.goals, strict=True):
            _explain(branch, spec, goal, world)
    if is_greedy or len(spec.goals) > 1:
        plans = spec.planner.plans(world, spec.plannable, [goal.plan for goal in spec.goals])
        (_choose_first if is_greedy else _rank)(tree, plans)


def _explain(branch: Tree, spec: PlannedAgentSpec, goal: GoalSpec, world: WorldState) -> None:
    """Return the explanation of the plan, or of what is missing."""
    explanation = spec.planner.explain(world, spec.plannable, goal.plan)
    if (plan := explanation.plan) is None:
        branch.add(f"[red]{escape(str(explanation))}[/red]")
        return
    branch.add(build_plan_tree(spec, plan))
    others = [action for action in spec.plannable if action not in plan.actions]
    if others:
        left_out = branch.add("[dim]left out[/dim]")
        for action in others[:_MOST_LEFT_OUT]:
            verdict = spec.planner.explain(world, spec.plannable, goal.plan, about=action).about
            left_out.add(f"[dim]{escape(str(verdict))}[/dim]")
        if len(others) > _MOST_LEFT_OUT:
            left_out.add(f"[dim]and {len(others) - _MOST_LEFT_OUT} more[/dim]")


def _rank(tree: Tree, plans: Sequence[Plan]) -> None:
    """Return the order in which goals are preferred."""
    if plans:
        ranked = [f"{escape(plan.goal.name)} (net value {plan.net_value:g})" for plan in plans]
        others = f"; then {', '.join(ranked[1:])}" if ranked[1:] else ""
        tree.add(f"[bold]chosen[/bold] {ranked[0]}{others}")


def _choose_first(tree: Tree, plans: Sequence[Plan]) -> None:
    """Return the first action where there is no plan: the most valuable one."""
    for action in plans[0].actions if plans else ():
        value = f"net value {plans[0].net_value:g}"
        tree.add(f"[bold]first[/bold] {escape(action.name)} ({value}); then whatever is worth most")


def build_plan_tree(spec: PlannedAgentSpec, plan: Plan) -> Tree:
    """Return a plan step by step, with inputs and outputs."""
    tree = Tree(
        f"[bold]plan[/bold] for {escape(plan.goal.name)}  "
        f"[dim]cost {plan.cost:g}, value {plan.net_value:g}{'' if plan.optimal else f', {plan.quality}'}[/dim]"
    )
    for number, (step, cost) in enumerate(zip(plan.actions, plan.costs, strict=True), start=1):
        action, spent = spec.action(step.name), f"  [dim]cost {cost:g}[/dim]" if cost else ""
        flow = f"{_join(action.needs)} → {_join(action.gives)}"
        tree.add(f"{number}. [cyan]{escape(action.name)}[/cyan]  {flow}{spent}")
    return tree


def _format_goal(goal: GoalSpec) -> str:
    return f"[bold]goal[/bold] [green]{escape(goal.name)}[/green]  [dim]{escape(goal.description)}[/dim]"


def _format_action(action: ActionSpec) -> str:
    amounts = {"cost": action.plan.cost, "value": action.plan.value}
    facts = [f"{name} {amount:g}" for name, amount in amounts.items() if not callable(amount) and amount]
    words = "  ".join(filter(None, (escape(action.description), ", ".join(facts))))
    return f"[cyan]{escape(action.name)}[/cyan]  [dim]{words}[/dim]"


def _join(names: Iterable[str]) -> str:
    return escape(", ".join(names)) or "nothing"
