"""Tools, resources and prompts of other programs, by the Model Context Protocol. Needs the extra `mcp`."""

from tactician.mcp.connection import McpHealth
from tactician.mcp.errors import McpError
from tactician.mcp.events import McpProgress
from tactician.mcp.options import McpOptions
from tactician.mcp.references import McpPrompt, McpReference
from tactician.mcp.selection import ServerTools
from tactician.mcp.server import McpServer
from tactician.mcp.settings import create_server
from tactician.mcp.shortcuts import filesystem, git
from tactician.mcp.tools import McpResult

__all__ = [
    "McpServer",
    "McpOptions",
    "ServerTools",
    "McpHealth",
    "McpReference",
    "McpPrompt",
    "McpError",
    "McpProgress",
    "McpResult",
    "create_server",
    "filesystem",
    "git",
]
