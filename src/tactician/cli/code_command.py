"""`tactician code`: coding agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tactician.cli.console import Debug, out, print_json, say

code = typer.Typer(name="code", help="Coding agents: work on a repository.", no_args_is_help=True)
Repository = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the repository.")]
_COLUMNS = ("build", "test", "lint", "format")


@code.callback()
def _group() -> None:
    """Coding agents: work on a repository."""


@code.command()
def detect(
    folder: Repository = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the parts as JSON instead.")] = False,
    debug: Debug = False,
) -> None:
    """Show the build systems of a repository, with the commands and folders that follow. Runs nothing."""
    from pydantic_core import to_json

    from tactician.coding import detect_project

    project = detect_project(folder)
    if as_json:
        print_json(to_json(project.parts, indent=2).decode())
        return
    if not project.parts:
        say(f"{project.root} has no build file that is recognized. Name the commands with --build and --test.")
        raise typer.Exit(1)
    table = Table("folder", "project", "sources", "tests", "commands")
    for part in project.parts:
        named = [(name, getattr(part, f"{name}_command")) for name in _COLUMNS]
        commands = "\n".join(f"{name}: {command}" for name, command in named if command)
        folders = ("\n".join(part.source_folders), "\n".join(part.test_folders) or "none")
        table.add_row(*map(escape, (part.root, part.label, *folders, commands)))
    out.print(table)
