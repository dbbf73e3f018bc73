"""Workspaces without a worktree: copies of folders, the folder itself, and folders that are only read."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path
from typing import Final

from typing_extensions import override

from tactician.coding.errors import WorkspaceError
from tactician.coding.workspaces.git import Git
from tactician.coding.workspaces.locks import WorkspaceFolder, WorkspaceLock, WorkspaceRecord, remove_orphans
from tactician.coding.workspaces.opened import OpenWorkspace
from tactician.coding.workspaces.worktrees import remove_worktree

_IDENTITY: Final = {f"GIT_{role}_{key}": "tactician" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}


class FolderWorkspace(OpenWorkspace):
    """Open folder, whose state at the beginning is in a private repository beside it.

    Args:
        is_copy: true when the work is done in a copy of the folder.
        is_writable: true when files may be changed.
    """

    def __init__(
        self,
        folder: WorkspaceFolder,
        record: WorkspaceRecord,
        lock: WorkspaceLock,
        *,
        is_copy: bool,
        is_writable: bool,
    ) -> None:
        super().__init__(folder, record, lock)
        self.source = Path(record.source)
        self.path = folder.find_work(record.name) if is_copy else self.source
        self.is_copy = is_copy
        self.is_writable = is_writable

    @property
    @override
    def git(self) -> Git:
        return Git(folder=self.path, git_dir=self._folder.find_history(self.record.name))

    @property
    @override
    def git_folders(self) -> tuple[Path, ...]:
        repository = self.path / ".git"
        return (repository,) if repository.is_dir() else ()

    @override
    def keep(self) -> None:
        if self.is_copy:
            super().keep()
        else:  # the folder is the user's, and stays: only what was beside it goes
            self.remove()

    @override
    def _remove_work(self) -> None:
        remove_worktree(self._folder, self.record)


def open_folder(
    source: Path,
    *,
    is_copy: bool,
    is_writable: bool = True,
    name: str | None = None,
    run_id: str = "",
    folder: Path | None = None,
) -> FolderWorkspace:
    """Open a folder, or a copy of it; the copy of a run, if the run has one already.

    Args:
        source: the folder.
        is_copy: true to work in a copy, without the repository of git.
        is_writable: false for a folder that is only read.
        name: the name of a copy. A folder itself has one workspace at a time that may change it.
        run_id: the durable run that owns it.
        folder: the folder for copies.

    Raises:
        WorkspaceError: when there is no such folder.
        WorkspaceLockedError: when somebody works in it.
    """
    if not source.is_dir():
        raise WorkspaceError(f"{source} is not a folder: name the folder of a project.")
    place = WorkspaceFolder(source, folder)
    remove_orphans(place, remove_worktree)
    if not is_copy:
        name = "in-place" if is_writable else f"read-{secrets.token_hex(4)}"
    name = name or secrets.token_hex(4)
    lock = WorkspaceLock.acquire(place.find_lock(name))
    record, is_new = place.load(name), False
    if record is None or not place.find_history(name).is_dir():
        record, is_new = WorkspaceRecord(name=name, source=str(source.resolve()), base="HEAD", run_id=run_id), True
    opened = FolderWorkspace(place, record, lock, is_copy=is_copy, is_writable=is_writable)
    if is_new:
        _begin(opened, place)
    return opened


def _begin(opened: FolderWorkspace, place: WorkspaceFolder) -> None:
    """Make the copy, and commit all files to the private repository, which the folder itself does not know of."""
    place.save(opened.record)  # before there is anything that somebody would have to remove
    git = opened.git
    try:
        if opened.is_copy:
            shutil.copytree(opened.source, opened.path, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        Git(folder=opened.path).run("init", "--quiet", "--bare", str(git.git_dir))
        git = git.with_variables(**_IDENTITY)
        git.run("add", "--all", "--", ".")
        git.run("commit", "--quiet", "--allow-empty", "--no-verify", "-m", "beginning")
    except BaseException:
        opened.remove()
        raise
