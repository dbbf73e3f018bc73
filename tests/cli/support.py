"""The command line in a process of its own."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

ROOT = Path(__file__).parent.parent.parent
STAR_NEWS = str(ROOT / "examples" / "star_news.py")
COMMAND = [sys.executable, "-W", "error", "-c", "from tactician.cli import main; main()"]
PROGRAM = [sys.executable, "-W", "error", "-c", "from tests.cli.program import serve; serve()"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class Program:
    """Program that carries commands out, one after the other."""

    def __init__(self) -> None:
        self._one_at_a_time = Lock()
        self._process = subprocess.Popen(
            PROGRAM, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> Done:
        """Carry a command out."""
        with TemporaryDirectory(prefix="tactician-command-") as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            for file in (out, err):
                file.touch()
            request = {"arguments": arguments, "environment": env, "folder": str(cwd), "out": str(out), "err": str(err)}
            return Done(self._ask(json.dumps(request)), out.read_text("utf-8"), err.read_text("utf-8"))

    def close(self) -> None:
        """End the program."""
        self._process.communicate()

    def _ask(self, request: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            self._process.stdin.write(f"{request}\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        assert answer, "the program that carries commands out has ended"
        return int(answer)


@cache
def program() -> Program:
    """Start the program, and end it with this one."""
    started = Program()
    atexit.register(started.close)
    return started


def environment(**more: str) -> dict[str, str]:
    """That of the command: without any model configured, unless `more` says otherwise."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "PYTHONPATH") or name.startswith("COV")
    }
    return {**kept, "COLUMNS": "200", **more}


def tactician(*arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
    """Runs the command, without a terminal."""
    return program().run(arguments, environment(**(env or {})), cwd or Path.cwd())


def written(folder: Path, source: str) -> str:
    """A file with agents."""
    file = folder / "agents_here.py"
    file.write_text(source, encoding="utf-8")
    return str(file)
