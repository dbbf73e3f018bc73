"""Watch over a program and its descendants, which kills them when they use too much.

The system bounds the memory of a process, but not of a family, and does not bound the number of processes of root. So a
thread looks at the family every few milliseconds. It is a thread, since the event loop may be busy meanwhile.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final

from tactician.tools.builtin.program_limits import ProgramLimits

_SECONDS: Final = 0.05
_PROCESSES: Final = Path("/proc")
_BLOCK: Final = 512
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class ProcessWatch:
    """Watch over a process and all its descendants.

    Args:
        pid: the process, which leads a process group.
        limits: how much they may use.

    Attributes:
        problem: the limit that they exceeded; `None` while they have not.
    """

    def __init__(self, pid: int, limits: ProgramLimits) -> None:
        self.problem: str | None = None
        self._pid = pid
        self._limits = limits
        self._ended = Event()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch while a `with` block runs, if there is a limit, and the system tells of processes."""
        limits = self._limits
        if (limits.memory is None and limits.processes is None) or not _PROCESSES.is_dir():
            yield
            return
        thread = Thread(target=self._run, name="watch over a program", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(_SECONDS):
            self.problem = self._find_problem()
            if self.problem is not None:
                self._kill()
                return

    def _find_problem(self) -> str | None:
        processes, memory = self._limits.processes, self._limits.memory
        family = list_family(self._pid, most=None if processes is None else processes + 1)
        if processes is not None and len(family) > processes:
            return f"it had more than {processes:,} processes"
        # Processes share pages, which only the slow measure divides among them.
        if memory is not None:
            files = _add_memory_files(family)
            if files + _add(family, _read_resident) > memory and files + _add(family, _read_proportional) > memory:
                return f"it used more than {memory:,} bytes of memory"
        return None

    def _kill(self) -> None:
        """Kill the group, and descendants that have left it, until none is left: they may have started others."""
        for _ in range(100):
            family = list_family(self._pid)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
            for pid in family[1:]:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if len(family) <= 1 or self._ended.is_set():
                return


def list_family(pid: int, most: int | None = None) -> list[int]:
    """Return the ids of a process and of its descendants, oldest generation first.

    Args:
        pid: the process.
        most: how many to list at most; all, when `None`.
    """
    family = [pid]
    for member in family:
        if most is not None and len(family) >= most:
            break
        family += _read_children(member)
    return family


def _read_children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                children += map(int, (task / "children").read_bytes().split())
    return children


def _add(family: list[int], read: Callable[[int], int]) -> int:
    return sum(map(read, family))


def _add_memory_files(family: list[int]) -> int:
    """Return the bytes of the files in memory that processes have open, which belong to no process (`memfd_create`)."""
    sizes: dict[int, int] = {}
    for pid in family:
        with suppress(OSError):
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if os.fspath(file.readlink()).startswith("/memfd:"):
                        status = file.stat()
                        sizes[status.st_ino] = status.st_blocks * _BLOCK
    return sum(sizes.values())


def _read_resident(pid: int) -> int:
    """Return the bytes that a process has in memory, with what it shares."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE
    return 0


def _read_proportional(pid: int) -> int:
    """Return the bytes that a process has in memory, with its share of what it shares."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return _read_resident(pid)
