"""Tools, resources and prompts of other programs, by the Model Context Protocol. Needs the extra `mcp`."""

from tactician.mcp.errors import McpError
from tactician.mcp.events import McpProgress
from tactician.mcp.server import McpServer
from tactician.mcp.shortcuts import filesystem, git

__all__ = ["McpError", "McpProgress", "McpServer", "filesystem", "git"]
