"""Programs that have loaded what a test needs, and fork a process for each thing to carry out.

A process takes a tenth of the time then, as nearly all of it is loading. All else is as in a program of its own.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from tests.support.modules import list_module_names

ROOT = Path(__file__).parent.parent.parent
NOT_LOADED = ("tactician.testing.plugin", "tactician.__main__")
LOADED_TOO = ("aiohttp", "genai_prices", "sqlalchemy.ext.asyncio", "typer.rich_utils", "rich.live", "rich.progress")
LONGEST = 120
"""Seconds after which a process is killed."""


@dataclass(frozen=True)
class Done:
    """Exit code of a process, and what it wrote."""

    code: int
    out: str
    err: str


class ForkingProgram:
    """Program that carries things out in forks of itself, one after the other.

    Args:
        function: import path of a function, such as `tests.cli.program:serve`, that calls `serve`.
    """

    def __init__(self, function: str) -> None:
        module, name = function.split(":")
        code = f"from tests.support import forking; forking.prepare(); from {module} import {name}; {name}()"
        command = [sys.executable, "-W", "error", "-c", code]
        self._one_at_a_time = Lock()
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=bare_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self.close)

    def run(self, arguments: tuple[str, ...], env: Mapping[str, str], cwd: Path, input: str = "") -> Done:
        """Carry something out, with a text on its stdin."""
        with TemporaryDirectory(prefix="tactician-fork-") as folder:
            typed, out, err = Path(folder, "in"), Path(folder, "out"), Path(folder, "err")
            for file in (out, err):
                file.touch()
            typed.write_text(input, "utf-8")
            request = {"arguments": arguments, "environment": env, "folder": str(cwd)}
            request |= {"in": str(typed), "out": str(out), "err": str(err)}
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
        assert answer, "the program that carries things out has ended"
        return int(answer)


def bare_environment(**more: str) -> dict[str, str]:
    """Return the environment of this process without any model configured, unless `more` configures one."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "PYTHONPATH") or name.startswith("COV")
    }
    return {**kept, "COLUMNS": "200", **more}


def load_tactician() -> None:
    """Load all modules, and the libraries that many of them load late, so that no fork has to."""
    for name in (*list_module_names(), *LOADED_TOO):
        if name not in NOT_LOADED:
            import_module(name)


class _Ending:
    """End of a process that was forked, as that of any program, but without taking apart all that was loaded before.

    That takes three times as long as most commands.
    """

    def __init__(self) -> None:
        self._code: int | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note the exit code of what is carried out, unless that is interrupted."""
        try:
            yield
            self._code = 0
        except SystemExit as end:
            self._code = end.code if isinstance(end.code, int) else int(end.code is not None)
            raise
        except Exception:
            self._code = 1
            raise

    def finish(self) -> None:
        """End the process once its threads have ended and all else is done that programs do at their end."""
        if self._code is not None:
            vars(sys.modules["__main__"]).clear()
            gc.collect()  # so that all is told that was left open
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self._code)


_ending = _Ending()


def prepare() -> None:
    """Make ready what has to come before anything else is loaded: what is registered first is done last."""
    atexit.register(_ending.finish)


def serve(carry_out: Callable[[list[str]], None]) -> None:
    """Carry out each line of stdin, a JSON object, in a fork, and answer it with the exit code."""
    gc.freeze()  # a process that ends need not look through all that was loaded before
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            request = json.loads(line)
            _become(request["environment"], request["folder"], request["in"], request["out"], request["err"])
            with _ending.watching():
                carry_out(request["arguments"])
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(environment: dict[str, str], folder: str, typed: str, out: str, err: str) -> None:
    """Make this process one with that environment, without a terminal.

    Args:
        environment: environment variables that it has, and no others.
        folder: working directory.
        typed: file that it reads as stdin.
        out: file for what it writes to stdout.
        err: file for what it writes to stderr.
    """
    signal.alarm(LONGEST)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path, flags in ((0, typed, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        descriptor = os.open(path, flags)
        os.dup2(descriptor, number)
        os.close(descriptor)
