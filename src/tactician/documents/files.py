"""Text files: bounded, and without waiting for pipes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tactician.errors import DocumentError, Problem


class UnreadableFileError(DocumentError):
    """Error for a file that cannot be read. `reason` says why."""

    def __init__(self, file: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{file} is wrong", [Problem("", f"it cannot be read: {reason}")])


def read_text(file: Path, max_characters: int) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark.

    Raises:
        UnreadableFileError: when the file does not exist, when the path leads to a folder, a pipe or a device, or when
            the text is too long or not UTF-8.
    """
    try:
        with open(file, encoding="utf-8-sig", opener=_open_without_waiting) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise IsADirectoryError
            text = opened.read(max_characters + 1)
    except IsADirectoryError as error:
        raise UnreadableFileError(file, "it is not a file") from error
    except OSError as error:
        raise UnreadableFileError(file, error.strerror or str(error)) from error
    except UnicodeDecodeError:  # an exception that holds the text
        raise UnreadableFileError(file, "the file is not UTF-8") from None
    except ValueError as error:
        raise UnreadableFileError(file, str(error)) from error
    if len(text) > max_characters:
        raise UnreadableFileError(file, f"the file has more than {max_characters:,} characters")
    return text


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
