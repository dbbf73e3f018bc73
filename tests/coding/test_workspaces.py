"""Workspaces: apart from the work of people, kept on success, removed on failure and after a kill."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tactician.coding import Workspace
from tactician.coding.errors import WorkspaceError, WorkspaceLockedError
from tactician.coding.workspaces.worktrees import list_worktrees, open_worktree
from tests.coding.support import create_repository, run_git, write
from tests.support.effort import EFFORT, SEED

TEXT = "one\ntwo\n3\n4\n5\n6\nseven\n"
FILES = {"a.txt": TEXT, "b.txt": "b\n", ".gitignore": "ignored\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return create_repository(tmp_path / "repo", FILES)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def list_state(repo: Path) -> tuple[list[str], list[str], str]:
    """Branches, worktrees, and what is not committed."""
    branches = run_git(repo, "branch", "--format=%(refname:short)").split("\n")
    trees = [
        line for line in run_git(repo, "worktree", "list", "--porcelain").split("\n") if line.startswith("worktree ")
    ]
    return branches, trees, run_git(repo, "status", "--short", "--ignored")


async def test_a_worktree_is_kept_with_its_branch_and_the_tree_of_the_user_stays(repo: Path, state: Path) -> None:
    write(repo, {"a.txt": TEXT.replace("seven", "SEVEN"), "mine.txt": "", "ignored": ""})
    before = list_state(repo)
    async with Workspace.worktree(repo, folder=state, name="w1") as workspace:
        assert workspace.branch == "tactician/w1"
        assert (workspace.path / "a.txt").read_text() == FILES["a.txt"], "it begins as the last commit"
        write(workspace.path, {"a.txt": TEXT.replace("one", "ONE"), "new.txt": "new\n", "ignored": "x"})
        (workspace.path / "b.txt").unlink()
        changes = {(change.path, change.kind) for change in workspace.list_changes()}
        assert changes == {("a.txt", "modified"), ("new.txt", "added"), ("b.txt", "deleted")}
        assert "+ONE" in workspace.diff()
        assert "+new" in workspace.diff()
        assert run_git(workspace.path, "status", "--short").split() == ["M", "a.txt", "D", "b.txt", "??", "new.txt"]
        commit = workspace.commit("Change\n\nall")
        assert workspace.list_changes(), "changes are counted from the beginning"
    assert workspace.path.is_dir()
    assert run_git(repo, "log", "-1", "--format=%H %s", "tactician/w1") == f"{commit} Change"
    branches, trees, dirty = list_state(repo)
    assert (branches, len(trees), dirty) == (["main", "tactician/w1"], 2, before[2])
    applied = workspace.apply()
    assert {change.path for change in applied} == {"a.txt", "b.txt", "new.txt"}
    assert (repo / "a.txt").read_text() == TEXT.replace("one", "ONE").replace("seven", "SEVEN"), (
        "what the user changed elsewhere in a file stays"
    )


async def test_changes_to_the_same_lines_are_applied_not_at_all(repo: Path, state: Path) -> None:
    async with Workspace.worktree(repo, folder=state) as workspace:
        write(workspace.path, {"a.txt": "ONE\n", "new.txt": "x\n"})
    write(repo, {"a.txt": "1\n2\n"})
    with pytest.raises(WorkspaceError, match=r"a\.txt"):
        workspace.apply()
    assert not (repo / "new.txt").exists()
    assert (repo / "a.txt").read_text() == "1\n2\n"


async def test_a_failure_removes_the_worktree_and_its_branch(repo: Path, state: Path) -> None:
    before = list_state(repo)

    async def fail() -> None:
        async with Workspace.worktree(repo, folder=state) as workspace:
            raise ValueError(str(write(workspace.path, {"a.txt": "x"})))

    with pytest.raises(ValueError, match="state") as raised:
        await fail()
    assert not os.path.exists(str(raised.value))  # noqa: ASYNC240, PTH110
    assert list_state(repo) == before
    for _ in range(2):
        task = asyncio.ensure_future(Workspace.worktree(repo, folder=state).__aenter__())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert list_state(repo) == before


async def test_a_worktree_has_one_user_at_a_time(repo: Path, state: Path) -> None:
    async with Workspace.worktree(repo, folder=state, name="w1") as workspace:
        with pytest.raises(WorkspaceLockedError, match="'w1'"):
            Workspace.worktree(repo, folder=state, name="w1").open()
        with pytest.raises(WorkspaceError, match="is open already"):
            await workspace.__aenter__()
    async with Workspace.worktree(repo, folder=state, name="w1") as again:
        assert again.path == workspace.path, "a worktree that was kept is continued"


def test_the_worktree_of_a_run_is_continued(repo: Path, state: Path) -> None:
    opened = open_worktree(repo, name="r1", run_id="r1", folder=state)
    write(opened.path, {"a.txt": "x"})
    opened.abandon()
    open_worktree(repo, folder=state).remove()
    again = open_worktree(repo, name="r1", run_id="r1", folder=state)
    assert (again.path / "a.txt").read_text() == "x"
    again.keep()
    assert [(record.name, record.is_kept) for record, _ in list_worktrees(repo, state)] == [("r1", True)]


KILLED = """
import asyncio, sys
from pathlib import Path
from tactician.coding import Workspace

async def main():
    async with Workspace.worktree(sys.argv[1], folder=sys.argv[2]) as workspace:
        (workspace.path / "a.txt").write_text("half")
        print("open", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.soak
def test_a_kill_leaves_nothing_behind_after_the_next_start(repo: Path, state: Path) -> None:
    before = list_state(repo)
    for number in range(2 if EFFORT == 1 else 200):
        with subprocess.Popen((sys.executable, "-c", KILLED, str(repo), str(state)), stdout=subprocess.PIPE) as program:
            assert program.stdout is not None
            if number % 2 == 0:
                program.stdout.readline()
            else:  # while it is being made, at some moment
                os.set_blocking(program.stdout.fileno(), False)
                while not any(state.rglob("*.json")):
                    pass
                for _ in range((number * 7_919 * SEED) % 20_000):
                    pass
            program.send_signal(signal.SIGKILL)
        assert list_state(repo)[2] == before[2], "the tree of the user stays clean"
    open_worktree(repo, folder=state).remove()
    assert list_state(repo) == before
    assert [path.name for path in next(state.iterdir()).iterdir() if path.suffix != ".lock"] == ["home"]


async def test_a_copy_needs_no_git_in_the_folder(tmp_path: Path, state: Path) -> None:
    source = write(tmp_path / "plain", {"a.txt": "one\n", "sub/b.txt": "b\n"})
    (source / "link").symlink_to("/etc/passwd")
    async with Workspace.directory(source, folder=state) as workspace:
        write(workspace.path, {"a.txt": "two\n", "c.txt": "c\n"})
        assert (workspace.path / "link").is_symlink()
        assert {change.path for change in workspace.list_changes()} == {"a.txt", "c.txt"}
        with pytest.raises(WorkspaceError, match="no branch"):
            workspace.commit("x")
    assert (source / "a.txt").read_text() == "one\n"
    workspace.apply()
    assert ((source / "a.txt").read_text(), (source / "c.txt").read_text()) == ("two\n", "c\n")
    assert not (source / ".git").exists()


async def test_work_in_place_knows_what_it_changed(repo: Path) -> None:
    write(repo, {"mine.txt": "mine\n"})
    async with Workspace.in_place(repo) as workspace:
        with pytest.raises(WorkspaceLockedError):
            Workspace.in_place(repo).open()
        assert workspace.list_changes() == ()
        write(repo, {"b.txt": "changed\n"})
        assert [change.path for change in workspace.list_changes()] == ["b.txt"]
        with pytest.raises(WorkspaceError, match="has the changes already"):
            workspace.apply()
    assert (repo / "b.txt").read_text() == "changed\n"


async def test_a_hostile_repository_runs_nothing(tmp_path: Path, repo: Path, state: Path) -> None:
    flag = tmp_path / "ran"
    for name in ("post-checkout", "pre-commit", "post-commit", "post-index-change"):
        write(repo, {f".git/hooks/{name}": f"#!/bin/sh\ntouch {flag}\n"})
        (repo / f".git/hooks/{name}").chmod(0o755)
    for key in ("filter.x.smudge", "filter.x.clean", "filter.x.process", "core.fsmonitor", "core.editor", "core.pager"):
        run_git(repo, "config", key, f"touch {flag}; cat")
    write(repo, {".gitattributes": "* filter=x\n"})
    run_git(repo, "-c", "core.hooksPath=/dev/null", "commit", "-qam", "trap", "--allow-empty")
    flag.unlink(missing_ok=True)
    async with Workspace.worktree(repo, folder=state) as workspace:
        write(workspace.path, {"a.txt": "x"})
        workspace.commit("work")
        assert workspace.diff()
    assert not flag.exists()
    run_git(repo, "config", "core.worktree", "/")
    with pytest.raises(WorkspaceError):
        Workspace.worktree(repo, folder=state).open()


async def test_what_cannot_be_opened_says_why(tmp_path: Path, repo: Path, state: Path) -> None:
    with pytest.raises(WorkspaceError, match="in no git repository"):
        Workspace.worktree(tmp_path, folder=state).open()
    with pytest.raises(WorkspaceError, match="no commit 'v9'"):
        Workspace.worktree(repo, base="v9", folder=state).open()
    empty = tmp_path / "empty"
    empty.mkdir()
    run_git(empty, "init", "-q")
    with pytest.raises(WorkspaceError, match="commit first"):
        Workspace.worktree(empty, folder=state).open()
    with pytest.raises(WorkspaceError, match="is not a folder"):
        Workspace.in_place(tmp_path / "none").open()


async def test_a_repository_with_submodules_has_worktrees_that_leave_nothing(tmp_path: Path) -> None:
    library = create_repository(tmp_path / "library", {"tax.py": "rate = 0.2\n"})
    repo = create_repository(tmp_path / "repo", {"shop.py": "import tax\n"})
    run_git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    run_git(repo, "commit", "-qm", "a library")

    async def work() -> None:
        async with Workspace.worktree(repo, folder=tmp_path / "state") as workspace:
            assert workspace.diff() == "", "a submodule that is not there is no change"
            write(workspace.path, {"shop.py": "import lib.tax\n"})
            assert [change.path for change in workspace.list_changes()] == ["shop.py"]
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        await work()
    assert list(list_worktrees(repo, tmp_path / "state")) == []
    assert run_git(repo, "worktree", "list").count("\n") == 0
    assert run_git(repo, "branch", "--list", "tactician/*") == ""
    assert (repo / "lib" / "tax.py").read_text() == "rate = 0.2\n"
