"""Calls of tools on a server, and what the server asks for meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

from tactician.errors import TacticianError
from tactician.events.event import new_id
from tactician.mcp.events import McpProgress
from tactician.mcp.questions import find_answer
from tactician.mcp.sampling import ask_model
from tactician.mcp.server_tasks import ServerTask
from tactician.runs import PendingRequest, RunContext
from tactician.runs.outcomes.suspension import Suspended
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
        RequestParamsMeta,
    )

_MOST_QUESTIONS = 50
_MOST_HELD = 100
_KEY = "tactician/idempotencyKey"
_NEWER_PROTOCOL = "2026-"
"""Beginning of the versions of the protocol in which a tool asks before it acts, and a call is made again."""


class ToolOfServerCall:
    """Call of a tool in a run. The server may ask a person or a model before it answers.

    A server of the newer protocol ends the call to ask a person. An older server waits for the answer, so the call
    stays open while the run waits, and goes on when the run does: see `resume`.

    Args:
        server: name of the server.
        tool: name of the tool.
        context: the run.
        max_samples: number of answers of a model that the server may ask for.
        is_task: true when the tool runs as a task of the server.
    """

    def __init__(self, server: str, tool: str, context: RunContext, max_samples: int, *, is_task: bool = False) -> None:
        self._is_task = is_task
        self._server = server
        self._tool = tool
        self._context = context
        self._max_samples = max_samples
        self._pending: list[PendingRequest] = []
        self._asked: Counter[str] = Counter()
        self._work: asyncio.Task[CallToolResult] | None = None
        self._loop = asyncio.get_running_loop()
        self._waits = asyncio.Event()
        self._resumed = asyncio.Event()
        self._is_open_while_it_waits = False

    @property
    def is_held(self) -> bool:
        """True while the call is open, and its run waits for a person."""
        return self._work is not None and not self._work.done() and self._waits.is_set()

    @property
    def is_usable(self) -> bool:
        """True when a run that goes on can have the result of this call."""
        if self._work is None or self._loop is not asyncio.get_running_loop():
            return False
        return not self._work.done() or (not self._work.cancelled() and self._work.exception() is None)

    def resume(self, context: RunContext) -> None:
        """Go on in a run that has continued, and has answers perhaps."""
        self._context = context
        self._pending.clear()
        self._waits.clear()
        self._resumed.set()
        self._resumed = asyncio.Event()

    def cancel(self) -> None:
        """End the call."""
        if self._work is not None:
            self._work.cancel()

    async def run(self, client: Client, arguments: dict[str, object], seconds: float) -> CallToolResult:
        """Return the result of the tool.

        Raises:
            Suspended: when the server asks a person who has not answered yet.
            MCPError: when the server refuses the call, or does not answer.
        """
        if self._work is None:
            self._is_open_while_it_waits = client.protocol_version < _NEWER_PROTOCOL
            self._work = asyncio.create_task(self._call(client, arguments, seconds))
        try:
            return await self._wait(self._work)
        except asyncio.CancelledError:
            if self._pending:
                raise Suspended(*self._pending) from None
            raise
        finally:
            if not self.is_held:
                self._work.cancel()

    async def _call(self, client: Client, arguments: dict[str, object], seconds: float) -> CallToolResult:
        meta = self._create_meta()
        if self._is_task:
            return await ServerTask(client, self._context).run(self._tool, arguments, seconds, meta)
        return await client.call_tool(self._tool, arguments, seconds, self._report_progress, meta=meta)

    def _create_meta(self) -> RequestParamsMeta | None:
        """Return the key by which a server recognizes a call that is made again."""
        context = self._context
        if context.checkpoint is None:
            return None
        key = f"{context.process_id or context.root_id}/{context.checkpoint.path}"
        return cast("RequestParamsMeta", {_KEY: key})

    async def _wait(self, work: asyncio.Task[CallToolResult]) -> CallToolResult:
        waits = asyncio.create_task(self._waits.wait())
        try:
            await asyncio.wait((work, waits), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waits.cancel()
        if self.is_held:
            raise Suspended(*self._pending)
        return await work

    async def elicit(self, params: ElicitRequestFormParams | ElicitRequestURLParams) -> ElicitResult | ErrorData:
        """Return the answer of a person, or end the call until the person has answered."""
        from mcp_types import ElicitResult

        if self._context.checkpoint is None:
            return ElicitResult(action="cancel")
        if (refusal := self._count("a person", _MOST_QUESTIONS)) is not None:
            return refusal
        number = self._asked[params.message]
        self._asked[params.message] += 1
        while isinstance(answer := find_answer(params, self._server, number, self._context), PendingRequest):
            if not self._is_open_while_it_waits:
                await self._suspend(answer)
                return ElicitResult(action="cancel")
            await self._wait_for_person(answer)
        content = None if answer.content is None else dict(answer.content)
        return ElicitResult.model_validate(
            {"action": "accept" if answer.is_accepted else "decline", "content": content}
        )

    async def _wait_for_person(self, request: PendingRequest) -> None:
        """Let the run wait, and return when it goes on."""
        resumed = self._resumed
        self._pending.append(request)
        await asyncio.sleep(0)  # for other questions of the same round
        self._waits.set()
        await resumed.wait()

    async def sample(self, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        """Return the answer of the model around the call."""
        from mcp_types import INTERNAL_ERROR, CreateMessageResult, ErrorData, TextContent

        if (refusal := self._count("a model", self._max_samples)) is not None:
            return refusal
        try:
            text, model = await ask_model(params, self._server, self._context)
        except TacticianError as error:
            return ErrorData(code=INTERNAL_ERROR, message=describe_error(error))
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=text), model=model, stop_reason="endTurn"
        )

    def _count(self, whom: str, most: int) -> ErrorData | None:
        from mcp_types import INVALID_REQUEST, ErrorData

        self._asked[f"\0{whom}"] += 1
        if self.is_held:
            return ErrorData(code=INVALID_REQUEST, message="The run waits for the answer of a person.")
        if self._asked[f"\0{whom}"] <= most:
            return None
        return ErrorData(code=INVALID_REQUEST, message=f"The limit of questions to {whom} in a call is {most}.")

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


_HELD = "held-call"


def has_asked(context: RunContext) -> bool:
    """Return whether an older server has asked a person in this call before, in a call that has been open since."""
    return _read_mark(context) is not None


def _read_mark(context: RunContext) -> str | None:
    mark = None if context.checkpoint is None else context.checkpoint.at(_HELD).data.get("mark")
    return mark if isinstance(mark, str) else None


class CallsInProgress:
    """Calls of a server that have no result yet, and the answers to what the server asks.

    The newer protocol, and HTTP, say which call a question belongs to. Where they do not, it must be the only call.
    """

    def __init__(self) -> None:
        self._calls: list[ToolOfServerCall] = []
        self._held: dict[str, ToolOfServerCall] = {}

    @contextmanager
    def begin(self, call: ToolOfServerCall, context: RunContext) -> Iterator[None]:
        """Enter a call. When its run has to wait, and the call stays open, it is kept for the run."""
        self._calls.append(call)
        token = _current.set(call)
        try:
            yield
        finally:
            _current.reset(token)
            self._calls.remove(call)
            if call.is_held:
                self._hold(call, context)

    def take(self, context: RunContext) -> ToolOfServerCall | None:
        """Return the call that has stayed open while the run of the context waited, or `None`."""
        call = self._held.pop(_read_mark(context) or "", None)
        if call is None or not call.is_usable:
            return None
        call.resume(context)
        return call

    def close(self) -> None:
        """End the calls that are held."""
        for call in self._held.values():
            call.cancel()
        self._held.clear()

    def _hold(self, call: ToolOfServerCall, context: RunContext) -> None:
        assert context.checkpoint is not None
        mark = new_id()
        context.checkpoint.at(_HELD).set(mark=mark)
        self._held[mark] = call
        if len(self._held) > _MOST_HELD:
            self._held.pop(next(iter(self._held))).cancel()

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
        calls = [*self._calls, *(held for held in self._held.values() if held.is_held)]
        if call in calls:
            return call
        return calls[0] if len(calls) == 1 else None

    def _refuse(self) -> ErrorData:
        from mcp_types import INVALID_REQUEST, ErrorData

        return ErrorData(
            code=INVALID_REQUEST,
            message="Several calls, or none, are in progress, so nobody can tell which of them asks. Call again alone.",
        )
