"""`tactician check`: what can happen under the rules of the agents in a file, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

import typer
from rich.markup import escape
from rich.tree import Tree

from tactician.agents import Agent
from tactician.agents.planned.courses import list_courses, list_starts
from tactician.agents.planned.specs import planned_spec
from tactician.cli.console import AgentName, Debug, File, out
from tactician.cli.loading import choose_agent, load_agents
from tactician.ensemble import Ensemble
from tactician.errors import TacticianError
from tactician.planning import Action, Goal, WorldState
from tactician.planning.rules import Rule
from tactician.planning.ruling.calls import resolve_calls
from tactician.planning.ruling.exploration import MOST_STATES, ActionOutcome, Course, Exploration, RuleFinding, explore
from tactician.planning.ruling.progress import RuleBook
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.runs import Runnable

_MOST_ARGUMENTS: Final = 4


def check(file: File, agent: AgentName = None, debug: Debug = False) -> None:
    """Explore what can happen: for each rule, whether it holds always, by enforcement, or how a run breaks it."""
    loaded = load_agents(file)
    agents = {**loaded.everything, **loaded.component_agents}
    chosen = agents if agent is None else {agent: choose_agent(agents, agent, file)}
    explored = {name: result for name, runnable in chosen.items() if (result := _explore(runnable)) is not None}
    if not explored:
        raise TacticianError(f"{file}: no agent in this file has rules or plans, only {', '.join(agents)}.")
    for name, (exploration, lowest) in explored.items():
        out.print(_draw(name, exploration, lowest))
    if any(finding.standing == "broken" for result, _ in explored.values() for finding in result.findings):
        raise typer.Exit(1)
    if any(result.unreachable for result, _ in explored.values()):
        raise typer.Exit(1)


def _explore(agent: Runnable) -> tuple[Exploration, float | None] | None:
    """Return what can happen in the runs of an agent, and the cost of its cheapest run; `None` without rules."""
    if (spec := planned_spec(agent)) is not None:
        book = spec.rule_book or RuleBook.of_actions((), ())
        return explore(book, list_courses(spec), spec.pursued, list_starts(spec)), _find_lowest_cost(spec, book)
    if isinstance(agent, Agent) and agent.spec.rules:
        return _explore_calls(agent.spec.rules, list(agent.tools.names)), None
    if isinstance(agent, Ensemble) and agent.rules:
        return _explore_calls(agent.rules, list(agent.ruled_names)), None
    return None


def _explore_calls(rules: tuple[Rule, ...], names: list[str]) -> Exploration:
    """Return what can happen where anything may be called at any time."""
    courses = [
        Course(
            Action(name, {}, {name: True}),
            (ActionOutcome(name, {name: True}), ActionOutcome(f"{name} fails", {}, False)),
        )
        for name in names
    ]
    book = resolve_calls(rules)
    done = dict.fromkeys(names, False)
    arguments = [name for name in book.conditions if name not in done]
    starts = [
        WorldState({**done, **dict(zip(arguments, values, strict=False))})
        for values in product((False, True), repeat=min(len(arguments), _MOST_ARGUMENTS))
    ]
    return explore(book, courses, [Goal("the answer", {})], starts)


def _find_lowest_cost(spec: PlannedAgentSpec, book: RuleBook) -> float | None:
    begins = [(world, book.begin(world) if book.rules else ()) for world in list_starts(spec)]
    costs = [
        plan.cost
        for world, history in begins
        for plan in spec.planner.plans(world, spec.plannable, spec.pursued, history=history)
    ]
    return min(costs, default=None)


def _draw(name: str, result: Exploration, lowest: float | None) -> Tree:
    tree = Tree(f"[bold]{escape(name)}[/bold]")
    for finding in result.findings:
        tree.add("  ".join(_describe(finding)))
    if result.dead:
        tree.add(f"[yellow]never run:[/yellow] {escape(', '.join(result.dead))}")
    if result.unreachable:
        tree.add(f"[red]never reached:[/red] {escape(', '.join(result.unreachable))}")
    if lowest is not None:
        highest = result.highest_cost
        most = "without an upper bound, as actions may repeat" if highest is None else f"to {highest:g}"
        tree.add(f"cost: from {lowest:g} {most}")
    if not result.is_complete:
        tree.add(f"[dim]only the first {MOST_STATES:,} situations were explored[/dim]")
    return tree


def _describe(finding: RuleFinding) -> Iterator[str]:
    run = escape(" → ".join(finding.trace)) or "at the beginning"
    yield f"[cyan]{escape(str(finding.rule))}[/cyan]"
    match finding.standing:
        case "always":
            yield "[green]holds always[/green]"
        case "enforced":
            yield f"[green]held by enforcement[/green]  [dim]prevents: {run}[/dim]"
        case "time":
            yield "[yellow]broken by an action that takes too long[/yellow]"
        case "broken":
            yield f"[red]broken[/red] by: {run}"
