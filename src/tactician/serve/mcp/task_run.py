"""Run of a task: the tool that a client calls runs inside it, and its output is the result of the call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue
from typing_extensions import TypedDict, override

from tactician.agents import BaseRunnable
from tactician.runs import Input, RunContext, RunResult
from tactician.serve.mcp.tools import PublishedTool, RunTool

TASK_RUNS: Final = "mcp"
"""Name of all runs of tasks."""
ERROR: Final = "error"
"""Field of the output for an error of the protocol, in place of a result."""


class TaskCall(TypedDict):
    """Call that a task makes: the tool, and its arguments as JSON text."""

    tool: str
    arguments: str


class TaskRun(BaseRunnable[object]):
    """Runnable of all tasks. The input is a `TaskCall`, the output the result of the call as the protocol has it.

    Args:
        load_tools: returns the published tools by name.
    """

    def __init__(self, load_tools: Callable[[], Awaitable[Mapping[str, PublishedTool]]]) -> None:
        self.name = TASK_RUNS
        self.description = "Tasks of MCP clients"
        self._load_tools = load_tools

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        call = cast("TaskCall", input)
        try:
            output = await self._call(call, context)
        except MCPError as error:
            output = {ERROR: cast("JsonValue", error.error.model_dump(mode="json", exclude_none=True))}
        return RunResult(output, tally=context.tally, run_id=context.run_id)

    async def _call(self, call: TaskCall, context: RunContext) -> dict[str, JsonValue]:
        tool = (await self._load_tools()).get(call["tool"])
        if not isinstance(tool, RunTool):
            raise MCPError(types.INVALID_PARAMS, f"The tool {call['tool']!r} is no longer published here.")
        result = await tool.work(call["arguments"], context)
        written = tool.entry.form.write(result.output)
        return written.model_dump(by_alias=True, mode="json", exclude_none=True)
