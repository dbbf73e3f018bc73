"""The SDK of MCP, which the extra `mcp` installs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tactician.errors import MissingExtraError


@contextmanager
def require_sdk() -> Iterator[None]:
    """Name the extra when the SDK is missing.

    Raises:
        MissingExtraError: when a module is not installed.
    """
    try:
        yield
    except ImportError as error:
        missing = error.name or error
        raise MissingExtraError(
            f'MCP servers need {missing}, which is not installed. Run: pip install "tactician[mcp]"'
        ) from error
