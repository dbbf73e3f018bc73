"""Tools that run commands: of the shell, and those that build, test and lint the project."""

from __future__ import annotations

import shlex
from typing import Literal

from tactician.coding.commands.measuring import run_part_suite
from tactician.coding.commands.running import run_command
from tactician.coding.projects.project import ProjectPart
from tactician.coding.session import CodingSession
from tactician.errors import ToolError
from tactician.runs import RunContext
from tactician.tools import tool


@tool
async def shell(session: CodingSession, context: RunContext, command: str, folder: str = ".") -> str:
    """Run a command of the shell in the workspace. It has no network, and ends after a few minutes.

    Args:
        session: the session of the run
        context: the context of the run
        command: the command, as for bash
        folder: the folder in which it starts, relative to the workspace
    """
    policy = session.policy
    result = await run_command(command, session.workspace, policy, context.clock, folder=folder)
    return result.show(policy.max_output)


@tool
async def run_tests(session: CodingSession, context: RunContext, arguments: str = "", folder: str = "") -> str:
    """Run the tests of the project. The result names each test that failed, with its place and its first lines.

    Args:
        session: the session of the run
        context: the context of the run
        arguments: further arguments of the test command, such as a file or the name of a test; all tests by default
        folder: the part of the repository, when it has several
    """
    part = find_part(session, folder)
    if part.test_command is None:
        raise ToolError(f"No tests were found for {part.label}. Run them with shell.")
    command = f"{part.test_command} {shlex.join(shlex.split(arguments))}".strip()
    report = await run_part_suite(part.root, command, session.workspace, session.policy, context.clock)
    return report.describe(session.policy.max_output)


@tool
async def build(
    session: CodingSession, context: RunContext, step: Literal["build", "lint", "format"] = "build", folder: str = ""
) -> str:
    """Build, lint or format the project by its own command.

    Args:
        session: the session of the run
        context: the context of the run
        step: the step
        folder: the part of the repository, when it has several
    """
    part = find_part(session, folder)
    command: str | None = getattr(part, f"{step}_command")
    if command is None:
        raise ToolError(f"{part.label} has no command to {step} it. Use shell.")
    result = await run_command(command, session.workspace, session.policy, context.clock, folder=part.root)
    return result.show(session.policy.max_output)


def find_part(session: CodingSession, folder: str) -> ProjectPart:
    """Return the part of the project that a folder names; the first part by default.

    Raises:
        ToolError: when there is no such part.
    """
    parts = session.project.parts
    named = folder.strip("/") or (parts[0].root if parts else "")
    if (part := next((part for part in parts if part.root == named), None)) is None:
        listed = ", ".join(part.root for part in parts) or "none"
        raise ToolError(f"No project was detected in {folder or 'the workspace'!r}. Parts: {listed}. Use shell.")
    return part
