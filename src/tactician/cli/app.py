"""Commands of the command line, and their errors."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tactician import __version__
from tactician.agents import planned_spec
from tactician.cli.blueprints import blueprints
from tactician.cli.console import AgentName, Debug, File, err, out
from tactician.cli.drawing import build_agent_tree
from tactician.cli.fork_command import fork
from tactician.cli.formatting import escape_controls
from tactician.cli.inspection import ps, show
from tactician.cli.loading import choose_agent, load_agents
from tactician.cli.models import show_models
from tactician.cli.run_command import run
from tactician.cli.run_control import kill, prune, respond, resume
from tactician.cli.worker_command import worker
from tactician.errors import TacticianError
from tactician.llm import ModelCatalog
from tactician.planning import SearchLimitExceeded
from tactician.process import draw_agent

app = typer.Typer(name="tactician", help="Agents that plan.", no_args_is_help=True, pretty_exceptions_enable=False)
for command in (run, ps, show, respond, resume, fork, kill, prune, worker):
    app.command()(command)
app.add_typer(blueprints)


_INTERRUPTED = 130


def main() -> None:
    """Run the command line. A mistake of the user ends it with one message and exit code 2."""
    try:
        app()
    except (TacticianError, SearchLimitExceeded) as error:
        if "--debug" in sys.argv:
            raise
        err.print(f"[bold red]error:[/bold red] {escape(escape_controls(str(error)))}", soft_wrap=True, highlight=False)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            err.print("[bold red]interrupted[/bold red]")
        raise


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"tactician {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Agents that plan."""


@app.command()
def plan(
    file: File,
    agent: AgentName = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead.")] = False,
    debug: Debug = False,
) -> None:
    """Draw the actions of a planned agent with their inputs and outputs, and the plan, with an explanation."""
    agents = load_agents(file)
    planned = {name: spec for name, one in agents.items() if (spec := planned_spec(one)) is not None}
    if not planned:
        raise TacticianError(f"{file}: there is no planned agent in this file, only {', '.join(agents)}.")
    for spec in [choose_agent(planned, agent, file)] if agent else planned.values():
        if as_mermaid:
            print(draw_agent(spec))
        else:
            out.print(build_agent_tree(spec))


@app.command()
def agents(file: File, debug: Debug = False) -> None:
    """List the agents in a file."""
    table = Table("agent", "kind", "what it is for", "goals")
    for one in load_agents(file).values():
        spec = planned_spec(one)
        goals = "" if spec is None else ", ".join(goal.name for goal in spec.goals)
        kind = type(one).__name__ if spec is None else "planned agent"
        table.add_row(one.name, kind, one.description, goals)
    out.print(table)


@app.command()
def models(
    check: Annotated[bool, typer.Option("--check", help="Send one tiny request to each model.")] = False,
    debug: Debug = False,
) -> None:
    """Show the available models: abilities, prices, the default, and the reason for the choice."""
    if not show_models(out, ModelCatalog(), check=check):
        raise typer.Exit(1)
