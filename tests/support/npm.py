"""Programs from the npm registry, installed once into `build/npm`, where Node.js is there."""

from __future__ import annotations

import os
import shutil
import subprocess
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final

import pytest

SERVERS: Final = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
)
_FOLDER = Path(__file__).parents[2] / "build" / "npm"


def find_npm_program(name: str, packages: tuple[str, ...] = SERVERS) -> Path:
    """Return the path of a program of npm packages. Without Node.js its test is skipped, but in CI it fails.

    Args:
        name: the program.
        packages: the packages to install together, with their versions.
    """
    folder = _FOLDER / packages[0].partition("/")[2]
    program = folder / "node_modules" / ".bin" / name
    if not program.exists() and shutil.which("npm") is None:
        reason = f"{name} needs npm, which is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)  # another process of the tests may be installing it
        if not program.exists():
            command = ("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *packages)
            subprocess.run(command, check=True, timeout=300)
    return program
