"""Patches in the unified format, as models write them: the numbers of lines may be wrong, the context may not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tactician.errors import ToolError

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@|@@.*")
_NO_FILE: Final = "/dev/null"
_NO_BREAK: Final = "\\ No newline at end of file"


@dataclass
class PatchHunk:
    """Passage of a file that a patch changes.

    Attributes:
        line: number of the line at which it should be; only a hint.
        old: the lines with their context before the change.
        new: the lines after it.
    """

    line: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class FilePatch:
    """Change of a file.

    Attributes:
        old_path: the path before; `None` for a new file.
        new_path: the path after; `None` for a file that is deleted.
        hunks: the changed passages, in order.
    """

    old_path: str | None
    new_path: str | None
    hunks: list[PatchHunk] = field(default_factory=list)


def parse_patch(patch: str) -> list[FilePatch]:
    """Return the changes of a patch.

    Raises:
        ToolError: when it is not in the unified format.
    """
    files: list[FilePatch] = []
    lines = iter(patch.replace("\r\n", "\n").split("\n"))
    hunk: PatchHunk | None = None
    for line in lines:
        if line.startswith("--- "):
            new = next(lines, "")
            if not new.startswith("+++ "):
                raise ToolError(f"The patch has no '+++' line after {line!r}.")
            files.append(FilePatch(_read_path(line[4:]), _read_path(new[4:])))
            hunk = None
        elif files and (match := _HUNK.match(line)):
            hunk = PatchHunk(int(match[1] or 0))
            files[-1].hunks.append(hunk)
        elif hunk is not None and line != _NO_BREAK:
            _add_line(hunk, line)
    if not files or not any(file.hunks or file.new_path is None for file in files):
        raise ToolError(
            "The patch has no changes in the unified format: '--- a/file', '+++ b/file', '@@ -1,3 +1,3 @@'."
        )
    for file in files:
        _trim_hunks(file)
    return files


def apply_hunks(text: str, patch: FilePatch) -> str:
    """Return a text with the hunks of a patch applied, each where its context is.

    Raises:
        ToolError: when the context of a hunk is not there, or is there several times and not at its line.
    """
    lines, offset, begin = text.split("\n"), 0, 0
    for number, hunk in enumerate(patch.hunks, 1):
        place = _find_hunk(lines, hunk, hunk.line - 1 + offset, begin)
        if place is None:
            context = "\n".join(hunk.old[:6])
            raise ToolError(
                f"Hunk {number} of {patch.new_path or patch.old_path} does not apply: its lines are not in one place "
                f"of the file. Read the file again. The hunk begins with:\n{context}"
            )
        lines[place : place + len(hunk.old)] = hunk.new
        begin = place + len(hunk.new)
        offset += len(hunk.new) - len(hunk.old)
    return "\n".join(lines)


def _read_path(text: str) -> str | None:
    path = text.split("\t")[0].strip()
    return None if path == _NO_FILE else path.removeprefix("a/").removeprefix("b/")


def _add_line(hunk: PatchHunk, line: str) -> None:
    mark, content = line[:1], line[1:]
    if mark in ("", " "):  # editors remove the space of an empty line
        hunk.old.append(content)
        hunk.new.append(content)
    elif mark == "-":
        hunk.old.append(content)
    elif mark == "+":
        hunk.new.append(content)


def _trim_hunks(file: FilePatch) -> None:
    """Remove the empty line that the line break at the end of a patch leaves in its last hunk."""
    for hunk in file.hunks[-1:]:
        if hunk.old and hunk.new and hunk.old[-1] == hunk.new[-1] == "":
            hunk.old.pop()
            hunk.new.pop()


def _find_hunk(lines: list[str], hunk: PatchHunk, expected: int, begin: int) -> int | None:
    """Return the index at which the lines of a hunk are: the expected one, or the only other one."""
    if not hunk.old:
        return min(max(expected + 1, begin), len(lines) - 1) if lines != [""] else 0
    places = list(_find_lines(lines, hunk.old, begin))
    if expected in places:
        return expected
    return places[0] if len(places) == 1 else None


def _find_lines(lines: list[str], sought: list[str], begin: int) -> Iterator[int]:
    length = len(sought)
    yield from (n for n in range(begin, len(lines) - length + 1) if lines[n : n + length] == sought)
