"""Search by regular expressions: by ripgrep where it is installed, with the same results without it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tactician.clock import Clock
from tactician.coding.search import scanning
from tactician.errors import ToolError
from tactician.frozen import frozen
from tactician.tools.builtin.process_group import Program, run_process_group
from tactician.tools.builtin.program_limits import ProgramLimits, build_program_environment

_LIMITS: Final = ProgramLimits(timeout=30.0, output=4_000_000)
_MAX_PATTERN: Final = 1_000
_BATCH: Final = 100_000
"""Characters of paths in one command."""
_DIFFERENT: Final = re.compile(r"\(\?(?![:i)]|is?\))|\\[1-9AZGKQEXRhHvVNpPuUxc]|\\b\{|[*+?}]\+|\[\[|&&|--|~~|\[\^?\]")
"""What ripgrep reads otherwise than Python, or not at all."""


@frozen(kw_only=True)
class GrepRequest:
    """Search for a pattern.

    Attributes:
        pattern: the regular expression, as Python reads it. It is compared with each line by itself.
        ignore_case: true to ignore the case of letters.
        max_lines: number of lines that are returned.
        max_columns: characters of a line that are returned.
    """

    pattern: str
    ignore_case: bool = False
    max_lines: int = 100
    max_columns: int = 300


@frozen
class GrepLine:
    """Line with a match: its file, its number from 1, and its text."""

    path: str
    number: int
    text: str


@frozen
class GrepResult:
    """Lines that a search found.

    Attributes:
        lines: the lines, in the order of the files.
        total: number of all lines with a match.
        files: number of the files with a match.
    """

    lines: tuple[GrepLine, ...]
    total: int
    files: int


async def search_files(
    request: GrepRequest, root: Path, paths: Sequence[str], clock: Clock, *, ripgrep: str | None = None
) -> GrepResult:
    """Search files. The search is a program of its own, which is killed when it takes too long.

    Args:
        request: the search.
        root: the folder.
        paths: the files, relative to the folder.
        clock: the time.
        ripgrep: the program `rg`; where it is on this machine, by default, and an empty text for a search without it.

    Raises:
        ToolError: when the pattern is not valid, or the search takes too long.
    """
    if not request.pattern or len(request.pattern) > _MAX_PATTERN or "\n" in request.pattern:
        raise ToolError("The pattern is empty, too long, or has a line break in it: a match is within a line.")
    try:
        re.compile(request.pattern)
    except re.error as error:
        raise ToolError(
            f"The pattern is not a valid regular expression: {error}. Escape special characters."
        ) from error
    program = shutil.which("rg") if ripgrep is None else ripgrep
    by_ripgrep = bool(program) and not _DIFFERENT.search(request.pattern)
    hits: list[GrepLine] = []
    for batch in _split(paths):
        if by_ripgrep:
            hits += await _run_ripgrep(str(program), request, root, batch, clock)
        else:
            hits += await _run_python(request, root, batch, clock)
    return GrepResult(tuple(hits[: request.max_lines]), len(hits), len({line.path for line in hits}))


def _split(paths: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        size += len(path) + 3
        if size > _BATCH:
            yield batch
            batch, size = [], len(path)
        batch.append(path)
    if batch:
        yield batch


async def _run_ripgrep(
    program: str, request: GrepRequest, root: Path, paths: list[str], clock: Clock
) -> list[GrepLine]:
    options = ["--json", "--no-config", "--no-ignore", "--hidden", "--crlf", "--sort=path", "--no-messages"]
    options += ["--max-filesize", str(scanning.MAX_FILE), *(["--ignore-case"] if request.ignore_case else [])]
    arguments = (program, *options, "-e", request.pattern, "--", *(f"./{path}" for path in paths))
    done = await run_process_group(Program(arguments, root, build_program_environment(), b"", "rg"), _LIMITS, clock)
    lines: list[GrepLine] = []
    for event in map(json.loads, filter(lambda line: line.startswith('{"type":"match"'), done.output.split("\n"))):
        data = event["data"]
        if "text" in data["path"] and "text" in data["lines"]:
            text = data["lines"]["text"].rstrip("\r\n")[: request.max_columns]
            lines.append(GrepLine(data["path"]["text"].removeprefix("./"), data["line_number"], text))
    return sorted(lines, key=lambda line: (line.path, line.number))


async def _run_python(request: GrepRequest, root: Path, paths: list[str], clock: Clock) -> list[GrepLine]:
    task = {"pattern": request.pattern, "ignore_case": request.ignore_case, "columns": request.max_columns}
    arguments = (sys.executable, "-I", "-S", scanning.__file__)
    request_data = json.dumps({**task, "paths": paths}).encode()
    program = Program(arguments, root, build_program_environment(PYTHONIOENCODING="utf-8"), request_data, "search")
    done = await run_process_group(program, _LIMITS, clock)
    if done.exit_code:
        raise ToolError(f"The search failed: {done.errors.strip()[-500:]}")
    return [GrepLine(*line) for line in map(json.loads, done.output.splitlines()) if len(line) == 3]
