"""Errors that name the extra which a feature needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tactician.errors import MissingExtraError


@contextmanager
def require_extra(extra: str, needs: str) -> Iterator[None]:
    """Name the extra when a module is missing.

    Args:
        extra: the extra that installs the module.
        needs: beginning of the message, such as `"A store needs"`.

    Raises:
        MissingExtraError: when a module is not installed.
    """
    try:
        yield
    except ImportError as error:
        # SQLAlchemy names a module that it misses in the cause only.
        missing = error.name or getattr(error.__cause__, "name", None) or error
        raise MissingExtraError(f"{needs} {missing}, which is not installed. {describe_install(extra)}") from error


def describe_install(extra: str, then: str = "") -> str:
    """Return the sentence that says how an extra is installed; `then` is a second command."""
    command = f'pip install ".[{extra}]"'
    return f"In your clone of Tactician, run: {f'{command} && {then}' if then else command}"
