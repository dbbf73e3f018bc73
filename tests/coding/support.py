"""Workspaces and calls of tools for tests."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.projects.detection import detect_project
from tactician.coding.session import CodingSession
from tactician.coding.tools.toolset import select_native_tools
from tactician.coding.workspaces.folders import open_folder
from tactician.llm import ToolCall
from tactician.runs import RunContext
from tactician.tools.toolbox import Toolbox


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes files, with their folders."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def run_git(folder: Path, *arguments: str) -> str:
    """Runs git as a user does."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(("git", *identity, *arguments), cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def create_repository(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository with one commit."""
    write(folder, files)
    run_git(folder, "init", "-q")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", "first")
    return folder


class Hands:
    """What a model can do in a workspace."""

    def __init__(self, session: CodingSession, *, require_approval: bool = False) -> None:
        self.session = session
        writable = session.workspace.is_writable
        tools = select_native_tools(
            session.policy, require_approval=require_approval, is_writable=writable, session=session
        )
        self.tools = Toolbox(tools)

    async def call(self, name: str, /, **arguments: object) -> str:
        """Calls a tool; what it says."""
        call = ToolCall("c1", name, json.dumps(arguments))
        return (await self.tools.answer(call, RunContext.current())).content


@contextmanager
def hands(
    folder: Path, state: Path, *, is_copy: bool = False, is_writable: bool = True, **policy: object
) -> Iterator[Hands]:
    """Hands in a folder."""
    opened = open_folder(folder, is_copy=is_copy, is_writable=is_writable, folder=state)
    rules = CommandPolicy(**policy)  # type: ignore[arg-type]
    try:
        yield Hands(CodingSession(opened, detect_project(opened.path), rules))
    finally:
        opened.remove()
