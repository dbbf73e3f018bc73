"""Programs from the npm registry, installed once into `build/npm`, where Node.js is there."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final, NoReturn

import pytest

SERVERS: Final = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
)
CONFORMANCE: Final = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@24")
_FOLDER = Path(__file__).parents[2] / "build" / "npm"


def find_npm_program(name: str, packages: tuple[str, ...] = SERVERS) -> Path:
    """Return the path of a program of npm packages. Without Node.js its test is skipped, but in CI it fails.

    Args:
        name: the program.
        packages: the packages to install together, with their versions.
    """
    folder = _FOLDER / packages[0].partition("/")[2]
    program = folder / "node_modules" / ".bin" / name
    _install(program, folder, packages, name)
    return program


def install_locked(source: Path) -> Path:
    """Return a copy of a folder with the packages of its `package-lock.json`. Without Node.js its test is skipped.

    Args:
        source: the folder, with a `package.json` and the programs that use the packages.
    """
    if shutil.which("npm") is None or shutil.which("node") is None:
        _give_up(f"the packages of {source.name} need Node.js with npm, which is not installed")
    digest = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = _FOLDER / f"{source.parent.name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)  # another process of the tests may be installing it
        for file in source.iterdir():
            shutil.copy(file, folder)
        if not (folder / "installed").exists():
            command = ("npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder))
            subprocess.run(command, check=True, timeout=300)
            (folder / "installed").touch()
    return folder


def _give_up(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def find_npm_package(package: str) -> Path:
    """Return the folder of an npm package, `name@1.2.3`. Without npm its test is skipped, but in CI it fails."""
    name = package.rpartition("@")[0]
    folder = _FOLDER / name.replace("/", "-")
    installed = folder / "node_modules" / name
    _install(installed / "package.json", folder, (package,), name)
    return installed


def _install(wanted: Path, folder: Path, packages: tuple[str, ...], name: str) -> None:
    if not wanted.exists() and shutil.which("npm") is None:
        reason = f"{name} needs npm, which is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)  # another process of the tests may be installing it
        if not wanted.exists():
            command = ("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *packages)
            subprocess.run(command, check=True, timeout=300)
