"""A folder that is not there."""

from pathlib import Path

import pytest

from tactician.coding import Workspace, WorkspaceError


def test_a_repository_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="gone is not a folder: name the folder of a repository"):
        Workspace.worktree(tmp_path / "gone").open()


def test_a_folder_without_git_is_named_with_the_command_that_helps(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"is in no git repository. Name another folder, or run `git init` and"):
        Workspace.worktree(tmp_path).open()
