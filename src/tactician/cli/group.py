"""Group of the commands, with its options."""

from __future__ import annotations

from typing import Annotated

import typer

from tactician import __version__
from tactician.cli.console import out


def create_group() -> typer.Typer:
    """Return a group without commands."""
    group = typer.Typer(
        name="tactician", help="Agents that plan.", no_args_is_help=True, pretty_exceptions_enable=False
    )
    group.callback()(_root)
    return group


def _show_version(requested: bool) -> None:
    if requested:
        out.print(f"tactician {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Agents that plan."""
