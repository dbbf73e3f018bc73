"""Programs that fork processes by name, which tests kill and freeze: a fork starts much faster than a program.

Such a program takes commands, one on each line, such as `start w1 sqlite:///runs.db`, `freeze w1` or `kill w1`, and
answers each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Nursery:
    """Program that starts, freezes and kills processes.

    Args:
        module: import path of the program, which calls `serve_nursery`.
    """

    def __init__(self, module: str) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-m", module], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._names = (f"w{number}" for number in count(1))

    def start(self, *arguments: str) -> str:
        """Start a process, and return its name."""
        name = next(self._names)
        self.command("start", name, *arguments)
        return name

    def command(self, *words: str) -> None:
        """Let the program do something, and wait until it has."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(" ".join(words).encode() + b"\n")
        self._program.stdin.flush()
        assert self._program.stdout.readline() == b"done\n", "the program of the workers has ended"

    def close(self) -> None:
        """End the program, and all its processes."""
        self._program.communicate()


def serve_nursery(run: Callable[..., object]) -> None:
    """Obey the commands on stdin until there are no more.

    Args:
        run: called in a new process with its name and its arguments; the process ends when it returns.
    """
    processes: dict[str, int] = {}
    try:
        for line in sys.stdin:
            _obey(processes, run, *line.split())
            print("done", flush=True)
    finally:
        for name in list(processes):
            _obey(processes, run, "kill", name)


def _obey(processes: dict[str, int], run: Callable[..., object], command: str, name: str, *arguments: str) -> None:
    """Do what a command says; a process is as it should be then."""
    match command:
        case "start":
            processes[name] = os.fork() or _be_process(run, name, *arguments)
        case "kill":
            _send(processes.pop(name), signal.SIGKILL)
        case "freeze":
            _send(processes[name], signal.SIGSTOP)
        case "thaw":
            os.kill(processes[name], signal.SIGCONT)


def _send(process: int, number: signal.Signals) -> None:
    os.kill(process, number)
    os.waitpid(process, os.WUNTRACED)


def _be_process(run: Callable[..., object], name: str, *arguments: str) -> int:
    try:
        run(name, *arguments)
    finally:
        os._exit(1)
