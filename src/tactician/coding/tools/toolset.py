"""Sets of tools for a workspace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Final

from typing_extensions import override

from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.session import CodingSession
from tactician.coding.tools.commands import build, run_tests, shell
from tactician.coding.tools.editing import apply_patch, edit_file, replace_lines, write_file
from tactician.coding.tools.reading import glob, grep, read_file
from tactician.coding.tools.repository import git, repository_map, symbols
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.runs import RunContext
from tactician.tools import Tool, ToolOutput
from tactician.tools.traits import NeedsApproval, ToolTraits

_READING: Final[tuple[Tool, ...]] = (read_file, glob, grep, symbols, repository_map)
_EDITING: Final[tuple[Tool, ...]] = (edit_file, replace_lines, apply_patch, write_file)
_COMMANDS: Final[tuple[Tool, ...]] = (shell, run_tests, build)


class ToolBackend(Enum):
    """Origin of the tools of a coding agent.

    `NATIVE` has all tools of this package. `MCP` has the official servers for files and for git, which are programs of
    Node.js and Python. `MINIMAL` only reads files. `AUTO` is `NATIVE` where the platform has what its tools need, else
    `MCP` where Node.js is installed, else `MINIMAL`.
    """

    AUTO = "auto"
    NATIVE = "native"
    MCP = "mcp"
    MINIMAL = "minimal"


class SessionTool(Tool):
    """Tool of a workspace.

    Args:
        tool: the tool, which asks for a `CodingSession`.
        traits: its special behaviour.
        session: the session in which it works; the session of the run, when `None`.
    """

    def __init__(self, tool: Tool, traits: ToolTraits, session: CodingSession | None = None) -> None:
        self.traits = traits
        self._tool = tool
        self._session = session

    @property
    @override
    def spec(self) -> ToolSpec:
        return self._tool.spec

    @property
    @override
    def output_schema(self) -> JsonSchema | None:
        return self._tool.output_schema

    @override
    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        inside = context if self._session is None else context.inside({CodingSession: self._session})
        return await self._tool.call(arguments, inside)


def select_native_tools(
    policy: CommandPolicy,
    *,
    require_approval: bool = False,
    is_writable: bool = True,
    session: CodingSession | None = None,
) -> tuple[Tool, ...]:
    """Return the native tools.

    Args:
        policy: the rules for commands.
        require_approval: wait for an approval of each change of a file and of each commit.
        is_writable: false to leave out the tools that change files.
        session: the session in which they work; the session of the run, when `None`.
    """

    def bind(tool: Tool, needs_approval: NeedsApproval = False) -> Tool:
        return SessionTool(tool, replace(tool.traits, needs_approval=needs_approval), session)

    reading = [bind(tool) for tool in _READING]
    editing = [bind(tool, require_approval) for tool in _EDITING] if is_writable else []
    history = bind(git, _changes_history if require_approval else False)
    return (*reading, *editing, *bind_commands(policy, session), history)


def select_tools(
    backend: ToolBackend, policy: CommandPolicy, *, require_approval: bool = False, is_writable: bool = True
) -> tuple[Tool, ...]:
    """Return the tools of a backend that are known before a workspace is open; see `select_native_tools`."""
    match resolve_backend(backend):
        case ToolBackend.NATIVE:
            return select_native_tools(policy, require_approval=require_approval, is_writable=is_writable)
        case ToolBackend.MCP:
            return bind_commands(policy)
    return (SessionTool(read_file, read_file.traits),)


def resolve_backend(backend: ToolBackend) -> ToolBackend:
    """Return the backend that `AUTO` means on this machine; any other as it is."""
    if backend is not ToolBackend.AUTO:
        return backend
    if os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "killpg"):
        return ToolBackend.NATIVE
    return ToolBackend.MCP if shutil.which("npx") else ToolBackend.MINIMAL


def bind_commands(policy: CommandPolicy, session: CodingSession | None = None) -> tuple[Tool, ...]:
    """Return the tools that run commands: none, when no commands may run."""
    if policy.mode == "never":
        return ()
    return tuple(
        SessionTool(tool, replace(tool.traits, needs_approval=policy.needs_approval), session) for tool in _COMMANDS
    )


def _changes_history(arguments: Mapping[str, object]) -> bool:
    return arguments.get("action") in ("stage", "restore", "commit")
