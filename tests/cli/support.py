"""The command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
STAR_NEWS = str(ROOT / "examples" / "star_news.py")
COMMAND = [sys.executable, "-W", "error", "-c", "from tactician.cli import main; main()"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """That of the command: without any model configured, unless `more` says otherwise."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME") or name.startswith("COV")}
    return {**kept, "COLUMNS": "200", **more}


def tactician(*arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
    """Runs the command, without a terminal."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**(env or {})),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def written(folder: Path, source: str) -> str:
    """A file with agents."""
    file = folder / "agents_here.py"
    file.write_text(source, encoding="utf-8")
    return str(file)
