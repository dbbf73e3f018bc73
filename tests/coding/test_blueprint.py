"""Coding agents as blueprints, and back."""

import asyncio
from pathlib import Path

import pytest

from tactician.blueprint import Blueprint
from tactician.coding import CodingAgent, CommandPolicy, ToolBackend, Workspace
from tactician.errors import BlueprintError
from tests.cli.support import tactician
from tests.coding.support import create_repository, run_git
from tests.support.chat_server import ChatServer, answers, call, completion

FILES = {"shop.py": "def total(prices):\n    return sum(prices[1:])\n"}


def create_agent(folder: Path) -> CodingAgent:
    return CodingAgent(
        "Mender",
        workspace=Workspace.worktree(folder, name="mending", folder=folder / "trees"),
        commands=CommandPolicy(mode="never", max_output=500),
        backend=ToolBackend.NATIVE,
        require_approval=True,
        project={"test_command": "make check", "source_folders": ("src",)},
        model="gpt-5.4",
        instructions="Prefer small changes.",
        max_tool_calls=40,
    )


def test_a_coding_agent_comes_back_from_yaml_with_all_that_it_had(tmp_path: Path) -> None:
    text = create_agent(tmp_path).to_blueprint().to_yaml()
    file = tmp_path / "coder.yaml"
    file.write_text(text)
    agent = Blueprint.load(file)
    assert isinstance(agent, CodingAgent)
    assert agent.to_blueprint().to_yaml() == text
    workspace = agent.workspace
    assert (workspace.kind, workspace.source, workspace.name) == ("worktree", tmp_path, "mending")
    assert agent.commands == CommandPolicy(mode="never", max_output=500)
    assert (agent.backend, agent.require_approval, agent.verify) == (ToolBackend.NATIVE, True, False)
    assert agent.project_settings == {"test_command": "make check", "source_folders": ("src",)}
    assert (agent.spec.max_turns, agent.spec.max_tool_calls) == (75, 40)
    assert "Prefer small changes." in str(agent.spec.instructions)
    assert {tool.name for tool in agent.tools} >= {"edit_file", "grep"}


def test_a_text_from_elsewhere_makes_no_agent_that_changes_files(tmp_path: Path) -> None:
    text = f"{{type: coding_agent, model: gpt-5.4, workspace: {{source: '{tmp_path}'}}, commands: {{mode: trusted}}}}"
    with pytest.raises(BlueprintError, match=r"a coding agent .*allow"):
        Blueprint.from_yaml(text).build()


def test_mistakes_are_told_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "coder.yaml"
    file.write_text("{type: coding_agent, model: m, workspace: {source: ., kind: wortree}, commands: {mode: sanbox}}")
    with pytest.raises(BlueprintError) as caught:
        Blueprint.load(file)
    assert "workspace.kind" in str(caught.value)
    assert "commands.mode" in str(caught.value)


async def test_the_command_line_runs_a_coding_agent_of_a_file(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    edit = call("c1", "edit_file", '{"path": "shop.py", "old_text": "prices[1:]", "new_text": "prices"}')
    file = tmp_path / "coder.yaml"
    file.write_text(
        "{type: coding_agent, model: 'openai:m', workspace: {source: repo, kind: worktree, folder: trees},"
        " commands: {mode: never}}"
    )
    async with ChatServer(answers(completion(None, edit)), answers(completion("Mended."))) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-" + "x" * 30}
        done = await asyncio.to_thread(tactician, "run", str(file), "The total is too low", env=env)
    assert done.code == 0, done.err
    assert "Mended." in done.out
    assert run_git(repo, "status", "--short") == ""
    assert "tactician/" in run_git(repo, "branch", "--list", "tactician/*")
