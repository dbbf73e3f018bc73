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
