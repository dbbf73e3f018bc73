"""Calls of tools on a server, and what the server asks for meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from tactician.errors import TacticianError
from tactician.mcp.events import McpProgress
from tactician.mcp.questions import find_answer
from tactician.mcp.sampling import ask_model
from tactician.runs import PendingRequest, RunContext, Suspended
from tactician.text import describe_error

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import ClientRequestContext
    from mcp.client.session import ElicitationFnT, SamplingFnT
    from mcp_types import (
        CallToolResult,
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestFormParams,
        ElicitRequestURLParams,
        ElicitResult,
        ErrorData,
    )

_MOST_REQUESTS = 50


class ToolOfServerCall:
    """Call of a tool in a run. The server may ask a person or a model before it answers.

    Args:
        server: name of the server.
        tool: name of the tool.
        context: the run.
    """

    def __init__(self, server: str, tool: str, context: RunContext) -> None:
        self._server = server
        self._tool = tool
        self._context = context
        self._pending: list[PendingRequest] = []
        self._asked: Counter[str] = Counter()
        self._work: asyncio.Task[CallToolResult] | None = None

    async def run(self, client: Client, arguments: dict[str, object], seconds: float) -> CallToolResult:
        """Return the result of the tool.

        Raises:
            Suspended: when the server asks a person who has not answered yet; then the call is cancelled.
            MCPError: when the server refuses the call, or does not answer.
        """
        call = client.call_tool(self._tool, arguments, seconds, self._report_progress)
        self._work = asyncio.create_task(call)
        try:
            return await self._work
        except asyncio.CancelledError:
            if self._pending:
                raise Suspended(*self._pending) from None
            raise
        finally:
            self._work.cancel()

    async def elicit(self, params: ElicitRequestFormParams | ElicitRequestURLParams) -> ElicitResult | ErrorData:
        """Return the answer of a person, or end the call until there is one."""
        from mcp_types import ElicitResult

        if self._context.checkpoint is None:
            return ElicitResult(action="cancel")
        if (refusal := self._count("a person")) is not None:
            return refusal
        answer = find_answer(params, self._server, self._asked[params.message], self._context)
        self._asked[params.message] += 1
        if isinstance(answer, PendingRequest):
            await self._suspend(answer)
            return ElicitResult(action="cancel")
        content = None if answer.content is None else dict(answer.content)
        return ElicitResult.model_validate(
            {"action": "accept" if answer.is_accepted else "decline", "content": content}
        )

    async def sample(self, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        """Return the answer of the model around the call."""
        from mcp_types import INTERNAL_ERROR, CreateMessageResult, ErrorData, TextContent

        if (refusal := self._count("a model")) is not None:
            return refusal
        try:
            text, model = await ask_model(params, self._server, self._context)
        except TacticianError as error:
            return ErrorData(code=INTERNAL_ERROR, message=describe_error(error))
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=text), model=model, stop_reason="endTurn"
        )

    def _count(self, whom: str) -> ErrorData | None:
        from mcp_types import INVALID_REQUEST, ErrorData

        self._asked[f"\0{whom}"] += 1
        if self._asked[f"\0{whom}"] <= _MOST_REQUESTS:
            return None
        return ErrorData(code=INVALID_REQUEST, message=f"A call may ask {whom} {_MOST_REQUESTS} times at most.")

    async def _suspend(self, request: PendingRequest) -> None:
        """Note what the call waits for, and cancel it, once other questions of the same round are noted too."""
        assert self._work is not None
        self._pending.append(request)
        asyncio.get_running_loop().call_soon(self._work.cancel)
        await asyncio.wait((self._work,))

    async def _report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self._context.emit(
            McpProgress, server=self._server, tool=self._tool, progress=progress, total=total, message=message
        )


_current: ContextVar[ToolOfServerCall | None] = ContextVar("the call that asks a server", default=None)


class CallsInProgress:
    """Calls of a server that have no result yet, and the answers to what the server asks.

    The newer protocol, and HTTP, say which call a question belongs to. Where they do not, it must be the only call.
    """

    def __init__(self) -> None:
        self._calls: list[ToolOfServerCall] = []

    @contextmanager
    def begin(self, call: ToolOfServerCall) -> Iterator[None]:
        """Enter a call."""
        self._calls.append(call)
        token = _current.set(call)
        try:
            yield
        finally:
            _current.reset(token)
            self._calls.remove(call)

    def create_callbacks(self, *, samples: bool) -> tuple[ElicitationFnT, SamplingFnT | None]:
        """Create the functions that answer a server: for questions to people, and to models."""

        async def elicit(
            context: ClientRequestContext, params: ElicitRequestFormParams | ElicitRequestURLParams
        ) -> ElicitResult | ErrorData:
            call = self._find()
            return self._refuse() if call is None else await call.elicit(params)

        async def sample(
            context: ClientRequestContext, params: CreateMessageRequestParams
        ) -> CreateMessageResult | ErrorData:
            call = self._find()
            return self._refuse() if call is None else await call.sample(params)

        return elicit, sample if samples else None

    def _find(self) -> ToolOfServerCall | None:
        call = _current.get()
        if call in self._calls:
            return call
        return self._calls[0] if len(self._calls) == 1 else None

    def _refuse(self) -> ErrorData:
        from mcp_types import INVALID_REQUEST, ErrorData

        return ErrorData(
            code=INVALID_REQUEST,
            message="Several calls, or none, are in progress: it is not known which of them asks. Call again alone.",
        )
