"""Draws an agent: its actions, what each needs and gives, and its plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.markup import escape
from rich.tree import Tree

from tactician.planning import Plan, WorldState
from tactician.process import ActionSpec, AgentSpec, GoalSpec

_MOST_LEFT_OUT = 20


def starting_world(spec: AgentSpec) -> WorldState:
    """The world in which everything is there that no action gives, and nothing else."""
    given = {name for action in spec.plannable for name, value in action.effects.items() if value}
    needed = {name for action in spec.plannable for name, value in action.pre.items() if value}
    return WorldState({name: name in needed - given for name in (*spec.observations, *spec.conditions)})


def agent_tree(spec: AgentSpec) -> Tree:
    """The actions, and the plan of each goal from the starting world."""
    world = starting_world(spec)
    tree = Tree(f"[bold]{escape(spec.name)}[/bold]  [dim]{escape(spec.description)}[/dim]")
    actions = tree.add("[bold]actions[/bold]")
    for action in spec.actions:
        branch = actions.add(_action_line(action))
        branch.add(f"needs {_listed(action.needs)}")
        branch.add(f"gives {_listed(action.gives)}")
    for goal in spec.goals:
        heading = f"[bold]goal[/bold] [green]{escape(goal.name)}[/green]  [dim]{escape(goal.description)}[/dim]"
        _explain(tree.add(heading), spec, goal, world)
    if len(spec.goals) > 1:
        _rank(tree, spec.planner.plans(world, spec.plannable, [goal.plan for goal in spec.goals]))
    if start := [name for name, there in world.items() if there]:
        tree.add(f"[dim]the plans start from {_listed(start)}[/dim]")
    return tree


def _explain(branch: Tree, spec: AgentSpec, goal: GoalSpec, world: WorldState) -> None:
    """The plan, and why it does without the other actions; or what is missing."""
    explanation = spec.planner.explain(world, spec.plannable, goal.plan)
    if (plan := explanation.plan) is None:
        branch.add(f"[red]{escape(str(explanation))}[/red]")
        return
    branch.add(plan_tree(spec, plan))
    others = [action for action in spec.plannable if action not in plan.actions]
    if others:
        left_out = branch.add("[dim]left out[/dim]")
        for action in others[:_MOST_LEFT_OUT]:
            verdict = spec.planner.explain(world, spec.plannable, goal.plan, about=action).about
            left_out.add(f"[dim]{escape(str(verdict))}[/dim]")
        if len(others) > _MOST_LEFT_OUT:
            left_out.add(f"[dim]and {len(others) - _MOST_LEFT_OUT} more[/dim]")


def _rank(tree: Tree, plans: Sequence[Plan]) -> None:
    """Which goal is chosen, and which ones come next."""
    if plans:
        ranked = [f"{escape(plan.goal.name)} (net value {plan.net_value:g})" for plan in plans]
        others = f"; then {', '.join(ranked[1:])}" if ranked[1:] else ""
        tree.add(f"[bold]chosen[/bold] {ranked[0]}{others}")


def plan_tree(spec: AgentSpec, plan: Plan) -> Tree:
    """A plan, step by step, with what each step needs and gives."""
    tree = Tree(
        f"[bold]plan[/bold] for {escape(plan.goal.name)}  [dim]cost {plan.cost:g}, value {plan.net_value:g}[/dim]"
    )
    for number, (step, cost) in enumerate(zip(plan.actions, plan.costs, strict=True), start=1):
        action, spent = spec.action(step.name), f"  [dim]cost {cost:g}[/dim]" if cost else ""
        flow = f"{_listed(action.needs)} → {_listed(action.gives)}"
        tree.add(f"{number}. [cyan]{escape(action.name)}[/cyan]  {flow}{spent}")
    return tree


def _action_line(action: ActionSpec) -> str:
    cost = action.plan.cost
    shown = f"  [dim]cost {cost:g}[/dim]" if not callable(cost) and cost else ""
    return f"[cyan]{escape(action.name)}[/cyan]  [dim]{escape(action.description)}[/dim]{shown}"


def _listed(names: Iterable[str]) -> str:
    return escape(", ".join(names)) or "nothing"
