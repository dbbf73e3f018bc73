"""Workers in processes of their own, and what they are seen to do."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Trace(NamedTuple):
    """One line of the log: an action has begun, in a worker."""

    key: str
    worker: int

    @property
    def process(self) -> str:
        return self.key.partition("/")[0]


class Traces:
    """The log that all workers write."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._path = path
        self._seen = 0

    def all(self) -> list[Trace]:
        return _traces(self._path.read_text())

    def skip(self) -> None:
        """What has been written so far is not looked at."""
        self._seen = self._path.read_bytes().rfind(b"\n") + 1

    async def next(self) -> list[Trace]:
        """What has been written since the last call, as soon as there is something."""
        while not (lines := self._more()):  # noqa: ASYNC110 - by other processes
            await asyncio.sleep(0.002)
        return _traces(lines)

    def _more(self) -> str:
        """The lines that have been written since the last call, without one that is being written."""
        with self._path.open("rb") as file:
            file.seek(self._seen)
            lines, end, _ = file.read().rpartition(b"\n")
        self._seen += len(lines) + len(end)
        return lines.decode()

    async def worker_after(self, actions: int) -> Trace:
        """The last trace of the worker that is the first to have begun so many actions from now on."""
        begun: Counter[int] = Counter()
        while True:
            for trace in await self.next():
                begun[trace.worker] += 1
                if begun[trace.worker] >= actions:
                    return trace

    async def other_worker(self, known: Trace) -> None:
        """Returns when another worker goes on with the process."""
        while not any(new.process == known.process and new.worker != known.worker for new in await self.next()):
            pass


def _traces(lines: str) -> list[Trace]:
    return [Trace(key, int(worker)) for key, worker in map(str.split, lines.splitlines())]


class Fleet:
    """Workers for one store. What they say is in a file."""

    def __init__(self, url: str, log: Path) -> None:
        self._command = [sys.executable, "-m", "tests.crash.long_process", url, str(log)]
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._said = log.with_suffix(".said")

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in list(self._workers):
            self.kill(worker)

    @property
    def said(self) -> str:
        return self._said.read_text()

    def start(self, count: int = 1) -> None:
        for _ in range(count):
            with self._said.open("ab") as output:
                worker = subprocess.Popen(self._command, cwd=ROOT, stdout=output, stderr=output)
            self._workers[worker.pid] = worker

    def kill(self, worker: int) -> None:
        killed = self._workers.pop(worker)
        killed.kill()
        killed.wait()

    def freeze(self, worker: int) -> None:
        self._workers[worker].send_signal(signal.SIGSTOP)

    def thaw(self, worker: int) -> None:
        self._workers[worker].send_signal(signal.SIGCONT)
