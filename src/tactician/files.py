"""Text files, read without waiting for what is no file, and no further than wanted."""

from __future__ import annotations

import errno
from pathlib import Path


def beginning_of(file: Path, longest: int) -> str:
    """The text of a file in UTF-8, with or without a byte order mark; one character more than `longest` at most.

    Raises:
        OSError: when it cannot be read, or is not a file: whoever opens a pipe waits.
        UnicodeDecodeError: when it is not UTF-8.
        ValueError: when there can be no file of that name.
    """
    if file.exists() and not file.is_file():
        raise OSError(errno.EINVAL, "it is not a file")
    with file.open(encoding="utf-8-sig") as opened:
        return opened.read(longest + 1)
