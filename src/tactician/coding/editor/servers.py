"""MCP servers that an editor passes on to its agent."""

from __future__ import annotations

from acp.exceptions import RequestError
from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from tactician.mcp import McpServer


def read_server(server: HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio) -> McpServer:
    """Return an MCP server that the editor names.

    Raises:
        RequestError: when it has a transport that is not supported.
    """
    match server:
        case McpServerStdio():
            environment = {variable.name: variable.value for variable in server.env}
            return McpServer.stdio(server.command, *server.args, env=environment, name=server.name)
        case HttpMcpServer():
            headers = {header.name: header.value for header in server.headers}
            return McpServer.http(server.url, headers=headers, name=server.name)
    raise RequestError(-32602, f"The MCP server {server.name!r} must be a program, or speak streamable HTTP.")
