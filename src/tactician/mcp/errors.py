"""Errors of MCP servers."""

from __future__ import annotations

from tactician.errors import TacticianError


class McpError(TacticianError):
    """Error of an MCP server: it cannot be reached, refuses a request, or answers with what is not valid."""


def find_cause(error: BaseException) -> BaseException:
    """Return the first error in a group of errors, which may be nested; else the error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def is_loss(error: BaseException) -> bool:
    """Return whether an error means that the server has ended, or has forgotten the session."""
    import httpx2
    from anyio import BrokenResourceError, ClosedResourceError
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED or "session terminated" in str(error).lower()
    return isinstance(error, httpx2.TransportError | ConnectionError | BrokenResourceError | ClosedResourceError)
