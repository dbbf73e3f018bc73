"""The commands, and how their errors are shown."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tactician import __version__
from tactician.agents import PlannedAgent, raise_unless_completed
from tactician.cli.drawing import agent_tree, mermaid
from tactician.cli.loading import choose, load_agents
from tactician.cli.models import show_models
from tactician.cli.progress import ProgressView
from tactician.errors import TacticianError
from tactician.llm import ModelCatalog
from tactician.llm.catalog import MODEL_VARIABLE
from tactician.planning import SearchLimitExceeded
from tactician.platform import Platform
from tactician.runs import Runnable
from tactician.tools import as_text

app = typer.Typer(name="tactician", help="Agents that plan.", no_args_is_help=True, pretty_exceptions_enable=False)
out = Console(emoji=False)
err = Console(stderr=True, emoji=False)

File = Annotated[Path, typer.Argument(help="A Python file with agents in it.")]
AgentName = Annotated[str | None, typer.Option("--agent", "-a", help="Which agent, when the file has several.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def main() -> None:
    """Runs the command line. A mistake of the user ends it with one message and exit code 2."""
    try:
        app()
    except (TacticianError, SearchLimitExceeded) as error:
        if "--debug" in sys.argv:
            raise
        err.print(f"[bold red]error:[/bold red] {escape(str(error))}", soft_wrap=True, highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("[bold red]interrupted[/bold red]")
        sys.exit(130)


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
def run(
    file: File,
    input: Annotated[str, typer.Argument(help="What the agent is asked to do.")],
    agent: AgentName = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="The default model of this run.")] = None,
    prompts: Annotated[bool, typer.Option("-p", "--prompts", help="Show what models are sent.")] = False,
    responses: Annotated[bool, typer.Option("-r", "--responses", help="Show what models answer.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Draw each plan in full.")] = False,
    debug: Debug = False,
) -> None:
    """Run an agent: progress goes to stderr, the result to stdout."""
    chosen = choose(load_agents(file), agent, file)
    spec = chosen.spec if plan and isinstance(chosen, PlannedAgent) else None
    view = ProgressView(err, prompts=prompts, responses=responses, spec=spec)
    environment = {**os.environ, MODEL_VARIABLE: model} if model else os.environ
    platform = Platform(models=ModelCatalog(environment=environment), on_event=view)
    out.print(asyncio.run(_run(platform, chosen, input)), markup=False, highlight=False, soft_wrap=True)


async def _run(platform: Platform, chosen: Runnable, input: str) -> str:
    if not isinstance(chosen, PlannedAgent):
        return _shown((await chosen.run(input, context=platform.context())).output)
    process = await platform.start(chosen, input)
    raise_unless_completed(process)
    return _shown(process.result)


def _shown(output: object) -> str:
    """An object in its own words, if it has any, else as JSON."""
    return str(output) if type(output).__str__ is not object.__str__ and not _is_plain(output) else as_text(output)


def _is_plain(output: object) -> bool:
    """Whether `str` would show a Python literal, not words."""
    from pydantic import BaseModel

    return type(output).__str__ in (BaseModel.__str__, dict.__str__, list.__str__)


@app.command()
def plan(
    file: File,
    agent: AgentName = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead.")] = False,
    debug: Debug = False,
) -> None:
    """Draw the actions of a planned agent, what each needs and gives, and the plan."""
    agents = load_agents(file)
    planned = {name: one for name, one in agents.items() if isinstance(one, PlannedAgent)}
    if not planned:
        raise TacticianError(f"{file}: there is no planned agent in this file, only {', '.join(agents)}.")
    for one in [choose(dict(planned), agent, file)] if agent else planned.values():
        assert isinstance(one, PlannedAgent)
        if as_mermaid:
            print(mermaid(one.spec))
        else:
            out.print(agent_tree(one.spec))


@app.command()
def agents(file: File, debug: Debug = False) -> None:
    """List the agents in a file."""
    table = Table("agent", "kind", "what it is for", "goals")
    for one in load_agents(file).values():
        goals = ", ".join(goal.name for goal in one.spec.goals) if isinstance(one, PlannedAgent) else ""
        kind = "planned agent" if isinstance(one, PlannedAgent) else type(one).__name__
        table.add_row(one.name, kind, one.description, goals)
    out.print(table)


@app.command()
def models(
    check: Annotated[bool, typer.Option("--check", help="Send one tiny request to each model.")] = False,
    debug: Debug = False,
) -> None:
    """Show which models can be used, what they can do and cost, which one is the default, and why."""
    if not show_models(out, ModelCatalog(), check=check):
        raise typer.Exit(1)
