"""History of the shell: a file with the lines that were typed, and their repetition with `!!`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from tactician.cli.shell.parsing import ShellInputError

_MOST_LINES: Final = 1000
_LONGEST_LINE: Final = 10_000
_REPEAT: Final = "!!"


class ShellHistory:
    """Lines that were typed, in this program and before.

    A line that begins with a space is not kept. Only the owner may read the file.

    Args:
        path: the file; `None` to keep nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        written = [] if path is None else _read(path)
        self.lines = [_decode(line) for line in written[-_MOST_LINES:] if line]
        if len(written) > 2 * _MOST_LINES:
            self._write(self.lines, os.O_TRUNC)

    def add(self, line: str) -> None:
        """Keep a line, unless it is a repetition of the last."""
        if line.startswith(" ") or not line.strip() or self.lines[-1:] == [line] or len(line) > _LONGEST_LINE:
            return
        self.lines.append(line)
        self._write([line], os.O_APPEND)

    def expand(self, line: str) -> str:
        """Return a line with the last line for a leading `!!`; what is behind it is added.

        Raises:
            ShellInputError: when there is no last line.
        """
        if not line.strip().startswith(_REPEAT):
            return line
        if not self.lines:
            raise ShellInputError("!!: nothing was typed before.")
        return f"{self.lines[-1]}{line.strip().removeprefix(_REPEAT)}"

    def _write(self, lines: list[str], mode: int) -> None:
        if self._path is None:
            return
        with suppress(OSError):  # a history that cannot be written is no reason to refuse the command
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | mode, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write("".join(f"{_encode(line)}\n" for line in lines))


def find_history(environment: Mapping[str, str]) -> Path:
    """Return the file of the history, where programs of the user keep their state."""
    state = environment.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "tactician" / "shell_history"


def _read(path: Path) -> list[str]:
    """Return the lines of a file; none when there is no such file, or it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _encode(line: str) -> str:
    return json.dumps(line, ensure_ascii=True) if not line.isprintable() or line.startswith('"') else line


def _decode(line: str) -> str:
    if not line.startswith('"'):
        return line
    with suppress(ValueError):
        return str(json.loads(line))
    return line
