"""Sandbox for scripts: bubblewrap, where it works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tactician.frozen import frozen
from tactician.tools.builtin.program_limits import ProgramLimits

_TRIAL_SECONDS: Final = 10
_ROOTS: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_NETWORK_FILES: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl", "/etc/ca-certificates", "/etc/nsswitch.conf")
SKILL_FOLDER: Final = "/skill"
WORK_FOLDER: Final = "/work"


@frozen
class ScriptLimits(ProgramLimits):
    """Limits of scripts: the limits of programs, and of a sandbox.

    Attributes:
        network: true to let scripts in the sandbox use the network.
        files: bytes of all files together that it keeps in the sandbox, which are in memory: half of them in `/work`,
            a quarter each in `/tmp` and `/dev/shm`.
    """

    memory: int = 1_000_000_000
    processes: int = 256
    file_size: int = 100_000_000
    network: bool = False
    files: int = 200_000_000


@cache
def is_sandbox_available() -> bool:
    """Return whether bubblewrap works here, by a trial. Containers often forbid what it needs."""
    if shutil.which("bwrap") is None or shutil.which("prlimit") is None:
        return False
    trial = build_sandboxed_command(("true",), Path("/usr"), None, ScriptLimits())
    try:
        done = subprocess.run(
            trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS, env={}, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def build_sandboxed_command(
    arguments: Sequence[str], skill: Path, work: Path | None, limits: ScriptLimits
) -> tuple[str, ...]:
    """Return the command that runs a program in a sandbox.

    The program sees the programs of the system and the folder of the skill, both read-only, and an empty folder in
    which it may write.

    Args:
        arguments: the program and its arguments, as it is called inside.
        skill: the folder of the skill.
        work: the folder in which it may write; a temporary folder, when `None`.
        limits: its limits.
    """
    bwrap = shutil.which("bwrap") or "bwrap"
    network = ("--share-net", *bind_read_only(_NETWORK_FILES)) if limits.network else ()
    writable = _mount(limits.files // 2, WORK_FOLDER) if work is None else ("--bind", str(work), WORK_FOLDER)
    return (
        *(bwrap, "--unshare-all", *network, "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--hostname", "sandbox", "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"),
        *("--setenv", "HOME", WORK_FOLDER, "--setenv", "LANG", "C.UTF-8"),
        *(
            "--ro-bind",
            "/usr",
            "/usr",
            *list_roots(),
            *bind_read_only(("/etc/alternatives",)),
            *bind_read_only(_list_python()),
        ),
        *("--proc", "/proc", "--dev", "/dev", *_mount(limits.files // 4, "/dev/shm"), "--remount-ro", "/dev"),
        *(*_mount(limits.files // 4, "/tmp"), *writable, "--ro-bind", str(skill), SKILL_FOLDER),
        *("--remount-ro", "/", "--chdir", WORK_FOLDER, "--"),  # the root is in memory, too
        *("prlimit", f"--nproc={limits.processes}", "--", *arguments),  # which does not hold for root
    )


def _mount(size: int, folder: str) -> tuple[str, ...]:
    """Return the options for a folder in memory."""
    return ("--size", str(size), "--tmpfs", folder)


def find_python() -> str:
    """Return the path of the Python that runs this program, without its virtual environment."""
    return os.path.realpath(sys.executable)


def _list_python() -> tuple[str, ...]:
    """Return the folder of Python, if it is not a part of the system."""
    folder = os.path.realpath(sys.base_prefix)
    return () if folder == "/usr" or folder.startswith("/usr/") else (folder,)


def list_roots() -> Iterator[str]:
    """Yield the options for the folders that are links into `/usr` on most systems."""
    for root in map(Path, _ROOTS):
        if root.is_symlink():
            yield from ("--symlink", str(root.readlink()), str(root))
        elif root.is_dir():
            yield from ("--ro-bind", str(root), str(root))


def bind_read_only(paths: Sequence[str]) -> Iterator[str]:
    """Yield the options for paths that are shown where they are, as far as they are there."""
    for path in paths:
        yield from ("--ro-bind-try", path, path)
