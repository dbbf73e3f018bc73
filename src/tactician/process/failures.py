"""Description of what an action, a condition or a handler of a user has raised, with the line that raised it."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path
from traceback import walk_tb

from tactician.text import describe_error


def describe_failure(error: BaseException) -> str:
    """Return the type and the message of an error, its notes, and the file and line of the user that raised it."""
    line = _find_line(error)
    notes = [*getattr(error, "__notes__", ()), *([] if line is None else [line])]
    return describe_error(error) + "".join(f" ({note})" for note in notes)


def _find_line(error: BaseException) -> str | None:
    """Return the file and line of the innermost code of the user; `None` when there is none in the traceback."""
    cause = error if error.__traceback__ is not None or error.__cause__ is None else error.__cause__
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(cause.__traceback__)]
    own = [(file, line) for file, line in lines if not file.startswith(("<", *_list_foreign_folders()))]
    if not own:
        return None
    file, line = own[-1]
    folder = f"{Path.cwd()}/"
    return f"{file.removeprefix(folder)}:{line}"


@cache
def _list_foreign_folders() -> tuple[str, ...]:
    """Return where Tactician, Python and what is installed are."""
    paths, names = sysconfig.get_paths(), ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(f"{folder}/" for folder in (Path(__file__).parents[1], *(paths[name] for name in names)))
