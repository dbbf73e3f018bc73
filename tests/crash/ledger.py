"""Ledger outside of the store: the side effects that began and ended, in which order, and in which worker."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextvars import ContextVar
from pathlib import Path
from time import monotonic
from typing import NamedTuple

_MOMENT = 0.002
_FOR_EVER = 3600.0


_checked_at: ContextVar[str] = ContextVar("when this task made sure that its run is its own", default="")


def note_check() -> None:
    """Note that this task has made sure that its run is its own, right before it begins a step."""
    _checked_at.set(str(monotonic()))


class Entry(NamedTuple):
    """Line of the ledger.

    Attributes:
        event: `"begin"` or `"end"`.
        run: label of the run.
        step: name of the side effect, which a run has once.
        key: its idempotency key, if it has one.
        worker: name of the worker.
        checked_at: monotonic time, of the machine, at which the worker last made sure that the run is its own; empty
            when it has not since it began another side effect.
    """

    event: str
    run: str
    step: str
    key: str
    worker: str
    checked_at: str = ""


class Ledger:
    """File that all workers append to. A line is there even if its worker dies right after.

    Args:
        path: the file.
        worker: name of the worker that writes.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, worker: str = "") -> None:
        path.touch()
        self.path = path
        self._holds = path.with_suffix(".holds")
        self._worker = worker

    async def record(self, run: str, step: str, key: str = "") -> None:
        """Have a side effect, which takes a moment; for ever, the first time, when it is to be held."""
        moment = _FOR_EVER if self._is_held(run, step) else _MOMENT
        self._write(Entry("begin", run, step, key, self._worker, _checked_at.get()))
        _checked_at.set("")
        await asyncio.sleep(moment)
        self._write(Entry("end", run, step, key, self._worker))

    def hold(self, run: str, step: str) -> None:
        """Let a side effect never end the first time that it begins."""
        with self._holds.open("a") as file:
            file.write(f"{run}\t{step}\n")

    def read(self) -> list[Entry]:
        """Return all lines."""
        return _parse(self.path.read_text().rpartition("\n")[0])  # the last line may be in the middle of being written

    def follow(self) -> LedgerReader:
        """Return a reader of what is written from now on."""
        return LedgerReader(self.path)

    def _is_held(self, run: str, step: str) -> bool:
        if not self._holds.exists() or f"{run}\t{step}" not in self._holds.read_text().splitlines():
            return False
        return not any(entry.run == run and entry.step == step for entry in self.read())

    def _write(self, entry: Entry) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, "\t".join(entry).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class LedgerReader:
    """Reader of the lines that are written from its creation on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = path.stat().st_size

    async def next(self) -> list[Entry]:
        """Return the lines since the last call, as soon as there are some."""
        while not (entries := _parse(self._read_lines())):  # noqa: ASYNC110 - by other processes
            await asyncio.sleep(0.002)
        return entries

    async def wait_for_effects(self, count: int) -> Entry:
        """Return the last entry of the worker that is the first to have begun so many side effects from now on."""
        begun: Counter[str] = Counter()
        while True:
            for entry in await self.next():
                begun[entry.worker] += entry.event == "begin"
                if begun[entry.worker] >= count:
                    return entry

    async def wait_for_other(self, known: Entry) -> None:
        """Return when another worker goes on with the run of an entry."""
        while not any(new.run == known.run and new.worker != known.worker for new in await self.next()):
            pass

    def _read_lines(self) -> str:
        """Return the whole lines since the last call."""
        with self._path.open("rb") as file:
            file.seek(self._seen)
            lines, end, _ = file.read().rpartition(b"\n")
        self._seen += len(lines) + len(end)
        return lines.decode()


def _parse(lines: str) -> list[Entry]:
    return [Entry(*line.split("\t")) for line in lines.splitlines()]
