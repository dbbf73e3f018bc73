"""Entry point of the command line, and the display of its errors."""

from __future__ import annotations

import sys
from pathlib import Path
from traceback import format_exception

import typer
from rich.markup import escape

from tactician.cli.console import err
from tactician.errors import TacticianError
from tactician.text import escape_controls

_INTERRUPTED = 130
_FOLDER = str(Path(__file__).parent)


def main() -> None:
    """Run the command line. A mistake of the user ends it with a message and exit code 2."""
    try:
        find_app(sys.argv[1:])()
    except Exception as error:
        if not _is_mistake(error):
            raise
        if "--debug" in sys.argv:
            _print_traceback(error)
        else:
            message = escape(escape_controls(str(error)))
            err.print(f"[bold red]error:[/bold red] {message}", soft_wrap=True, highlight=False)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            err.print("[bold red]interrupted[/bold red]")
        raise


def _is_mistake(error: Exception) -> bool:
    from tactician.planning import SearchLimitExceeded

    return isinstance(error, TacticianError | SearchLimitExceeded)


def _print_traceback(error: Exception) -> None:
    """Print the traceback of an error, and of its causes, without the frames of the command line."""
    own, traceback = error.__traceback__, error.__traceback__
    while own is not None and own.tb_next is not None:
        own, is_own = own.tb_next, own.tb_frame.f_code.co_filename.startswith(_FOLDER)
        traceback = own if is_own else traceback
    lines = format_exception(type(error), error, traceback)
    err.print(escape_controls("".join(lines)), markup=False, highlight=False, soft_wrap=True, end="")


def find_app(arguments: list[str]) -> typer.Typer:
    """Return the group with the command that is called, or with all commands.

    To list runs takes a fraction of the time without what the other commands need.
    """
    if arguments[:1] == ["ps"]:
        from tactician.cli.listing import app

        return app
    from tactician.cli.commands import app as all_commands

    return all_commands
