"""Workspaces that are open: a folder, and the state with which it began."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tactician.coding.errors import WorkspaceError
from tactician.coding.events import ChangeKind
from tactician.coding.workspaces.git import Git, find_identity
from tactician.coding.workspaces.locks import WorkspaceFolder, WorkspaceLock, WorkspaceRecord
from tactician.frozen import frozen

_KINDS: dict[str, ChangeKind] = {"A": "added", "D": "deleted"}


@frozen
class ChangedFile:
    """File that differs from the beginning of the work.

    Attributes:
        path: its path, relative to the workspace.
        kind: the kind of the change.
    """

    path: str
    kind: ChangeKind


class OpenWorkspace(ABC):
    """Workspace in which somebody works.

    Attributes:
        path: the folder in which the work is done.
        source: the folder of the user.
        home: the home of programs that are run in it.
        is_writable: true when files may be changed.
    """

    path: Path
    source: Path
    is_writable: bool = True
    branch: str = ""

    def __init__(self, folder: WorkspaceFolder, record: WorkspaceRecord, lock: WorkspaceLock) -> None:
        self.record = record
        self.home = folder.home
        self._folder = folder
        self._lock = lock
        self.home.mkdir(parents=True, exist_ok=True)

    @property
    @abstractmethod
    def git(self) -> Git:
        """Git with the history of the workspace, whose base is in the record."""

    @property
    def git_folders(self) -> tuple[Path, ...]:
        """The folders of git that programs in the workspace may read, but not change."""
        return ()

    def diff(self) -> str:
        """Return all changes since the beginning, as a patch of git; new files are in it."""
        return self._create_patch().decode(errors="replace")

    def _create_patch(self) -> bytes:
        return self._compare("diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv")

    def list_changes(self) -> tuple[ChangedFile, ...]:
        """Return the files that differ from the beginning."""
        listed = self._compare("diff", "--cached", "--name-status", "--no-renames", "-z")
        fields = [os.fsdecode(field) for field in listed.split(b"\0")[:-1]]
        pairs = zip(fields[::2], fields[1::2], strict=True)
        return tuple(ChangedFile(path, _KINDS.get(letter, "modified")) for letter, path in pairs)

    def _compare(self, command: str, *options: str) -> bytes:
        """Compare the files with the base. The index and the objects of the repository stay as they are."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as draft:
            objects = Path(draft) / "objects"
            objects.mkdir()
            store = self.git.read("rev-parse", "--git-path", "objects")
            git = self.git.with_variables(
                GIT_INDEX_FILE=f"{draft}/index",
                GIT_OBJECT_DIRECTORY=str(objects),
                GIT_ALTERNATE_OBJECT_DIRECTORIES=str(self.path / store),
            )
            git.run("read-tree", self.record.base)
            git.run("add", "--all", "--", ".")
            return git.run(command, *options, self.record.base)

    def apply(self) -> tuple[ChangedFile, ...]:
        """Apply the changes to the folder of the user, all of them or none, and return them.

        Raises:
            WorkspaceError: when the user has changed the same lines meanwhile, or works in the same folder.
        """
        if self.path == self.source:
            raise WorkspaceError(f"{self.source} has the changes already: the agent has worked in it.")
        changes = self.list_changes()
        if changes:
            target = Git(folder=self.source, git_dir=self.git.git_dir)
            target.run("apply", "--binary", "--whitespace=nowarn", "-", input=self._create_patch())
        return changes

    def commit(self, message: str) -> str:
        """Commit all changes on the branch of the workspace, and return the id of the commit.

        Raises:
            WorkspaceError: when there is no branch, or nothing has changed.
        """
        if not self.branch:
            raise WorkspaceError(f"{self.path} has no branch to commit to: commit in your repository yourself.")
        git = self.git.with_variables(**find_identity(self.source))
        git.run("add", "--all", "--", ".")
        git.run("commit", "--quiet", "--no-verify", "-F", "-", input=message.encode())
        return git.read("rev-parse", "HEAD")

    def keep(self) -> None:
        """End the work, and keep the workspace."""
        self.record = replace(self.record, is_kept=True, run_id="")
        self._folder.save(self.record)
        self._lock.release()

    def remove(self) -> None:
        """End the work, and remove the workspace with all that is in it."""
        self._remove_work()
        self._folder.remove_record(self.record.name)
        self._lock.release(removes=True)

    def abandon(self) -> None:
        """End the work for now: a run that owns the workspace continues in it, and otherwise it is removed."""
        if self.record.run_id:
            self._lock.release()
        else:
            self.remove()

    @abstractmethod
    def _remove_work(self) -> None:
        """Remove the folder of the work, unless it belongs to the user."""
