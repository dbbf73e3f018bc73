"""Draws an agent: its actions, what each needs and gives, and its plan."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.markup import escape
from rich.tree import Tree

from tactician.planning import Plan, WorldState
from tactician.process import ActionSpec, AgentSpec


def starting_world(spec: AgentSpec) -> WorldState:
    """The world in which everything is there that no action gives, and nothing else."""
    given = {name for action in spec.plannable for name, value in action.effects.items() if value}
    needed = {name for action in spec.plannable for name, value in action.pre.items() if value}
    return WorldState({name: name in needed - given for name in spec.observations})


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
        plans = spec.planner.plans(world, spec.plannable, [goal.plan])
        if plans:
            tree.add(heading).add(plan_tree(spec, plans[0]))
        else:
            tree.add(heading).add(f"[red]{escape(str(spec.planner.explain(world, spec.plannable, goal.plan)))}[/red]")
    if start := [name for name, there in world.items() if there]:
        tree.add(f"[dim]the plans start from {_listed(start)}[/dim]")
    return tree


def plan_tree(spec: AgentSpec, plan: Plan) -> Tree:
    """A plan, step by step, with what each step needs and gives."""
    tree = Tree(
        f"[bold]plan[/bold] for {escape(plan.goal.name)}  [dim]cost {plan.cost:g}, value {plan.net_value:g}[/dim]"
    )
    for number, step in enumerate(plan.actions, start=1):
        action = spec.action(step.name)
        tree.add(f"{number}. [cyan]{escape(action.name)}[/cyan]  {_listed(action.needs)} → {_listed(action.gives)}")
    return tree


def mermaid(spec: AgentSpec) -> str:
    """The flow of types through the actions as a Mermaid flowchart; goals are drawn with a double border."""
    goals = {goal.name for goal in spec.goals}
    lines = ["flowchart LR"]
    for action in spec.actions:
        shape = f'[["{action.name}"]]' if action.name in goals else f'["{action.name}"]'
        lines.append(f"    {_node('action', action.name)}{shape}")
    things = dict.fromkeys(thing.rstrip("?") for a in spec.actions for thing in (*a.needs, *a.gives))
    lines += [f'    {_node("type", thing)}(["{thing}"])' for thing in things]
    for action in spec.actions:
        for need in action.needs:
            arrow = "-.->" if need.endswith("?") else "-->"
            lines.append(f"    {_node('type', need.rstrip('?'))} {arrow} {_node('action', action.name)}")
        lines += [f"    {_node('action', action.name)} --> {_node('type', thing)}" for thing in action.gives]
    return "\n".join(lines)


def _action_line(action: ActionSpec) -> str:
    cost = action.plan.cost
    shown = f"  [dim]cost {cost:g}[/dim]" if not callable(cost) and cost else ""
    return f"[cyan]{escape(action.name)}[/cyan]  [dim]{escape(action.description)}[/dim]{shown}"


def _listed(names: Iterable[str]) -> str:
    return escape(", ".join(names)) or "nothing"


def _node(kind: str, name: str) -> str:
    return f"{kind}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"
