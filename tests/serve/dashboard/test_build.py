"""The committed files of the dashboard are those that its sources give."""

from __future__ import annotations

import os
import shutil
import subprocess
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

from tactician.serve import dashboard

ROOT = Path(__file__).parents[3]
STATIC = Path(dashboard.__file__).parent / "static"
MOST_BYTES = 600_000


def read_files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_committed_build_is_that_of_the_sources(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        reason = "building the dashboard needs Node.js and npm"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    copy, packages = tmp_path / "dashboard", ROOT / "build" / "npm" / "dashboard"
    shutil.copytree(ROOT / "dashboard", copy, ignore=shutil.ignore_patterns("node_modules"))
    install_packages(packages)
    (copy / "node_modules").symlink_to(packages / "node_modules")
    command = ["npx", "--no-install", "vite", "build", "--outDir", str(tmp_path / "built"), "--logLevel", "error"]
    done = subprocess.run(["npx", "--no-install", "tsc", "--noEmit"], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    built = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr

    fresh, committed = read_files(tmp_path / "built"), read_files(STATIC)
    assert sorted(fresh) == sorted(committed), "run `make ui` and commit what it builds"
    changed = [name for name, content in fresh.items() if committed[name] != content]
    assert changed == [], "run `make ui` and commit what it builds"


def install_packages(folder: Path) -> None:
    """Install what the lock file names, unless that was done before."""
    lock = ROOT / "dashboard" / "package-lock.json"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        flock(file, LOCK_EX)
        installed = folder / "package-lock.json"
        if not installed.exists() or installed.read_bytes() != lock.read_bytes():
            shutil.copy(ROOT / "dashboard" / "package.json", folder)
            shutil.copy(lock, folder / "wanted.json")
            (folder / "wanted.json").rename(folder / "package-lock.json")
            command = ("npm", "ci", "--silent", "--no-audit", "--no-fund")
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                installed.unlink()
                pytest.fail(f"npm ci: {done.stderr}")


def test_it_is_small() -> None:
    assert sum(len(content) for content in read_files(STATIC).values()) < MOST_BYTES


def test_the_licenses_of_what_is_bundled_are_there() -> None:
    licenses = (STATIC / "LICENSES.md").read_text(encoding="utf-8")
    assert all(name in licenses for name in ("preact", "@preact/signals"))
