"""Errors that name the extra which A2A needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tactician.errors import MissingExtraError


@contextmanager
def require_a2a() -> Iterator[None]:
    """Name the extra when a module is missing.

    Raises:
        MissingExtraError: when a module is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f'A2A needs {error.name or error}, which is not installed. Run: pip install "tactician[a2a]"'
        ) from error
