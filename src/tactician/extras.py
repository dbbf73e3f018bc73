"""Errors that name the extra which a feature needs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb

from tactician.errors import MissingExtraError


@contextmanager
def require_extra(extra: str, needs: str) -> Iterator[None]:
    """Name the extra when a module is missing.

    Args:
        extra: the extra that installs the module.
        needs: beginning of the message, such as `"A store needs"`.

    Raises:
        MissingExtraError: when a module is not installed, or the program has its name.
    """
    try:
        yield
    except ImportError as error:
        if (shadowed := _find_shadowed(error)) is not None:
            program = sys.modules["__main__"].__file__
            raise MissingExtraError(f"{program} has the name of the package {shadowed!r}: rename your file.") from error
        # SQLAlchemy names a module that it misses in the cause only.
        missing = error.name or getattr(error.__cause__, "name", None) or error
        raise MissingExtraError(f"{needs} {missing}, which is not installed. {describe_install(extra)}") from error


def _find_shadowed(error: ImportError) -> str | None:
    """Return the name of a package in whose place Python has imported the program, which has the same name."""
    program = getattr(sys.modules["__main__"], "__file__", None)
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_filename == program]
    names = [str(frame.f_globals["__name__"]) for frame in frames]
    return next((name for name in names if name != "__main__"), None)


def describe_install(extra: str, then: str = "") -> str:
    """Return the sentence that says how an extra is installed; `then` is a second command."""
    command = f'pip install ".[{extra}]"'
    return f"In your clone of Tactician, run: {f'{command} && {then}' if then else command}"
