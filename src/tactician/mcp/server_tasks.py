"""Tools of servers that run as tasks: the server gives a task at once, and its result when it has ended."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tactician.clock import Timeout
from tactician.runs import RunContext

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, RequestParamsMeta

_KEY: Final = "server-task"
_REVISION: Final = "2025-11-25"
_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 30.0
_DEFAULT_PAUSE: Final = 1.0
_CANCEL_SECONDS: Final = 5.0


def find_task(context: RunContext) -> str | None:
    """Return the id of the task that a call of a run has started before a restart."""
    task = None if context.checkpoint is None else context.checkpoint.at(_KEY).data.get("id")
    return task if isinstance(task, str) else None


class ServerTask:
    """Call of a tool as a task of the revision 2025-11-25.

    The id of the task is in the checkpoint of the call, so that a run that goes on after a restart asks for the same
    task, and calls the tool once.

    Args:
        client: the client.
        context: the call.
    """

    def __init__(self, client: Client, context: RunContext) -> None:
        self._client = client
        self._context = context

    async def run(
        self, name: str, arguments: dict[str, object], seconds: float, meta: RequestParamsMeta | None
    ) -> CallToolResult:
        """Return the result of the tool; cancel the task with the call.

        Raises:
            MCPError: when the server refuses the call, or does not answer.
            TimeoutError: when it takes too long.
        """
        task = find_task(self._context)
        if task is None:
            task = await self._start(name, arguments, seconds, meta)
        try:
            with Timeout(seconds, self._context.clock):
                return await self._wait(task)
        except (asyncio.CancelledError, TimeoutError):
            await self._cancel(task)
            raise

    async def _start(
        self, name: str, arguments: dict[str, object], seconds: float, meta: RequestParamsMeta | None
    ) -> str:
        from mcp_types import CreateTaskResult

        params: dict[str, Any] = {"name": name, "arguments": arguments, "task": {"ttl": int(seconds * 1000)}}
        if meta is not None:
            params["_meta"] = dict(meta)
        # The session checks results against the protocol without tasks, which the SDK leaves out.
        send = self._client.session._dispatcher.send_raw_request
        options: Any = {"timeout": seconds, "headers": {"mcp-protocol-version": _REVISION}}
        started = CreateTaskResult.model_validate(await send("tools/call", params, options), by_name=False)
        if self._context.checkpoint is not None:
            self._context.checkpoint.at(_KEY).set(id=started.task.task_id)
            await self._context.save_step("tool", name, f"task {started.task.task_id} of the server")
        return started.task.task_id

    async def _wait(self, task: str) -> CallToolResult:
        from mcp_types import (
            CallToolResult,
            GetTaskPayloadRequest,
            GetTaskPayloadRequestParams,
            GetTaskRequest,
            GetTaskRequestParams,
            GetTaskResult,
        )

        session = self._client.session
        while True:
            asked = GetTaskRequest(params=GetTaskRequestParams(task_id=task))
            state = await session.send_request(asked, GetTaskResult)
            if state.status != "working":  # a task that needs input asks while somebody waits for its result
                break
            pause = _DEFAULT_PAUSE if state.poll_interval is None else state.poll_interval / 1000
            await self._context.clock.sleep(min(max(pause, _SHORTEST_PAUSE), _LONGEST_PAUSE))
        request = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=task))
        return await session.send_request(request, CallToolResult)

    async def _cancel(self, task: str) -> None:
        from mcp_types import CancelTaskRequest, CancelTaskRequestParams, CancelTaskResult

        cancel = CancelTaskRequest(params=CancelTaskRequestParams(task_id=task))
        with suppress(Exception):  # the server may be gone
            await self._client.session.send_request(cancel, CancelTaskResult, _CANCEL_SECONDS)
