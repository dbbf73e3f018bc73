"""Servers that many programs use."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from typing_extensions import Unpack

from tactician.mcp.options import McpOptions
from tactician.mcp.server import McpServer

_FILESYSTEM = "@modelcontextprotocol/server-filesystem"
_GIT = "mcp-server-git"


def filesystem(folder: str | Path, *more: str | Path, **options: Unpack[McpOptions]) -> McpServer:
    """Return the reference server for files, which reads and writes in these folders only. It needs Node.js.

    Args:
        folder: the folder.
        *more: further folders.
        **options: see `McpOptions`.
    """
    folders = (str(Path(item).absolute()) for item in (folder, *more))
    return McpServer.stdio("npx", "-y", _FILESYSTEM, *folders, **McpOptions(name="filesystem") | options)


def git(folder: str | Path, **options: Unpack[McpOptions]) -> McpServer:
    """Return the reference server for a Git repository.

    It is the package `mcp-server-git`, where it is installed, and is run by `uvx` otherwise.

    Args:
        folder: the work tree.
        **options: see `McpOptions`.
    """
    is_installed = find_spec(_GIT.replace("-", "_")) is not None
    command = (sys.executable, "-m", "mcp_server_git") if is_installed else ("uvx", _GIT)
    arguments = ("--repository", str(Path(folder).absolute()))
    return McpServer.stdio(*command, *arguments, **McpOptions(name="git") | options)
