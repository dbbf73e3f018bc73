"""Sandbox for the commands of a project: bubblewrap with the workspace, and the toolchains of this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.workspaces.opened import OpenWorkspace
from tactician.environment import read_environment
from tactician.skills.sandbox import bind_read_only, list_roots

_MAX_PROCESSES: Final = 1_024
_MEMORY_FILES: Final = 1_000_000_000
_SYSTEM_FILES: Final = (
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/localtime", "/etc/mime.types"),
    *("/etc/maven", "/etc/ssl", "/etc/ca-certificates", "/opt", "/nix"),
)
_NETWORK_FILES: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
_TOOLCHAINS: Final = (
    *(".pyenv", ".rustup", ".cargo/bin", ".cargo/registry", ".nvm", ".volta", ".bun/bin", ".deno/bin", ".rbenv"),
    *(".sdkman/candidates", ".dotnet", "go/pkg/mod", ".m2/repository", ".local/bin", ".local/share/uv"),
)
"""Folders of the home of the user with programs and packages: others may have keys in them."""
DEPENDENCIES: Final = (".venv", "venv", "node_modules", "vendor")
"""Folders with packages that git ignores: a worktree has them from the folder of the user, read-only."""


def build_workspace_command(
    arguments: tuple[str, ...], folder: Path, workspace: OpenWorkspace, policy: CommandPolicy
) -> tuple[str, ...]:
    """Return the command that runs a program in a sandbox, in which the workspace has its own path.

    Files outside of the workspace can be read where programs and packages are, and nowhere changed. The settings of
    the repository, which may have keys in them, are empty.

    Args:
        arguments: the program and its arguments.
        folder: the folder in which it starts.
        workspace: the workspace.
        policy: the rules for commands.
    """
    network = ("--share-net", *bind_read_only(_NETWORK_FILES)) if policy.network else ()
    return (
        *(shutil.which("bwrap") or "bwrap", "--unshare-all", *network, "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--hostname", "sandbox", "--clearenv", *_list_variables(workspace)),
        *("--ro-bind", "/usr", "/usr", *list_roots(), *bind_read_only((*_SYSTEM_FILES, *_list_java()))),
        *("--proc", "/proc", "--dev", "/dev", *_mount("/dev/shm"), "--remount-ro", "/dev", *_mount("/tmp")),
        *bind_read_only(tuple(map(str, (*list_toolchains(), *policy.readable)))),
        *_bind_workspace(workspace),
        *("--remount-ro", "/", "--chdir", str(folder), "--"),
        *("prlimit", f"--nproc={_MAX_PROCESSES}", "--core=0", "--", *arguments),
    )


def _mount(folder: str) -> tuple[str, ...]:
    return ("--size", str(_MEMORY_FILES), "--tmpfs", folder)


def _bind_workspace(workspace: OpenWorkspace) -> Iterator[str]:
    """Yield the options for the workspace, its home, its packages and the folders of git."""
    yield from ("--bind" if workspace.is_writable else "--ro-bind", str(workspace.path), str(workspace.path))
    yield from ("--bind", str(workspace.home), str(workspace.home))
    if workspace.path != workspace.source:
        for name in DEPENDENCIES:
            packages = workspace.source / name
            if packages.is_dir() and not packages.is_symlink() and not (workspace.path / name).exists():
                yield from ("--ro-bind", str(packages), str(packages), "--ro-bind", str(packages))
                yield str(workspace.path / name)
    for folder in workspace.git_folders:
        yield from ("--ro-bind", str(folder), str(folder))
        if (folder / "config").is_file():
            yield from ("--ro-bind", str(_create_empty_file(workspace)), str(folder / "config"))


def _create_empty_file(workspace: OpenWorkspace) -> Path:
    """Return an empty file. A device would not do: the sandbox has no right to open devices."""
    file = workspace.home / ".empty"
    file.touch()
    return file


def _list_variables(workspace: OpenWorkspace) -> Iterator[str]:
    home = Path.home()
    variables = {
        "PATH": read_environment().get("PATH", "/usr/local/bin:/usr/bin:/bin"),
        "HOME": str(workspace.home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "CI": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GOTOOLCHAIN": "local",
        "GOPROXY": "off",
        "GOMODCACHE": str(home / "go/pkg/mod"),
        "RUSTUP_HOME": str(home / ".rustup"),
        "MAVEN_OPTS": f"-Dmaven.repo.local={home / '.m2/repository'}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name, value in variables.items():
        yield from ("--setenv", name, value)


@cache
def list_toolchains() -> tuple[Path, ...]:
    """Return the folders with programs and packages outside of `/usr`, without the home of the user itself."""
    home = Path.home()
    listed = [home / name for name in _TOOLCHAINS]
    listed += [Path(sys.base_prefix), Path(sys.prefix)]
    listed += [Path(entry) for entry in read_environment().get("PATH", "").split(os.pathsep) if entry]
    return tuple(dict.fromkeys(path for path in listed if path.is_dir() and _is_shown(path, home)))


def _is_shown(path: Path, home: Path) -> bool:
    return path.is_absolute() and not path.is_relative_to("/usr") and not home.is_relative_to(path)


def _list_java() -> tuple[str, ...]:
    return tuple(str(path) for path in Path("/etc").glob("java-*"))
