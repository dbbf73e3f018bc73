"""Entry point of the command line, and the display of its errors."""

from __future__ import annotations

import sys

import typer
from rich.markup import escape

from tactician.cli.console import err
from tactician.errors import TacticianError
from tactician.text import escape_controls

_INTERRUPTED = 130


def main() -> None:
    """Run the command line. A mistake of the user ends it with one message and exit code 2."""
    try:
        find_app(sys.argv[1:])()
    except Exception as error:
        if "--debug" in sys.argv or not _is_mistake(error):
            raise
        err.print(f"[bold red]error:[/bold red] {escape(escape_controls(str(error)))}", soft_wrap=True, highlight=False)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            err.print("[bold red]interrupted[/bold red]")
        raise


def _is_mistake(error: Exception) -> bool:
    from tactician.planning import SearchLimitExceeded

    return isinstance(error, TacticianError | SearchLimitExceeded)


def find_app(arguments: list[str]) -> typer.Typer:
    """Return the group with the command that is called, or with all commands.

    To list runs takes a fraction of the time without what the other commands need.
    """
    if arguments[:1] == ["ps"]:
        from tactician.cli.listing import app

        return app
    from tactician.cli.commands import app as all_commands

    return all_commands
