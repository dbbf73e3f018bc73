"""Texts in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tactician.documents import UnreadableFileError, read_text
from tactician.errors import ConfigurationError

_LONGEST = 1_000_000


def find_file(folder: Path, name: str, endings: Sequence[str]) -> Path | None:
    """The file of that name, with one of the endings, in a folder or below it; never one outside of it."""
    try:
        root = folder.resolve()
        files = ((root / f"{name}{ending}").resolve() for ending in endings)
        return next((file for file in files if file.is_relative_to(root) and file.is_file()), None)
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, links in a circle: no file has such a name
        return None


def read_text_file(file: Path, subject: str) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Args:
        file: where it is.
        subject: what errors call it.

    Raises:
        ConfigurationError: when it cannot be read, or is longer than a million characters.
    """
    try:
        return read_text(file, _LONGEST)
    except UnreadableFileError as error:
        raise ConfigurationError(f"{subject} cannot be read: {error.reason}.") from error
