"""MCP server: agents, goals and tools of a platform for MCP clients, with the official SDK (extra `mcp`)."""
