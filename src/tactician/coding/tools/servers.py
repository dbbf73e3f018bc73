"""Tools of the official MCP servers for files and for git."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from tactician.coding.session import CodingSession
from tactician.coding.tools.toolset import SessionTool
from tactician.coding.workspaces.git import Git
from tactician.mcp import McpServer, filesystem
from tactician.tools import Tool

_CHANGING: Final = frozenset(
    ("write_file", "edit_file", "create_directory", "move_file", "git_add", "git_commit", "git_reset", "git_checkout")
)
_FORBIDDEN: Final = frozenset(("git_create_branch", "git_init"))
"""Tools that would leave the branch of the workspace, or the workspace."""


@asynccontextmanager
async def open_servers(session: CodingSession, *, require_approval: bool) -> AsyncIterator[tuple[Tool, ...]]:
    """Open the servers for a workspace, and yield their tools.

    Git runs with the same settings as everywhere: without hooks and filters of the repository.

    Args:
        session: the session.
        require_approval: wait for an approval of each change.
    """
    workspace = session.workspace
    command = (sys.executable, "-m", "mcp_server_git") if find_spec("mcp_server_git") else ("uvx", "mcp-server-git")
    git = McpServer.stdio(
        *command,
        "--repository",
        str(workspace.path),
        env=Git(folder=workspace.path).build_environment(),
        name="git",
    )
    servers = [filesystem(workspace.path), *([git] if workspace.branch else [])]
    async with AsyncExitStack() as stack:
        for server in servers:
            await stack.enter_async_context(server)
        tools = [tool for server in servers for tool in await server.load_tools()]
        yield tuple(
            SessionTool(tool, replace(tool.traits, needs_approval=require_approval and tool.name in _CHANGING), session)
            for tool in tools
            if tool.name not in _FORBIDDEN and (workspace.is_writable or tool.name not in _CHANGING)
        )
