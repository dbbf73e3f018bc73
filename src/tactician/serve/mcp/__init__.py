"""MCP server: agents, goals and tools of a platform for MCP clients, with the official SDK (extra `mcp`)."""

from tactician.serve.mcp.access import create_user
from tactician.serve.mcp.client_model import ClientModel, ClientRoot, list_client_roots
from tactician.serve.mcp.prompts import ServedPrompt
from tactician.serve.mcp.publisher import McpPublisher
from tactician.serve.mcp.resources import McpResource

__all__ = [
    "ClientModel",
    "ClientRoot",
    "ServedPrompt",
    "McpPublisher",
    "McpResource",
    "create_user",
    "list_client_roots",
]
