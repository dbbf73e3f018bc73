"""`tactician code fix` and the commands for worktrees, with a model behind HTTP."""

import asyncio
import json
from pathlib import Path

import pytest

from tactician.coding import CodingAgent
from tactician.coding.tools.approvals import describe_change
from tactician.llm import ToolCall
from tests.cli.support import tactician
from tests.coding.support import create_repository, run_git
from tests.support.chat_server import ChatServer, answers, completion

FILES = {"shop.py": "def total(prices):\n    return sum(prices[1:])\n"}


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


EDIT = call("edit_file", path="shop.py", old_text="prices[1:]", new_text="prices")


async def test_a_bug_is_fixed_in_a_worktree_and_applied_by_a_person(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    replies = (completion(None, EDIT), completion("The slice left out the first price."))
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "TACTICIAN_MODEL": "openai:m"}
    async with ChatServer(*map(answers, replies)) as server:
        where = ("-C", str(repo))
        fix = ("code", "fix", "The total is too low", *where, "--worktree")
        done = await asyncio.to_thread(tactician, *fix, env={**env, "OPENAI_BASE_URL": server.url})
    assert (done.code, done.out) == (0, "The slice left out the first price.\n"), done.err
    assert "± modified shop.py  +1 -1" in done.err
    branch = run_git(repo, "branch", "--list", "tactician/*").strip("+ ")
    name = branch.removeprefix("tactician/")
    assert f"tactician code diff {name}" in done.err
    assert run_git(repo, "status", "--short") == ""
    assert name in tactician("code", "worktrees", *where, env=env).out
    assert "+    return sum(prices)" in tactician("code", "diff", name, *where, env=env).out
    assert tactician("code", "apply", name, *where, env=env).out == "modified shop.py\n"
    assert (repo / "shop.py").read_text() == "def total(prices):\n    return sum(prices)\n"
    assert tactician("code", "remove", name, *where, env=env).code == 0
    assert run_git(repo, "branch", "--list", "tactician/*") == ""
    gone = tactician("code", "diff", name, *where, env=env)
    assert (gone.code, "no worktrees" in gone.err) == (2, True)


async def test_a_change_waits_for_an_answer_and_the_run_goes_on_with_a_store(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "TACTICIAN_MODEL": "openai:m"}
    async with ChatServer(answers(completion(None, EDIT))) as server:
        options = ("-C", str(repo), "--ask", "--store", str(tmp_path / "runs.db"))
        env["OPENAI_BASE_URL"] = server.url
        done = await asyncio.to_thread(tactician, "code", "fix", "Too low", *options, env=env)
        assert done.code == 3, done.err
        assert "May shop.py be changed?" in done.err
        assert "+    return sum(prices)" not in done.err, "a patch of the passage, not of the file"
        assert "+prices" in done.err
        assert "tactician code resume" in done.err


def test_questions_show_the_change() -> None:
    def ask(name: str, **arguments: object) -> str | None:
        return describe_change(ToolCall("1", name, json.dumps(arguments)))

    assert ask("shell", command="make test") == "May this command run, in .?\nmake test"
    assert "+x = 1" in str(ask("write_file", path="a.py", content="x = 1\n"))
    assert ask("replace_lines", path="a", first_line=2, last_line=3, new_text="x") == (
        "May lines 2 to 3 of a be replaced by this?\nx"
    )
    assert ask("apply_patch", patch="--- a") == "May this patch be applied?\n--- a"
    assert ask("edit_file", path=1) is None
    assert describe_change(ToolCall("1", "shell", "{")) is None


def test_mistakes_at_the_beginning_are_told_plainly(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "TACTICIAN_MODEL": "openai:m"}
    (tmp_path / "package.json").write_text('{"scripts": ')
    (tmp_path / "pyproject.toml").write_text("[project")
    looked = tactician("code", "detect", str(tmp_path), env=env)
    assert looked.code == 0
    assert "package.json cannot be read, so what it says is not used" in " ".join(looked.err.split())
    assert "pyproject.toml cannot be read" in " ".join(looked.err.split())
    absent = tactician("code", "diff", "x", "-C", str(tmp_path), env=env)
    assert (absent.code, "is in no git repository" in absent.err, "rev-parse" in absent.err) == (2, True, False)
    store = tmp_path / "no.db"
    unknown = tactician("code", "resume", "X", "-C", str(tmp_path), "--store", str(store), env=env)
    assert (unknown.code, "there is no such store" in unknown.err, store.exists()) == (2, True, False)


def test_a_misspelt_setting_of_a_coding_agent_is_told() -> None:
    for arguments in ((), ("Coder",)):
        with pytest.raises(TypeError, match=r"CodingAgent\(\) has no option 'workspce'. Did you mean 'workspace'"):
            CodingAgent(*arguments, workspce=".")  # type: ignore[call-arg]
