"""Text files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tactician.documents.files import UnreadableFileError, read_text
from tactician.errors import ConfigurationError

_LONGEST = 1_000_000


def find_text_file(folder: Path, name: str, endings: Sequence[str]) -> Path | None:
    """Return the file with a name and any of the endings inside a folder; never a file outside of it."""
    try:
        root = folder.resolve()
        files = ((root / f"{name}{ending}").resolve() for ending in endings)
        return next((file for file in files if file.is_relative_to(root) and file.is_file()), None)
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, links in a circle: no file has such a name
        return None


def read_text_file(file: Path, subject: str) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark.

    Args:
        file: the path of the file.
        subject: the name of the file in errors.

    Raises:
        ConfigurationError: when it cannot be read, or is longer than a million characters.
    """
    try:
        return read_text(file, _LONGEST)
    except UnreadableFileError as error:
        raise ConfigurationError(f"{subject} cannot be read: {error.reason}.") from error
