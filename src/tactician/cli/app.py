"""Entry point of the command line, and the display of its errors."""

from __future__ import annotations

import sys
from pathlib import Path
from traceback import format_exception

import typer
from rich.markup import escape

from tactician.cli.console import discard_unwritable, err, escape_unencodable
from tactician.errors import ModelError, PermanentError, TacticianError, TransientError
from tactician.secrets import mask_secrets
from tactician.text import escape_controls

_FAILED, _MISTAKE, _INTERRUPTED = 1, 2, 130
_FOLDER = str(Path(__file__).parent)


def main() -> None:
    """Run the command line.

    An error ends it with a message: with exit code 1 for a run that has failed, and 2 for a mistake of the user.
    """
    escape_unencodable(sys.stdout)
    try:
        find_app(sys.argv[1:])()
    except Exception as error:
        if "--debug" in sys.argv:
            _print_traceback(error)
        else:
            message = escape(escape_controls(_describe(error)))
            err.print(f"[bold red]error:[/bold red] {message}", soft_wrap=True, highlight=False)
        discard_unwritable(sys.stdout)
        sys.exit(_find_exit_code(error))
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            err.print("[bold red]interrupted[/bold red]")
        raise


def _find_exit_code(error: Exception) -> int:
    """Return the exit code for an error. What the code of a user raises has failed its run."""
    from tactician.planning import SearchLimitExceeded
    from tactician.process import ProcessError
    from tactician.runs import RunError

    if isinstance(error, RunError | ProcessError | ModelError | TransientError | PermanentError | SearchLimitExceeded):
        return _FAILED
    return _MISTAKE if isinstance(error, TacticianError | OSError) else _FAILED


def _describe(error: Exception) -> str:
    """Return an error in words; of the system with its file, of a user's code with its type, file and line."""
    if isinstance(error, TacticianError):
        return mask_secrets(str(error))
    if not isinstance(error, OSError) or error.strerror is None:
        from tactician.process.state.errors import describe_failure

        return f"{mask_secrets(describe_failure(error))}. --debug shows the traceback."
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _print_traceback(error: Exception) -> None:
    """Print the traceback of an error, and of its causes, without the frames of the command line."""
    project_traceback, traceback = error.__traceback__, error.__traceback__
    while project_traceback is not None and project_traceback.tb_next is not None:
        project_traceback, is_own = (
            project_traceback.tb_next,
            project_traceback.tb_frame.f_code.co_filename.startswith(_FOLDER),
        )
        traceback = project_traceback if is_own else traceback
    lines = format_exception(type(error), error, traceback)
    err.print(escape_controls(mask_secrets("".join(lines))), markup=False, highlight=False, soft_wrap=True, end="")


def find_app(arguments: list[str]) -> typer.Typer:
    """Return the group with the command that is called, or with all commands.

    To list runs takes a fraction of the time without what the other commands need.
    """
    if arguments[:1] == ["ps"]:
        from tactician.cli.listing import app

        return app
    from tactician.cli.commands import app as all_commands

    return all_commands
