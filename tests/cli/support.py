"""The command line in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.support.forking import ROOT, Done, ForkingProgram
from tests.support.forking import bare_environment as environment

STAR_NEWS = str(ROOT / "examples" / "star_news.py")
COMMAND = [sys.executable, "-W", "error", "-c", "from tactician.cli import main; main()"]

__all__ = ["COMMAND", "ROOT", "STAR_NEWS", "Done", "environment", "tactician", "written"]


@cache
def program() -> ForkingProgram:
    """Start the program, which ends with this one."""
    return ForkingProgram("tests.cli.program:serve")


def tactician(*arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, input: str = "") -> Done:
    """Runs the command, without a terminal."""
    return program().run(arguments, environment(**(env or {})), cwd or Path.cwd(), input)


def written(folder: Path, source: str) -> str:
    """A file with agents."""
    file = folder / "agents_here.py"
    file.write_text(source, encoding="utf-8")
    return str(file)
