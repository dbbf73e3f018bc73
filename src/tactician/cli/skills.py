"""`tactician skills`: check agent skills."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tactician.cli.console import Debug, err, out
from tactician.cli.formatting import format_on_one_line
from tactician.grammar import format_count

skills = typer.Typer(name="skills", help="Agent skills: folders with a SKILL.md.", no_args_is_help=True)
_Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Folders of skills, or folders with such folders.")
]


@skills.callback()
def _group() -> None:
    """Agent skills: folders with a SKILL.md."""


@skills.command()
def check(
    paths: _Paths,
    nested: Annotated[bool, typer.Option("--nested", help="Search folders in folders too.")] = False,
    debug: Debug = False,
) -> None:
    """Check skills against the specification. Exit code 1 when there are problems."""
    from tactician.skills.rules import check_skill

    folders = [folder for path in paths for folder in _find_folders(path, nested)]
    problems = [f"{folder}: {problem}" for folder in folders for problem in check_skill(folder)]
    for line in problems:
        out.print(format_on_one_line(line), markup=False, highlight=False, soft_wrap=True)
    if problems:
        raise typer.Exit(1)
    count = format_count(len(folders), "skill")
    err.print(f"[green]{count}, nothing is wrong[/green]")


def _find_folders(path: Path, nested: bool) -> tuple[Path, ...]:
    """Return the folders of the skills at a path; or the path itself."""
    from tactician.skills.loading import find_skill_folders

    places = find_skill_folders(path, nested=nested) if path.is_dir() else ()
    return places or (path.absolute(),)
