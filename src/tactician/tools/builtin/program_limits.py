"""Limits of programs: what they inherit, and how much memory and how many processes they may have."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Final

from tactician.environment import read_environment
from tactician.frozen import frozen

_INHERITED: Final = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM")


@frozen
class ProgramLimits:
    """Limits of a program and of all that it starts.

    Attributes:
        timeout: seconds that it may run.
        output: bytes of each output that are kept.
        memory: bytes of memory: of address space in each of its processes, and of memory in use by all together.
        processes: number of processes at the same time.
        file_size: bytes of a file that it writes.
    """

    timeout: float = 60.0
    output: int = 50_000
    memory: int | None = None
    processes: int | None = None
    file_size: int | None = None


def build_program_environment(**replaced: str) -> dict[str, str]:
    """Return the environment variables of a program: those for paths, language and time zone, and so no keys.

    Args:
        **replaced: variables with other values.
    """
    ours = read_environment()
    return {name: ours[name] for name in _INHERITED if name in ours} | replaced


def limit_command(arguments: Sequence[str], limits: ProgramLimits) -> tuple[str, ...]:
    """Return the command that runs a program with limits of memory, processor time and files, where prlimit is."""
    options = list(_list_options(limits))
    prlimit = shutil.which("prlimit") if options else None
    if prlimit is None:
        return tuple(arguments)
    seconds = max(1, int(limits.timeout) + 1)
    return (prlimit, *options, f"--cpu={seconds}", "--core=0", "--", *arguments)


def _list_options(limits: ProgramLimits) -> list[str]:
    # The system counts the processes of a user, not of a program: a limit of them would hold up others.
    pairs = {"as": limits.memory, "fsize": limits.file_size}
    return [f"--{name}={limit}" for name, limit in pairs.items() if limit is not None]
