"""Worktrees of git: a folder and a branch of their own for each piece of work."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from tactician.coding.errors import WorkspaceError
from tactician.coding.workspaces.git import Git, find_repository
from tactician.coding.workspaces.locks import WorkspaceFolder, WorkspaceLock, WorkspaceRecord, remove_orphans
from tactician.coding.workspaces.opened import OpenWorkspace

BRANCHES: Final = "tactician/"


class Worktree(OpenWorkspace):
    """Open worktree, whose files begin as a commit of the repository.

    The tree of the user stays untouched, with all uncommitted work.
    """

    def __init__(
        self, folder: WorkspaceFolder, record: WorkspaceRecord, lock: WorkspaceLock, *, allows_lfs: bool = False
    ) -> None:
        super().__init__(folder, record, lock)
        self.source = Path(record.source)
        self.path = folder.find_work(record.name)
        self.branch = record.branch
        self._allows_lfs = allows_lfs

    @property
    @override
    def git(self) -> Git:
        return Git(folder=self.path, allows_lfs=self._allows_lfs)

    @property
    @override
    def git_folders(self) -> tuple[Path, ...]:
        return (find_git_folder(self.source),)

    @override
    def _remove_work(self) -> None:
        remove_worktree(self._folder, self.record)


def find_git_folder(source: Path) -> Path:
    """Return the folder of git that all worktrees of a repository share."""
    return Path(Git(folder=source).read("rev-parse", "--path-format=absolute", "--git-common-dir"))


def open_worktree(
    source: Path,
    *,
    base: str = "HEAD",
    name: str | None = None,
    run_id: str = "",
    folder: Path | None = None,
    allows_lfs: bool = False,
) -> Worktree:
    """Open a worktree of a repository on a new branch; the one of a run, if the run has one already.

    Worktrees of programs that have died are removed first, unless a run owns them.

    Args:
        source: a folder of the repository.
        base: the commit with which it begins.
        name: its name, and the last part of its branch.
        run_id: the durable run that owns it.
        folder: the folder for worktrees.
        allows_lfs: true to run the filters of git-lfs.

    Raises:
        WorkspaceError: when there is no repository or no such commit.
        WorkspaceLockedError: when somebody works in the worktree of this name.
    """
    root = find_repository(source)
    place = WorkspaceFolder(root, folder)
    remove_orphans(place, remove_worktree)
    name = name or secrets.token_hex(4)
    lock = WorkspaceLock.acquire(place.find_lock(name))
    try:
        record = place.load(name)
        if record is not None and (run_id == record.run_id or record.is_kept) and place.find_work(name).is_dir():
            return Worktree(place, record, lock, allows_lfs=allows_lfs)
        return _create(root, place, lock, WorkspaceRecord(name=name, source=str(root), run_id=run_id), base, allows_lfs)
    except BaseException:
        lock.release(removes=place.load(name) is None)
        raise


def _create(
    root: Path, place: WorkspaceFolder, lock: WorkspaceLock, record: WorkspaceRecord, base: str, allows_lfs: bool
) -> Worktree:
    if base.startswith("-"):
        raise WorkspaceError(f"{base!r} is not a commit.")
    git = Git(folder=root, allows_lfs=allows_lfs)
    if (commit := git.try_read("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")) is None:
        raise WorkspaceError(f"{root} has no commit {base!r}. A worktree begins with a commit: commit first.")
    record = replace(record, base=commit, branch=f"{BRANCHES}{record.name}")
    place.save(record)  # before there is anything that somebody would have to remove
    try:
        git.run(
            "worktree", "add", "--quiet", "--no-track", "-b", record.branch, str(place.find_work(record.name)), commit
        )
        return Worktree(place, record, lock, allows_lfs=allows_lfs)
    except BaseException:
        remove_worktree(place, record)
        place.remove_record(record.name)
        raise


def remove_worktree(place: WorkspaceFolder, record: WorkspaceRecord) -> None:
    """Remove a worktree with its branch, or a copy, as far as they are there: a kill may have left parts."""
    git, path = Git(folder=Path(record.source)), place.find_work(record.name)
    shutil.rmtree(place.find_history(record.name), ignore_errors=True)
    if not record.branch:
        shutil.rmtree(path, ignore_errors=True)
        return
    for arguments in (("worktree", "unlock", str(path)), ("worktree", "remove", "--force", "--force", str(path))):
        git.try_read(*arguments)
    shutil.rmtree(path, ignore_errors=True)
    with suppress(WorkspaceError):
        _remove_administration(find_git_folder(git.folder), path)
    if record.branch.startswith(BRANCHES):
        git.try_read("update-ref", "-d", f"refs/heads/{record.branch}")


def _remove_administration(git_folder: Path, path: Path) -> None:
    """Remove what git remembers of a worktree that it has not finished."""
    for entry in (git_folder / "worktrees").glob("*"):
        with suppress(OSError):
            if (entry / "gitdir").read_text().strip() == str(path / ".git"):
                shutil.rmtree(entry, ignore_errors=True)


def list_worktrees(source: Path, folder: Path | None = None) -> Iterator[tuple[WorkspaceRecord, Path]]:
    """Yield the worktrees of a repository with their folders: kept worktrees, and worktrees of runs."""
    place = WorkspaceFolder(find_repository(source), folder)
    for record in place.list_records():
        if record.branch:
            yield record, place.find_work(record.name)
