"""All commands, with their imports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tactician.agents import combine_specs
from tactician.agents.planned.components import build_component_agent
from tactician.agents.planned.specs import planned_spec
from tactician.cli.a2a_command import a2a
from tactician.cli.blueprints import blueprints
from tactician.cli.chat_command import chat
from tactician.cli.check_command import check
from tactician.cli.code_command import code
from tactician.cli.console import AgentName, Debug, File, StoreUrl, out
from tactician.cli.drawing import build_agent_tree, describe_kind
from tactician.cli.eval_command import evaluations
from tactician.cli.experience import ObjectiveName, experience, price_agents
from tactician.cli.fork_command import fork
from tactician.cli.group import create_group
from tactician.cli.inspection import show
from tactician.cli.listing import ps
from tactician.cli.loading import choose_agent, load_agents
from tactician.cli.mcp_command import mcp
from tactician.cli.mesh_command import mesh, node
from tactician.cli.models import show_models
from tactician.cli.rag_command import rag
from tactician.cli.run_command import run
from tactician.cli.run_control import kill, prune, respond, resume
from tactician.cli.search_drawing import build_search_tree, draw_search
from tactician.cli.serve_command import serve
from tactician.cli.shell.program import shell
from tactician.cli.skills import skills
from tactician.cli.trace_command import trace
from tactician.cli.worker_command import worker
from tactician.diagrams.mermaid import to_mermaid
from tactician.errors import AgentNotFoundError, TacticianError
from tactician.llm import ModelCatalog
from tactician.process import draw_agent
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.agent.what_if import Assumption, assume
from tactician.text import escape_controls

app = create_group()
for command in (
    run,
    shell,
    chat,
    check,
    ps,
    show,
    experience,
    trace,
    respond,
    resume,
    fork,
    kill,
    prune,
    worker,
    serve,
    node,
):
    app.command()(command)
app.add_typer(blueprints)
app.add_typer(a2a)
app.add_typer(skills)
app.add_typer(mcp)
app.add_typer(mesh)
app.add_typer(evaluations)
app.add_typer(rag)
app.add_typer(code)


@app.command()
def plan(
    file: File,
    agent: AgentName = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Describe all actions, and say why some are in no plan.")
    ] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead.")] = False,
    search: Annotated[bool, typer.Option("--search", help="Show how the best plan and its bound met.")] = False,
    store: StoreUrl = None,
    objective: ObjectiveName = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.svg", help="Draw the search for the first goal as an SVG.")
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option("--what-if", metavar="ACTION=CHANGE", help="Plan as if it fails, gives nothing or costs so much."),
    ] = None,
    fallbacks: Annotated[
        bool, typer.Option("--fallbacks", help="Say for each step what would be done if it failed.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Show the plans of a planned agent, with the inputs and outputs of each action; with -v also why.

    With --store, also what they are expected to take, by the runs in the store.
    """
    loaded = load_agents(file)
    agents = {**loaded.everything, **loaded.component_agents}
    planned = {name: spec for name, runnable in agents.items() if (spec := planned_spec(runnable)) is not None}
    if agent is None and (whole := {name: spec for name, spec in planned.items() if name in loaded.everything}):
        planned = whole
    planned = {name: _add_components(spec, loaded.components) for name, spec in planned.items()}
    if not planned:
        raise TacticianError(f"{file}: there is no planned agent in this file, only {', '.join(agents)}.")
    if agent in agents and agent not in planned:
        raise AgentNotFoundError(
            f"{agent} is no planned agent, and has no plan. Planned agents in {file}: {', '.join(planned)}."
        )
    is_single = agent is not None or picture is not None
    assumptions = [Assumption.parse(text) for text in what_if or ()]
    chosen = [choose_agent(planned, agent, file)] if is_single else [*planned.values()]
    for spec in price_agents([assume(each, assumptions) for each in chosen], store, objective):
        if as_mermaid:
            print(escape_controls(to_mermaid(draw_agent(spec))))
        else:
            out.print(build_agent_tree(spec, verbose=verbose, fallbacks=fallbacks))
        if search or picture is not None:
            _show_searches(spec, picture)


def _add_components(spec: PlannedAgentSpec, components: Sequence[object]) -> PlannedAgentSpec:
    """Return the agent with the actions of components, as far as they give what it lacks, as a run has them."""
    world = spec.build_starting_world()
    lacking = {(name, True) for name, is_there in world.items() if is_there}
    specs = ((component, planned_spec(build_component_agent(component))) for component in components)
    helpers = [
        component
        for component, made in specs
        if made is not None and any(lacking & action.effects.items() for action in made.plannable)
    ]
    if not helpers or not spec.goals:
        return spec
    whole = combine_specs([spec.instance, *helpers], name=spec.name, description=spec.description)
    return replace(whole, planner=spec.planner)


def _show_searches(spec: PlannedAgentSpec, picture: Path | None) -> None:
    """Print the search for each goal, and draw that for the first goal."""
    world = spec.build_starting_world()
    for number, goal in enumerate(spec.goals):
        trace = spec.planner.trace(world, spec.plannable, goal.plan, budget=spec.planning)
        out.print(build_search_tree(goal.name, trace))
        if picture is not None and not number:
            picture.write_text(draw_search(goal.name, trace), encoding="utf-8")


@app.command()
def agents(file: File, debug: Debug = False) -> None:
    """List the agents in a file."""
    table = Table("agent", "kind", "what it is for", "goals")
    loaded = load_agents(file)
    for agent in (*loaded.values(), *loaded.members.values(), *loaded.component_agents.values()):
        spec = planned_spec(agent)
        goals = "" if spec is None else ", ".join(goal.name for goal in spec.goals)
        kind = describe_kind(agent) + (", part of another agent" if agent.name in loaded.members else "")
        table.add_row(*map(escape, (agent.name, kind, agent.description, goals)))
    out.print(table)


@app.command()
def models(
    check: Annotated[bool, typer.Option("--check", help="Send a tiny request to each model.")] = False,
    debug: Debug = False,
) -> None:
    """Show the available models: abilities, prices, the default, and the reason for the choice."""
    if not show_models(out, ModelCatalog(), check=check):
        raise typer.Exit(1)
