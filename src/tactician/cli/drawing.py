"""Draws an agent: its actions, what each needs and gives, and its plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.markup import escape
from rich.tree import Tree

from tactician.agents import LEADER
from tactician.planning import Plan, UtilityPlanner, WorldState
from tactician.process import ActionSpec, GoalSpec, PlannedAgentSpec

_MOST_LEFT_OUT = 20


def build_starting_world(spec: PlannedAgentSpec) -> WorldState:
    """The world in which everything is there that no action gives, and nothing else."""
    given = {name for action in spec.plannable for name, value in action.effects.items() if value}
    needed = {name for action in spec.plannable for name, value in action.pre.items() if value}
    return WorldState({name: name in needed - given for name in (*spec.observations, *spec.conditions)})


def build_agent_tree(spec: PlannedAgentSpec) -> Tree:
    """The actions and goals, and what is done from the starting world: the plans, unless a model leads."""
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
    """The plan of each goal, and which goal comes first; or only what is worth most, where nothing else counts."""
    is_greedy = isinstance(spec.planner, UtilityPlanner)
    if not is_greedy:
        for branch, goal in zip(goals, spec.goals, strict=True):
            _explain(branch, spec, goal, world)
    if is_greedy or len(spec.goals) > 1:
        plans = spec.planner.plans(world, spec.plannable, [goal.plan for goal in spec.goals])
        (_choose_first if is_greedy else _rank)(tree, plans)


def _explain(branch: Tree, spec: PlannedAgentSpec, goal: GoalSpec, world: WorldState) -> None:
    """The plan, and why it does without the other actions; or what is missing."""
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
    """Which goal is chosen, and which ones come next."""
    if plans:
        ranked = [f"{escape(plan.goal.name)} (net value {plan.net_value:g})" for plan in plans]
        others = f"; then {', '.join(ranked[1:])}" if ranked[1:] else ""
        tree.add(f"[bold]chosen[/bold] {ranked[0]}{others}")


def _choose_first(tree: Tree, plans: Sequence[Plan]) -> None:
    """What is done first when there is no plan, but always that which is worth most."""
    for action in plans[0].actions if plans else ():
        value = f"net value {plans[0].net_value:g}"
        tree.add(f"[bold]first[/bold] {escape(action.name)} ({value}); then whatever is worth most")


def build_plan_tree(spec: PlannedAgentSpec, plan: Plan) -> Tree:
    """A plan, step by step, with what each step needs and gives."""
    tree = Tree(
        f"[bold]plan[/bold] for {escape(plan.goal.name)}  [dim]cost {plan.cost:g}, value {plan.net_value:g}[/dim]"
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
