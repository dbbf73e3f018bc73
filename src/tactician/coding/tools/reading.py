"""Tools that read: files, names of files, and lines with a match."""

from __future__ import annotations

from typing import Final

from tactician.coding.files.listing import compile_pattern
from tactician.coding.files.text_file import count_lines, number_lines
from tactician.coding.search.grep import GrepRequest, GrepResult, search_files
from tactician.coding.session import MAX_EDIT, CodingSession
from tactician.errors import ToolError
from tactician.grammar import format_count
from tactician.runs import RunContext
from tactician.runs.context.threads import in_thread
from tactician.tools import tool

_MAX_LINES: Final = 1_000
_MAX_CHARACTERS: Final = 60_000
_MAX_PATHS: Final = 200
_MAX_GREP: Final = 500
_CHUNK: Final = 1_000_000


@tool(blocking=True)
def read_file(session: CodingSession, path: str, first_line: int = 1, lines: int = 250) -> str:
    """Read lines of a text file, with their numbers. Read a long file in parts, or find the lines with grep.

    Args:
        session: the session of the run
        path: path of the file, relative to the workspace
        first_line: number of the first line, from 1
        lines: number of lines, up to 1000
    """
    if first_line < 1 or lines < 1:
        raise ToolError("first_line and lines must be at least 1.")
    lines = min(lines, _MAX_LINES)
    _, size = session.read_bytes(path, 0, 1)
    if size > MAX_EDIT:
        return _read_long(session, path, size, first_line, lines)
    text = session.read(path).text
    total = count_lines(text)
    if not total:
        return f"{path} is empty."
    if first_line > total:
        raise ToolError(f"{path} has {format_count(total, 'line')}: choose a first_line up to {total}.")
    last = min(first_line + lines - 1, total)
    shown = number_lines(text, first_line, last)[:_MAX_CHARACTERS]
    return f"{path}, lines {first_line} to {last} of {total}{_advise(last, total)}\n{shown}"


def _advise(last: int, total: int) -> str:
    return f" (read on with first_line={last + 1})" if last < total else ""


def _read_long(session: CodingSession, path: str, size: int, first: int, lines: int) -> str:
    """Return lines of a file that is too long to be in memory as a whole."""
    number, offset, pieces = 1, 0, b""
    while offset < size and number + pieces.count(b"\n") < first + lines:
        chunk, _ = session.read_bytes(path, offset, _CHUNK)
        if b"\0" in chunk:
            raise ToolError(f"{path!r} is a binary file: it cannot be read or edited as text.")
        if not chunk:
            break
        offset += len(chunk)
        pieces += chunk
        passed = pieces.count(b"\n")
        if number + passed < first:  # of this piece, only the beginning of its last line can be needed
            number += passed
            pieces = pieces[pieces.rfind(b"\n") + 1 :][:_CHUNK]
    text = pieces.decode("utf-8", "replace")
    shown = number_lines("\n" * (number - 1) + text, first, first + lines - 1)[:_MAX_CHARACTERS]
    return f"{path} ({size:,} bytes), from line {first}; read on with first_line={first + lines}\n{shown}"


@tool(blocking=True)
def glob(session: CodingSession, pattern: str = "**/*", folder: str = ".") -> str:
    """List the files whose paths match a pattern. Files that git ignores are left out.

    Args:
        session: the session of the run
        pattern: such as "*.py" for all folders, "src/**/*.ts", or "*.{c,h}"
        folder: list only files below this folder
    """
    paths = select_paths(session, pattern, folder)
    if not paths:
        return f"No file matches {pattern!r}. List the files with glob, or search their text with grep."
    more = f"\n[... {len(paths) - _MAX_PATHS} more: narrow the pattern]" if len(paths) > _MAX_PATHS else ""
    return "\n".join(map(_quote, paths[:_MAX_PATHS])) + more


def select_paths(session: CodingSession, pattern: str, folder: str) -> list[str]:
    """Return the files below a folder, or the file itself, that match a pattern.

    Raises:
        ToolError: when the pattern is not valid, or there is no such folder.
    """
    matches = compile_pattern(pattern).fullmatch
    place = "/".join(part for part in folder.split("/") if part not in ("", "."))
    if ".." in place.split("/") or folder.startswith("/"):
        raise ToolError(f"{folder!r} is not a folder inside the workspace: make it relative, without '..'.")
    everything = session.list_files()
    if place:
        everything = [path for path in everything if path == place or path.startswith(f"{place}/")]
        if not everything:
            raise ToolError(f"There is no file below {folder!r} in the workspace.")
    return [path for path in everything if matches(path)]


def _quote(path: str) -> str:
    return path if path.isprintable() else repr(path)


@tool
async def grep(
    session: CodingSession,
    context: RunContext,
    pattern: str,
    folder: str = ".",
    files: str = "**/*",
    ignore_case: bool = False,
    max_lines: int = 100,
) -> str:
    """Search the lines of files by a regular expression. Files that git ignores are left out.

    Args:
        session: the session of the run
        context: the context of the run
        pattern: the regular expression; escape special characters of a text
        folder: search only below this folder, or only in this file
        files: search only files whose paths match this pattern, such as "*.py"
        ignore_case: ignore the case of letters
        max_lines: number of lines to show, up to 500
    """
    paths = await in_thread(select_paths, session, files, folder)
    request = GrepRequest(pattern=pattern, ignore_case=ignore_case, max_lines=max(1, min(max_lines, _MAX_GREP)))
    result = await search_files(request, session.root, paths, context.clock)
    if not result.lines:
        return f"No line in {format_count(len(paths), 'file')} matches {pattern!r}."
    return _show_lines(result)


def _show_lines(result: GrepResult) -> str:
    counts = f"{format_count(result.total, 'line')} in {format_count(result.files, 'file')}"
    shown: list[str] = [counts]
    path = None
    for line in result.lines:
        if line.path != path:
            path = line.path
            shown.append(_quote(path))
        shown.append(f"{line.number:>6}\t{line.text}")
    if result.total > len(result.lines):
        shown.append(f"[... {result.total - len(result.lines)} more: narrow the pattern, the folder or the files]")
    return "\n".join(shown)
