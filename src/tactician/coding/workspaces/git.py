"""Git without anything that a repository could make it run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Final

from tactician.coding.errors import WorkspaceError
from tactician.environment import read_environment
from tactician.errors import ConfigurationError
from tactician.frozen import frozen

_SECONDS: Final = 120.0
_LONGEST_REASON: Final = 2_000
_QUIET: Final = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.editor": "true",
    "core.askPass": "true",
    "core.sshCommand": "false",
    "core.quotePath": "false",
    "credential.helper": "",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "protocol.allow": "never",
    "diff.external": "",
    "advice.detachedHead": "false",
}
_INHERITED: Final = ("PATH", "TMPDIR", "TZ")
_PROGRAMS: Final = ("clean", "smudge", "process", "driver", "textconv", "command")
"""Last parts of the settings of a repository that name programs: of filters, merges and diffs."""


@frozen(kw_only=True)
class Git:
    """Git in a folder: without hooks, filters, pagers, editors, aliases, network and the settings of the user.

    Attributes:
        folder: the folder in which it works.
        git_dir: a repository that is elsewhere; by default git looks for it from the folder upwards.
        variables: further environment variables, such as `GIT_INDEX_FILE`.
        allows_lfs: true to run the filters of git-lfs.
    """

    folder: Path
    git_dir: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    allows_lfs: bool = False

    def with_variables(self, **variables: str) -> Git:
        """Return the same with further environment variables."""
        return replace(self, variables={**self.variables, **variables})

    def run(self, *arguments: str, input: bytes = b"", accepts: tuple[int, ...] = (0,)) -> bytes:
        """Run a command, and return its output.

        Args:
            *arguments: the command and its arguments.
            input: its standard input.
            accepts: the exit codes that are no failures.

        Raises:
            WorkspaceError: when git fails, with its message.
            ConfigurationError: when git is not installed.
        """
        return self._call(arguments, self._list_settings(), input, accepts)

    def build_environment(self) -> dict[str, str]:
        """Return the environment in which git, started by anything, runs nothing of what the repository names."""
        return self._build_environment(self._list_settings())

    def _list_settings(self) -> dict[str, str]:
        return {**_QUIET, "safe.directory": "*", **dict.fromkeys(self._find_programs(), "")}

    def read(self, *arguments: str) -> str:
        """Run a command, and return its output as text, without the line break at the end."""
        return self.run(*arguments).decode(errors="replace").rstrip("\n")

    def try_read(self, *arguments: str) -> str | None:
        """Run a command, and return its output as text; `None`, when git fails."""
        try:
            return self.read(*arguments)
        except WorkspaceError:
            return None

    def _find_programs(self) -> list[str]:
        """Return the settings of the repository that name programs. To list them runs none."""
        settings = {**_QUIET, "safe.directory": "*"}
        listed = self._call(("config", "--local", "--list", "-z", "--name-only"), settings, b"", (0, 1, 128))
        names = listed.decode(errors="replace").split("\0")
        programs = [name for name in names if name.count(".") >= 2 and name.rpartition(".")[2] in _PROGRAMS]
        return [name for name in programs if not (self.allows_lfs and name.startswith("filter.lfs."))]

    def _call(
        self, arguments: tuple[str, ...], settings: Mapping[str, str], input: bytes, accepts: tuple[int, ...]
    ) -> bytes:
        command = (find_git(), *(() if self.git_dir is None else (f"--git-dir={self.git_dir}", "--work-tree=.")))
        try:
            done = subprocess.run(
                (*command, "--no-pager", *arguments),
                cwd=self.folder,
                env=self._build_environment(settings),
                input=input,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
                # A signal to the group of this program must not leave locks of git behind.
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise WorkspaceError(f"git {arguments[0]} in {self.folder} took longer than {_SECONDS:g} s.") from error
        except OSError as error:
            if not Path(self.folder).is_dir():
                raise WorkspaceError(f"{self.folder} is not a folder: name the folder of a repository.") from error
            raise WorkspaceError(f"git {arguments[0]} cannot start in {self.folder}: {error.strerror}.") from error
        if done.returncode not in accepts:
            reason = done.stderr.decode(errors="replace").strip()[:_LONGEST_REASON] or f"exit code {done.returncode}"
            if "not a git repository" in reason:
                reason = (
                    f"{self.folder} is in no git repository. Name another folder, or run `git init` and commit there."
                )
                raise WorkspaceError(reason)
            raise WorkspaceError(f"git {arguments[0]} in {self.folder}: {reason}")
        return done.stdout

    def _build_environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return the environment. Settings in it override the settings of the repository, and need no quoting."""
        inherited = read_environment()
        environment = {name: inherited[name] for name in _INHERITED if name in inherited}
        environment |= {"LC_ALL": "C.UTF-8", "HOME": os.devnull, "GIT_CONFIG_GLOBAL": os.devnull}
        environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
        environment["GIT_CONFIG_COUNT"] = str(len(settings))
        for number, (name, value) in enumerate(settings.items()):
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return environment | dict(self.variables)


@cache
def find_git() -> str:
    """Return the path of git.

    Raises:
        ConfigurationError: when it is not installed.
    """
    if (path := shutil.which("git")) is None:
        raise ConfigurationError("Workspaces need the program git, which is not installed: see https://git-scm.com.")
    return path


def find_repository(folder: Path) -> Path:
    """Return the root of the work tree that a folder is in.

    Raises:
        WorkspaceError: when it is in none, or the repository names another folder as its work tree.
    """
    root = Path(Git(folder=folder).read("rev-parse", "--show-toplevel"))
    if not folder.resolve().is_relative_to(root.resolve()):
        raise WorkspaceError(f"The repository of {folder} says that its files are in {root}: that is refused.")
    return root


def find_identity(folder: Path) -> dict[str, str]:
    """Return the environment variables that name the user as the author of commits. Reading them runs nothing."""
    names: dict[str, str] = {}
    for key, fallback in (("name", "Tactician"), ("email", "tactician@localhost")):
        done = subprocess.run(
            (find_git(), "config", f"user.{key}"), cwd=folder, capture_output=True, timeout=_SECONDS, check=False
        )
        value = done.stdout.decode(errors="replace").strip() or fallback
        names |= {f"GIT_{role}_{key.upper()}": value for role in ("AUTHOR", "COMMITTER")}
    return names
