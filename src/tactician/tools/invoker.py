"""Calls of tools by a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tactician.frozen import frozen
from tactician.llm import ToolCall, ToolResult
from tactician.tools.toolbox import Toolbox


@frozen
class ToolInvoker:
    """Way in which a tool calls other tools: with the approvals, guardrails, limits and events of direct calls.

    The context of a call has one for a tool with the trait `calls_tools`.

    Attributes:
        invoke: function that runs a call of one of the tools. The id of a call must be the same after a pause.
    """

    invoke: Callable[[ToolCall, Toolbox], Awaitable[ToolResult]]
