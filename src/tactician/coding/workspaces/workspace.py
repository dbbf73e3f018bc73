"""`Workspace`: the folder in which a coding agent works."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

from typing_extensions import override

from tactician.cancellation import run_or_undo, run_to_completion
from tactician.coding.errors import WorkspaceError
from tactician.coding.workspaces.folders import open_folder
from tactician.coding.workspaces.opened import ChangedFile, OpenWorkspace
from tactician.coding.workspaces.worktrees import open_worktree
from tactician.errors import ConfigurationError
from tactician.suggestions import suggest_options

WorkspaceKind: TypeAlias = Literal["worktree", "directory", "in_place", "read_only"]


@suggest_options
class Workspace:
    """Folder in which a coding agent works: `Workspace.worktree("repo")` and the other class methods.

    `async with` opens it. A body without an exception keeps a worktree and its branch, or a copy; a failure removes
    both. An agent that gets a workspace that is not open opens one for each of its runs in the same way.

    Args:
        kind: the kind of the workspace.
        source: the folder of the project.
        base: the commit with which a worktree begins.
        name: the name of a worktree or a copy; a new one each time, by default.
        allows_lfs: true to run the filters of git-lfs in a worktree.
        folder: the folder for worktrees and copies; by default below `~/.local/state/tactician`.
    """

    def __init__(
        self,
        kind: WorkspaceKind,
        source: str | os.PathLike[str],
        *,
        base: str = "HEAD",
        name: str | None = None,
        allows_lfs: bool = False,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if name is not None and not name.replace("-", "").replace("_", "").isalnum():
            raise ConfigurationError(f"The workspace name {name!r} may have only letters, digits, '-' and '_'.")
        self.kind = kind
        self.source = Path(source).absolute()
        self.base = base
        self.name = name
        self.allows_lfs = allows_lfs
        self.folder = None if folder is None else Path(folder).absolute()
        self._opened: OpenWorkspace | None = None
        self._is_open = False

    @classmethod
    def worktree(
        cls,
        repository: str | os.PathLike[str],
        *,
        base: str = "HEAD",
        name: str | None = None,
        allows_lfs: bool = False,
        folder: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Return a workspace in a git worktree on a branch of its own. It begins without uncommitted work."""
        return cls("worktree", repository, base=base, name=name, allows_lfs=allows_lfs, folder=folder)

    @classmethod
    def directory(
        cls,
        source: str | os.PathLike[str],
        *,
        name: str | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Return a workspace in a copy of a folder, for projects without git."""
        return cls("directory", source, name=name, folder=folder)

    @classmethod
    def in_place(cls, source: str | os.PathLike[str]) -> Self:
        """Return a workspace in the folder itself."""
        return cls("in_place", source)

    @classmethod
    def read_only(cls, source: str | os.PathLike[str]) -> Self:
        """Return a workspace in which nothing can be changed, for reviews and questions."""
        return cls("read_only", source)

    @override
    def __repr__(self) -> str:
        return f"Workspace.{self.kind}({str(self.source)!r})"

    @property
    def is_open(self) -> bool:
        """True while it is open."""
        return self._is_open

    @property
    def opened(self) -> OpenWorkspace:
        """The workspace as it is open, or was kept.

        Raises:
            ConfigurationError: when it was not opened, or was removed.
        """
        if self._opened is None:
            raise ConfigurationError(f"{self!r} is not open: use it in `async with`.")
        return self._opened

    @property
    def path(self) -> Path:
        """The folder in which the work is done."""
        return self.opened.path

    @property
    def branch(self) -> str:
        """The branch of a worktree; empty for other workspaces."""
        return self.opened.branch

    def open(self, name: str | None = None, run_id: str = "") -> OpenWorkspace:
        """Open the workspace, or continue in the workspace of a run.

        Args:
            name: the name of a worktree or a copy that has no name of its own; a new one by default.
            run_id: the durable run that owns it.

        Raises:
            WorkspaceError: when it cannot be opened.
        """
        if self.kind == "worktree":
            return open_worktree(
                self.source,
                base=self.base,
                name=self.name or name,
                run_id=run_id,
                folder=self.folder,
                allows_lfs=self.allows_lfs,
            )
        writable, is_copy = self.kind != "read_only", self.kind == "directory"
        return open_folder(
            self.source,
            is_copy=is_copy,
            is_writable=writable,
            name=self.name or name,
            run_id=run_id if is_copy else "",
            folder=self.folder,
        )

    async def __aenter__(self) -> Self:
        if self._is_open:
            raise WorkspaceError(f"{self!r} is open already.")
        self._opened = await open_aside(self)
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        opened, self._opened = self.opened, self.opened if error is None else None
        await end_aside(opened.keep if error is None else opened.remove)

    def diff(self) -> str:
        """Return all changes since the beginning as a patch, with new files."""
        return self.opened.diff()

    def list_changes(self) -> tuple[ChangedFile, ...]:
        """Return the files that differ from the beginning."""
        return self.opened.list_changes()

    def commit(self, message: str) -> str:
        """Commit all changes on the branch of a worktree, and return the id of the commit.

        Raises:
            WorkspaceError: when the workspace has no branch, or nothing has changed.
        """
        return self.opened.commit(message)

    def apply(self) -> tuple[ChangedFile, ...]:
        """Apply the changes to the folder of the user, all of them or none. No tool of an agent does that.

        Raises:
            WorkspaceError: when the user has changed the same lines meanwhile.
        """
        return self.opened.apply()


async def open_aside(workspace: Workspace, name: str | None = None, run_id: str = "") -> OpenWorkspace:
    """Open a workspace beside the event loop; a cancellation removes it again, unless a run owns it.

    Raises:
        WorkspaceError: when it cannot be opened.
    """
    return await run_or_undo(
        asyncio.to_thread(workspace.open, name, run_id), lambda opened: asyncio.to_thread(opened.abandon)
    )


async def end_aside(end: Callable[[], None]) -> None:
    """End the work in a workspace beside the event loop, whatever is cancelled meanwhile."""
    await run_to_completion(asyncio.to_thread(end))
